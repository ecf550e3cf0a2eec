package gateway

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
)

// How long an answer to the question for a window holds, and how long it may take.
const (
	askedFor  = 5 * time.Minute
	unknownIs = 20 * time.Second // the model may not be loaded yet
	askWait   = time.Second
)

// served is what a server said of a window, or 0.
type served struct {
	window int64
	at     time.Time
}

// ask returns the window that a server of the user's own network serves a model with, 0 where
// it does not say. The catalogue can't know it: the same model runs with 8,000 tokens here and
// 128,000 there, and servers cut what is longer without a word.
func (r *request) ask(req *http.Request) int64 {
	if !r.cfg.Ask || r.untouchable || !nearby(req.URL.Hostname()) {
		return 0
	}
	key := r.host + " " + r.model
	if s, ok := r.asked.get(key); ok && (r.begin.Sub(s.at) < unknownIs || s.window > 0 && r.begin.Sub(s.at) < askedFor) {
		return s.window
	}
	ctx, cancel := context.WithTimeout(req.Context(), askWait)
	defer cancel()
	at := *req.URL
	at.RawQuery, at.RawPath = "", ""
	at.Path, _, _ = strings.Cut(at.Path, "/v1")
	prefix, window := at.Path, int64(0)
	for _, path := range []string{"/props", "/api/ps", "/api/v0/models", "/v1/models"} {
		at.Path = prefix + path
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		if err != nil {
			break
		}
		if a := req.Header.Get("Authorization"); a != "" {
			q.Header.Set("Authorization", a)
		}
		resp, err := r.base.RoundTrip(q)
		if err != nil {
			break
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		_ = resp.Body.Close()
		if err == nil && resp.StatusCode == http.StatusOK {
			if window = windowIn(body, r.model); window > 0 {
				break
			}
		}
	}
	r.asked.put(key, served{window, r.begin}, false)
	return window
}

// nearby reports whether a host is this machine or in a private network.
func nearby(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.IsLoopback() || ip.IsPrivate()) || host == "localhost" || strings.HasSuffix(host, ".local")
}

// windowIn reads the window from what llama.cpp, Ollama, LM Studio, vLLM and SGLang say of
// what they serve.
func windowIn(body []byte, model string) (window int64) {
	body = bytes.TrimSpace(body)
	if end, err := jsonx.Scan(body, 0); err != nil || end != len(body) {
		return 0
	}
	if n := jsonx.CountAt(jsonx.Get(body, "default_generation_settings"), "n_ctx"); n > 0 {
		return n
	}
	for _, list := range []string{"models", "data"} {
		jsonx.Elements(jsonx.Get(body, list), func(m []byte) bool {
			if id := cmp.Or(jsonx.StringAt(m, "id"), jsonx.StringAt(m, "name")); id != model && id != model+":latest" {
				return true
			}
			for _, name := range []string{"loaded_context_length", "max_model_len", "context_length"} {
				if window == 0 {
					window = jsonx.CountAt(m, name)
				}
			}
			return false
		})
	}
	return window
}
