package gateway

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/wire"
)

// hopHeader marks a request that a gateway has shortened, so that a second one on the way
// leaves it alone.
const hopHeader = "X-Clew-Gateway"

// route says which API a request is for.
type route struct {
	profile  wire.Profile
	provider string // as messages name it
	model    string // where the path names it
	count    bool   // asks what a list would cost
	// untouchable is a request with the credential of a subscription, whose terms are
	// between the user, the client and the provider: it is watched and never changed.
	untouchable bool
}

// routeOf recognises the requests that carry a list, by method and path.
func routeOf(req *http.Request) (rt route, ok bool) {
	if req.Method != http.MethodPost {
		return rt, false
	}
	path := strings.TrimSuffix(req.URL.Path, "/")
	last := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case strings.HasSuffix(path, "/messages"):
		rt = route{profile: wire.Anthropic, provider: "anthropic"}
	case strings.HasSuffix(path, "/messages/count_tokens"):
		rt = route{profile: wire.Anthropic, provider: "anthropic", count: true}
	case strings.HasSuffix(path, "/chat/completions"):
		rt = route{profile: wire.OpenAIChat, provider: "openai"}
	case strings.HasSuffix(path, "/responses"):
		rt = route{profile: wire.OpenAIResponses, provider: "openai"}
	case strings.HasSuffix(last, ":generateContent"), strings.HasSuffix(last, ":streamGenerateContent"):
		rt = route{profile: wire.Gemini, provider: "google", model: last[:strings.IndexByte(last, ':')]}
	case strings.HasSuffix(last, ":countTokens"):
		rt = route{profile: wire.Gemini, provider: "google", model: last[:strings.IndexByte(last, ':')], count: true}
	default:
		return rt, false
	}
	rt.untouchable = subscription(req.Header)
	return rt, true
}

// subscription recognises the tokens that the logins of Claude and ChatGPT give.
func subscription(h http.Header) bool {
	token := strings.TrimSpace(strings.TrimPrefix(h.Get("Authorization"), "Bearer "))
	return strings.HasPrefix(token, "sk-ant-oat") || h.Get("Chatgpt-Account-Id") != "" ||
		strings.Contains(h.Get("Anthropic-Beta"), "oauth-")
}

// readBody reads a body up to a limit; whole is false when there is more.
func readBody(req *http.Request, limit int64) (body []byte, whole bool, err error) {
	var buf bytes.Buffer
	if n := req.ContentLength; n > 0 && n <= limit {
		buf.Grow(int(n) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(req.Body, limit+1))
	if err != nil {
		return nil, false, fmt.Errorf("reading the request: %w", err)
	}
	if n > limit {
		return buf.Bytes(), false, nil
	}
	return buf.Bytes(), true, req.Body.Close()
}

// decoded takes the compression off a body, within a limit.
func decoded(encoding string, body []byte, limit int64) ([]byte, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return body, nil
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("the body is not gzip as it says: %w", err)
		}
		out, err := io.ReadAll(io.LimitReader(z, limit+1))
		if err != nil {
			return nil, fmt.Errorf("the body is not gzip as it says: %w", err)
		}
		if int64(len(out)) > limit {
			return nil, errors.New("the body is too large when it is unpacked")
		}
		return out, nil
	}
	return nil, fmt.Errorf("the body is packed as %q, which is passed on unread", encoding)
}

// maxRefusal is how much of an error's body is read.
const maxRefusal = 64 << 10

// overflowOf reports whether an upstream refused a request as too long. The body of the
// response can be read again in any case.
func overflowOf(resp *http.Response, provider string) (*model.Overflow, bool) {
	if resp.StatusCode < 400 || resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusTooManyRequests {
		return nil, false
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), rest}
	if err != nil || len(head) == maxRefusal {
		return nil, false
	}
	o, ok := model.ErrorFromBody(provider, resp.StatusCode, resp.Header, head).TooLarge()
	return &o, ok
}
