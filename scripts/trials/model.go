package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/wire"
)

// fake is a server that stands in for every provider. It refuses requests whose calls and
// results are not in pairs, and answers by what the last message asks for.
type fake struct {
	url   string
	close func()

	mu     sync.Mutex
	strict *modeltest.Server
	step   string // a word that stands in the prompt of the step
	reply  replyFunc
}

// request is a request of the step, as the program sent it.
type request struct {
	path     string
	body     string
	last     string // its last message
	asked    bool   // that has the prompt of the step
	main     bool   // the same, or it has a result
	compacts bool   // it asks for a summary
}

// pairing are the rules that every provider insists on.
var pairing = []wire.Rule{wire.RuleJSON, wire.RuleCallWithout, wire.RuleResultWithout, wire.RuleOrder, wire.RuleUniqueID}

func startFake() *fake {
	f := &fake{strict: modeltest.Start(modeltest.Config{})}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") { // Codex goes on over HTTP then
			w.WriteHeader(http.StatusUpgradeRequired)
			return
		}
		f.mu.Lock()
		strict := f.strict
		f.mu.Unlock()
		strict.ServeHTTP(w, r)
	}))
	f.url = srv.URL
	f.close = func() { srv.Close(); f.strict.Close() }
	return f
}

// begin starts a step whose prompt has a word of its own in it, for a program whose requests
// may break a rule.
func (f *fake) begin(step string, reply replyFunc, breaks wire.Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step, f.reply = step, reply
	f.strict.Close()
	rules := slices.DeleteFunc(slices.Clone(pairing), func(r wire.Rule) bool { return r == breaks })
	f.strict = modeltest.Start(modeltest.Config{AnyKey: true, ForeignSignatures: true, Rules: rules, Reply: f.answer})
}

// end returns what was sent during the step, and the rules that were broken.
func (f *fake) end() (requests []request, broken []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.strict.Exchanges() {
		requests = append(requests, f.read(&x))
		broken = append(broken, x.Violations...)
	}
	slices.Sort(broken)
	return requests, slices.Compact(broken)
}

// read tells what a request is for.
func (f *fake) read(x *modeltest.Exchange) request {
	r := request{path: x.Path, body: string(x.Request), last: lastMessage(x.Request)}
	r.asked = strings.Contains(r.last, f.step) && len(tools(x.Request)) > 1 // a title is asked for without tools
	r.main = r.asked || isResult.MatchString(r.last)
	r.compacts = !r.main && compacting.MatchString(r.last)
	return r
}

// compacting tells a request for a summary by the words of Claude Code, Codex, Gemini CLI
// and opencode.
var compacting = regexp.MustCompile(`create a detailed summary|CONTEXT CHECKPOINT|state_snapshot>|[Pp]rovide a detailed prompt|anchored summary|[Ss]ummarize`)

// summaryText is what the model writes when it is asked for a summary: next to nothing.
const summaryText = "<state_snapshot><summary>We worked on a clock.</summary></state_snapshot>"

func (f *fake) answer(x *modeltest.Exchange) modeltest.Reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.read(x)
	switch {
	case r.asked:
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
		args, err := json.Marshal(arguments)
		if err != nil {
			return modeltest.Text(err.Error())
		}
		for _, t := range tools(x.Request) {
			switch {
			case !tool.MatchString(t.name):
			case t.namespace != "": // of Codex, for tools of MCP servers
				item, err := json.Marshal(map[string]string{
					"type": "function_call", "id": "fc_" + id, "call_id": id, "namespace": t.namespace, "name": t.name, "arguments": string(args),
				})
				if err != nil {
					return modeltest.Text(err.Error())
				}
				return modeltest.Reply{Raw: []json.RawMessage{item}}
			default:
				return modeltest.Answer(modeltest.Call(id, t.name, string(args)))
			}
		}
		return modeltest.Text("There is no such tool.")
	}
}

type toolName struct{ namespace, name string }

// tools returns the names of the tools of a request, in the form of any API.
func tools(body []byte) (out []toolName) {
	type tool struct {
		Name      string
		Type      string
		Function  struct{ Name string }
		Tools     []struct{ Name string }
		Functions []struct{ Name string } `json:"functionDeclarations"`
	}
	var req struct{ Tools []tool }
	if json.Unmarshal(body, &req) != nil {
		return nil
	}
	for _, t := range req.Tools {
		if t.Type != "namespace" {
			out = append(out, toolName{name: t.Name + t.Function.Name})
		}
		for _, in := range t.Tools {
			out = append(out, toolName{t.Name, in.Name})
		}
		for _, in := range t.Functions {
			out = append(out, toolName{name: in.Name})
		}
	}
	return out
}
