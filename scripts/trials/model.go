package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/modeltest"
)

// fake is a server that stands in for every provider. It refuses requests whose calls and
// results are not in pairs, and answers by what the last message asks for.
type fake struct {
	url   string
	close func()

	mu       sync.Mutex
	strict   *modeltest.Server
	step     string // a word that stands in the prompt of the step
	reply    replyFunc
	requests []request
}

// request is a request of the step, as the program sent it.
type request struct {
	path     string
	body     string
	last     string // its last message
	main     bool   // that has the prompt of the step, or a result
	compacts bool   // it asks for a summary
}

func startFake() *fake {
	f := &fake{}
	f.strict = modeltest.Start(modeltest.Config{AnyKey: true, ForeignSignatures: true, Reply: f.answer})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") { // Codex goes on over HTTP then
			w.WriteHeader(http.StatusUpgradeRequired)
			return
		}
		f.strict.ServeHTTP(w, r)
	}))
	f.url = srv.URL
	f.close = func() { srv.Close(); f.strict.Close() }
	return f
}

// begin starts a step whose prompt has a word of its own in it.
func (f *fake) begin(step string, reply replyFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step, f.reply, f.requests = step, reply, nil
}

// end returns what was sent during the step, and the rules that were broken.
func (f *fake) end() (requests []request, broken []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := map[string]bool{}
	for _, x := range f.strict.Exchanges() {
		for _, v := range x.Violations {
			if !seen[v] {
				seen[v] = true
				broken = append(broken, v)
			}
		}
	}
	return f.requests, broken
}

// compacting tells a request for a summary by the words of Claude Code, Codex, Gemini CLI
// and opencode.
var compacting = regexp.MustCompile(`create a detailed summary|CONTEXT CHECKPOINT|state_snapshot>|[Pp]rovide a detailed prompt|anchored summary|[Ss]ummarize`)

// summaryText is what the model writes when it is asked for a summary: next to nothing.
const summaryText = "<state_snapshot><summary>We worked on a clock.</summary></state_snapshot>"

func (f *fake) answer(x *modeltest.Exchange) modeltest.Reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := request{path: x.Path, body: string(x.Request), last: lastMessage(x.Request)}
	asked := strings.Contains(r.last, f.step) && strings.Contains(toolNames(x.Request), "\n") // a title is asked for without tools
	r.main = asked || isResult.MatchString(r.last)
	r.compacts = !r.main && compacting.MatchString(r.last)
	f.requests = append(f.requests, r)
	switch {
	case asked:
		reply := f.reply(x)
		if thinks.Match(x.Request) && reply.Failure == nil {
			reply.Blocks = append([]message.Block{modeltest.Think("Let me see.")}, reply.Blocks...)
		}
		return reply
	case r.compacts:
		return modeltest.Text(summaryText)
	}
	return modeltest.Text("Done.")
}

// thinks tells a request to Anthropic whose answer begins with reasoning.
var thinks = regexp.MustCompile(`"thinking":\{[^}]*"type":"(enabled|adaptive)"`)

var isResult = regexp.MustCompile(`"tool_result"|"role":"tool"|_call_output"|"functionResponse"`)

// lastMessage returns the last message of a request.
func lastMessage(body []byte) string {
	var req map[string]json.RawMessage
	if json.Unmarshal(body, &req) != nil {
		return ""
	}
	for _, name := range []string{"messages", "input", "contents"} {
		var list []json.RawMessage
		if json.Unmarshal(req[name], &list) == nil && len(list) > 0 {
			return string(list[len(list)-1])
		}
	}
	return ""
}

// text answers with a text, and says that the context is so full.
func text(s string, tokens int64) replyFunc {
	return func(*modeltest.Exchange) modeltest.Reply {
		r := modeltest.Text(s)
		if tokens > 0 {
			r.Usage = &message.Usage{Input: tokens, Output: 10}
		}
		return r
	}
}

// once gives a reply one time, then another.
func once(first modeltest.Reply, then replyFunc) replyFunc {
	given := false
	return func(x *modeltest.Exchange) modeltest.Reply {
		if !given {
			given = true
			return first
		}
		return then(x)
	}
}

// call calls the first tool whose name fits.
func call(id string, tool *regexp.Regexp, arguments any) replyFunc {
	return func(x *modeltest.Exchange) modeltest.Reply {
		name := tool.FindString(toolNames(x.Request))
		if name == "" {
			return modeltest.Text("There is no such tool.")
		}
		args, err := json.Marshal(arguments)
		if err != nil {
			return modeltest.Text(err.Error())
		}
		return modeltest.Answer(modeltest.Call(id, name, string(args)))
	}
}

// toolNames returns the names of the tools of a request, one a line.
func toolNames(body []byte) string {
	var req struct {
		Tools json.RawMessage `json:"tools"`
	}
	if json.Unmarshal(body, &req) != nil {
		return ""
	}
	var out []string
	for _, m := range toolName.FindAllSubmatch(req.Tools, -1) {
		out = append(out, string(m[1]))
	}
	return strings.Join(out, "\n")
}

var toolName = regexp.MustCompile(`"name":\s*"([A-Za-z0-9_.-]+)"`)
