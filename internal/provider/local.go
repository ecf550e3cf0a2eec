package provider

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew/internal/text"
)

// Found is a model that a server on this machine has.
type Found struct {
	// Provider and Model are its name: Open takes Provider + "/" + Model.
	Provider, Model string
	// Window is how many tokens the server takes of it, 0 where it does not say.
	Window int64
}

const (
	localWait  = time.Second // for all that is asked of one server
	localBytes = 4 << 20     // that are read of one answer
	localMost  = 100         // models of one server
)

// Local asks the servers on this machine which models they have: of the providers in all
// those that take no key and have an address on the loopback, by their ports. It takes a
// second at most. What does not answer is not there. The result is in the order of all,
// each server's models in its own.
func Local(ctx context.Context, all []Provider) []Found {
	found := make([][]Found, len(all))
	var wg sync.WaitGroup
	for i, p := range all {
		if !p.IsLocal() {
			continue
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, localWait)
			defer cancel()
			found[i] = (&server{name: p.Name, base: strings.TrimSuffix(strings.TrimRight(p.BaseURL, "/"), "/v1")}).models(ctx)
		})
	}
	wg.Wait()
	return slices.Concat(found...)
}

// IsLocal reports whether a provider is a server on this machine that takes no key.
func (p Provider) IsLocal() bool {
	u, err := url.Parse(p.BaseURL)
	return err == nil && len(p.KeyEnv) == 0 && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}

// server is a server on this machine.
type server struct{ name, base string }

// models lists what the server has by OpenAI's /v1/models, which all speak, and asks for
// the windows in the server's own way.
func (s *server) models(ctx context.Context) []Found {
	var list struct {
		Data []struct {
			ID     string `json:"id"`
			Length int64  `json:"max_model_len"` // vLLM
		} `json:"data"`
	}
	if !s.ask(ctx, "/v1/models", nil, &list) {
		return nil
	}
	windows := s.windows(ctx)
	var out []Found
	for _, m := range list.Data[:min(len(list.Data), localMost)] {
		if m.ID == "" || strings.Contains(m.ID, "embed") { // these make vectors, and answer nothing
			continue
		}
		out = append(out, Found{s.name, m.ID, cmp.Or(m.Length, windows[m.ID], windows[""])})
	}
	if s.name == "ollama" {
		s.ollama(ctx, out)
	}
	return out
}

// windows asks LM Studio and llama.cpp for the windows they serve; "" is for all models.
//   - https://lmstudio.ai/docs/developer/rest/endpoints
//   - https://github.com/ggml-org/llama.cpp/tree/master/tools/server, GET /props
func (s *server) windows(ctx context.Context) map[string]int64 {
	out := map[string]int64{}
	switch s.name {
	case "lmstudio":
		var list struct {
			Data []struct {
				ID     string `json:"id"`
				Loaded int64  `json:"loaded_context_length"`
			} `json:"data"`
		}
		s.ask(ctx, "/api/v0/models", nil, &list)
		for _, m := range list.Data {
			out[m.ID] = m.Loaded // one that is not loaded gets a window when it is
		}
	case "llama.cpp":
		var props struct {
			Settings struct {
				Window int64 `json:"n_ctx"` // of one slot
			} `json:"default_generation_settings"`
		}
		s.ask(ctx, "/props", nil, &props)
		out[""] = props.Settings.Window
	}
	return out
}

var numCtx = text.Pattern(`(?m)^num_ctx\s+(\d+)`)

// ollama asks Ollama for the window of each model: that of a loaded one is served, that
// of a Modelfile will be. Without either its server decides, and says nothing.
// https://github.com/ollama/ollama/blob/main/docs/api.md
func (s *server) ollama(ctx context.Context, found []Found) {
	var loaded struct {
		Models []struct {
			Name   string `json:"name"`
			Window int64  `json:"context_length"`
		} `json:"models"`
	}
	s.ask(ctx, "/api/ps", nil, &loaded)
	windows := map[string]int64{}
	for _, m := range loaded.Models {
		windows[m.Name] = m.Window
	}
	for i := range found {
		f := &found[i]
		if f.Window = windows[f.Model]; f.Window > 0 {
			continue
		}
		var shown struct {
			Parameters string `json:"parameters"`
		}
		if s.ask(ctx, "/api/show", map[string]string{"model": f.Model}, &shown) {
			if m := numCtx().FindStringSubmatch(shown.Parameters); m != nil {
				f.Window, _ = strconv.ParseInt(m[1], 10, 64)
			}
		}
	}
}

// ask makes a call, with a body or without, and reports whether there was an answer.
func (s *server) ask(ctx context.Context, path string, body, answer any) bool {
	method, text := http.MethodGet, []byte(nil)
	if body != nil {
		method = http.MethodPost
		text, _ = json.Marshal(body) // a map of texts
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(text))
	if err != nil {
		return false
	}
	resp, err := localClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK && json.NewDecoder(io.LimitReader(resp.Body, localBytes)).Decode(answer) == nil
}

// localClient stays on this machine: it goes through no proxy and follows no redirect.
var localClient = &http.Client{
	Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}
