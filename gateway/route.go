package gateway

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/clew-dev/clew/wire"
)

// hopHeader marks a request that a gateway has shortened, so that a second one on the way
// leaves it alone.
const hopHeader = "X-Clew-Gateway"

var shortened = []string{"1"}

// route says which API a request is for.
type route struct {
	profile  wire.Profile
	provider string // as messages name it
	model    string // where the path names it
	count    bool   // asks what a list would cost
	compacts bool   // asks for a shorter list
	retried  bool   // was refused for context_management, which is not tried again
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
	case strings.HasSuffix(path, compactPath):
		rt = route{profile: wire.OpenAIResponses, provider: "openai", compacts: true}
	case strings.HasSuffix(path, "/responses/input_tokens"):
		rt = route{profile: wire.OpenAIResponses, provider: "openai", count: true}
	case strings.HasSuffix(last, ":generateContent"), strings.HasSuffix(last, ":streamGenerateContent"):
		rt = route{profile: wire.Gemini, provider: "google", model: last[:strings.IndexByte(last, ':')]}
	case strings.HasSuffix(last, ":rawPredict"), strings.HasSuffix(last, ":streamRawPredict"): // Claude at Vertex
		id, _, _ := strings.Cut(last, ":")
		rt = route{profile: wire.Anthropic, provider: "anthropic", model: id, count: id == "count-tokens"}
	case strings.HasSuffix(last, ":countTokens"):
		rt = route{profile: wire.Gemini, provider: "google", model: last[:strings.IndexByte(last, ':')], count: true}
	default:
		return rt, false
	}
	if _, after, azure := strings.Cut(path, "/deployments/"); azure {
		rt.model, _, _ = strings.Cut(after, "/")
	}
	rt.untouchable = subscription(req.Header) || signed(req.Header) || req.URL.Hostname() == "chatgpt.com"
	return rt, true
}

// signed reports whether a signature covers the body, as for Bedrock.
func signed(h http.Header) bool { return strings.HasPrefix(h.Get("Authorization"), "AWS4-") }

// subscription recognises the tokens that the logins of Claude and ChatGPT give.
func subscription(h http.Header) bool {
	for _, token := range []string{strings.TrimSpace(strings.TrimPrefix(h.Get("Authorization"), "Bearer ")), h.Get("X-Api-Key")} {
		if strings.HasPrefix(token, "sk-ant-oat") {
			return true
		}
	}
	return h.Get("Chatgpt-Account-Id") != "" || strings.Contains(h.Get("Anthropic-Beta"), "oauth-")
}

// prompts are words by which agents ask for a summary of their own.
var prompts = []string{
	"CRITICAL: Respond with TEXT ONLY",                   // Claude Code
	"You are performing a CONTEXT CHECKPOINT COMPACTION", // Codex
}

// summarizes reports whether a request is that of a client which compacts by itself.
func (r *request) summarizes(h http.Header) bool {
	if strings.Contains(h.Get("X-Codex-Turn-Metadata"), `"request_kind":"compaction"`) {
		return true
	}
	last := r.in.Nodes[len(r.in.Nodes)-1]
	if last.Kind != wire.PartText {
		return false
	}
	text := last.Content.Of(r.in.Body)
	text = text[:min(len(text), 2000)]
	return slices.ContainsFunc(prompts, func(p string) bool { return bytes.Contains(text, []byte(p)) })
}
