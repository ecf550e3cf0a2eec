package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
)

// outcome is what a client has read of an answer, in the terms of no API.
type outcome struct {
	Text, Thinking string
	Calls          []string // "id name arguments", the arguments in one spelling
	Finish         model.Finish
	Refusal        string
	Prompt, Output int64
	CacheRead      int64
	Status         int // of an error
}

// scenario is what a server is to say.
type scenario struct {
	name  string
	reply modeltest.Reply
	not   string // clients whose API can't say it
}

var scenarios = []scenario{
	{"text", modeltest.Text("Hello, 世界. \"Quoted\", and\nanother line."), ""},
	{"call", modeltest.Answer(message.TextBlock("I look."), modeltest.Call("call_1", "read", `{"path":"a.go","lines":[1,2]}`)), ""},
	{"parallel calls", modeltest.Answer(modeltest.Call("call_1", "read", `{"path":"a"}`), modeltest.Call("call_2", "read", `{"path":"b"}`)), ""},
	{"thinking", modeltest.Answer(modeltest.Think("Let me see. Yes."), message.TextBlock("Done.")), ""},
	{"only thinking", modeltest.OnlyThinking("hm"), ""},
	{"truncated", modeltest.Truncated("half a sen"), ""},
	{"empty", modeltest.Empty(), ""},
	{"refused", modeltest.Refused("I can't help with that."), ""},
	{"cached", cached(), ""},
	{"spelled otherwise", modeltest.Text("commented and cut").With(modeltest.Faults{Chunk: 7, Comments: true}), "gemini"},
	{"overflow", modeltest.Overflow(210_000, 200_000), ""},
	{"unauthorized", modeltest.Fail(model.KindAuth), ""},
	{"rate limited", modeltest.Fail(model.KindRateLimit), ""},
	{"overloaded", modeltest.Fail(model.KindOverloaded), ""},
	{"failed", modeltest.Fail(model.KindServer), ""},
	{"invalid", modeltest.Fail(model.KindInvalid), ""},
}

func cached() modeltest.Reply {
	r := modeltest.Text("from the cache")
	r.Usage = &message.Usage{Input: 10, CacheRead: 90, Output: 7}
	return r
}

// client is a vendor's client and our adapter for the same API.
type client struct {
	name string
	// ask puts a question, with one tool, and reads the answer with the vendor's
	// client.
	ask func(s *modeltest.Server, stream bool) (outcome, error)
	// ours opens our adapter at a base URL.
	ours func(base string) (model.Model, error)
}

// request is what our adapters ask in a replay.
func request() *model.Request {
	return &model.Request{
		System:    "Be brief.",
		Messages:  []*message.Message{message.User("Read a.go.", at)},
		Tools:     []model.Tool{{Name: "read", Description: "reads a file", Parameters: json.RawMessage(schema)}},
		MaxOutput: 1000,
	}
}

const schema = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`

// play runs all scenarios with a client and our adapter.
func play(t *testing.T, c client) {
	for _, sc := range scenarios {
		if strings.Contains(sc.not, c.name) {
			continue
		}
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%v", sc.name, stream), func(t *testing.T) {
				s := modeltest.Start(modeltest.Config{}, sc.reply)
				defer s.Close()
				got, err := c.ask(s, stream)
				if bad := s.Violations(); bad != nil {
					t.Fatalf("the client's own request breaks a rule: %v\n%s", bad, s.Exchanges()[0].Request)
				}
				if err != nil && sc.reply.Failure == nil {
					t.Fatal(err)
				}
				checkScript(t, sc, got)
				checkOurs(t, c, s.Exchanges(), stream, got)
			})
		}
	}
}

// checkScript holds what the vendor's client has read against the script.
func checkScript(t *testing.T, sc scenario, got outcome) {
	t.Helper()
	if sc.reply.Failure != nil {
		if got.Status < 400 {
			t.Errorf("the client saw no error: %+v", got)
		}
		return
	}
	var text, thinking string
	var calls []string
	for _, b := range sc.reply.Blocks {
		switch b.Type {
		case message.BlockText:
			text += b.Text
		case message.BlockThinking:
			thinking += b.Text
		case message.BlockToolCall:
			calls = append(calls, oneCall(b.ID, b.Name, string(b.Arguments)))
		}
	}
	if got.Text != text || got.Thinking != thinking || !reflect.DeepEqual(got.Calls, calls) {
		t.Errorf("the client read %q %q %q, the script says %q %q %q", got.Text, got.Thinking, got.Calls, text, thinking, calls)
	}
	if got.Prompt <= 0 || sc.reply.Usage != nil && (got.Prompt != sc.reply.Usage.Prompt() || got.CacheRead != sc.reply.Usage.CacheRead || got.Output != sc.reply.Usage.Output) {
		t.Errorf("the client read usage %+v", got)
	}
}

// checkOurs gives our adapter the bytes that the client was given.
func checkOurs(t *testing.T, c client, xs []modeltest.Exchange, stream bool, want outcome) {
	t.Helper()
	replay := modeltest.StartReplay(xs)
	defer replay.Close()
	m, err := c.ours(replay.URL)
	if err != nil {
		t.Fatal(err)
	}
	var r *model.Response
	if stream {
		r, err = m.Stream(context.Background(), request(), nil)
	} else {
		r, err = m.Complete(context.Background(), request())
	}
	var e *model.Error
	if errors.As(err, &e) {
		if e.Status != want.Status {
			t.Errorf("our adapter: %v; the client saw status %d", err, want.Status)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	got := ourOutcome(r)
	if c.name == "gemini" { // its client does not read what is said of a refusal
		got.Refusal = ""
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("our adapter read\n%+v\nthe vendor's client\n%+v", got, want)
	}
}

func ourOutcome(r *model.Response) outcome {
	o := outcome{Finish: r.Finish, Refusal: r.Refusal}
	for _, b := range r.Message.Content {
		switch b.Type {
		case message.BlockText:
			o.Text += b.Text
		case message.BlockThinking:
			o.Thinking += b.Text
		case message.BlockToolCall:
			id, _, _ := strings.Cut(b.ID, "|") // the log keeps both ids of Responses
			o.Calls = append(o.Calls, oneCall(id, b.Name, string(b.Arguments)))
		}
	}
	if u := r.Message.Usage; u != nil {
		o.Prompt, o.Output, o.CacheRead = u.Prompt(), u.Output, u.CacheRead
	}
	return o
}

func oneCall(id, name, arguments string) string {
	var v any
	if json.Unmarshal([]byte(arguments), &v) == nil {
		if b, err := json.Marshal(v); err == nil {
			arguments = string(b)
		}
	}
	return id + " " + name + " " + arguments
}

// conversation returns a request with everything that goes to a provider: tools,
// reasoning, parallel calls, results, an image, cache marks.
func conversation(api, provider, name string, sign func(*message.Block)) *model.Request {
	thinking := modeltest.Think("I must look.")
	call := modeltest.Call("call_1", "read", `{"path":"a.go"}`)
	text := message.TextBlock("I look.")
	for _, b := range []*message.Block{&thinking, &text, &call} {
		sign(b)
	}
	blocks := []message.Block{thinking, text, call, modeltest.Call("call_2", "read", `{"path":"b.go"}`)}
	if thinking.Signature == "" {
		blocks = blocks[1:]
	}
	answer := message.Assistant(at, blocks...)
	answer.API, answer.Provider, answer.Model = api, provider, name
	picture := message.User("What is this?", at)
	picture.Content = append(picture.Content, message.ImageBlock("image/png", "iVBORw0KGgo="))
	r := request()
	r.Messages = append(r.Messages, answer,
		message.ToolResult("call_1", "read", "package a", false, at), message.ToolResult("call_2", "read", "no such file", true, at),
		picture)
	r.Reasoning, r.Cache, r.CacheKey, r.Stop = model.ReasoningHigh, model.CacheLong, "session-1", []string{"END"}
	r.ToolChoice = model.ToolsNone
	return r
}

// sameJSON reports whether two texts are the same JSON values.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}
