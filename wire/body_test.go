package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
)

// TestValidateReadsEveryByte: a defect that is put by hand into a sound request is refused.
func TestValidateReadsEveryByte(t *testing.T) {
	msgs := parseAll(t,
		`{"role":"system","content":"be careful","toolsAdded":[{"name":"read","parameters":{}}]}`,
		`{"role":"user","content":[{"type":"text","text":"do it"}]}`,
		`{"role":"assistant","provider":"p","model":"m","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"c2ln"},{"type":"toolCall","id":"a","name":"read","arguments":{"path":"a.go"}}]}`,
		`{"role":"toolResult","toolCallId":"a","toolName":"read","content":[{"type":"text","text":"package a"}]}`,
	)
	p := Anthropic
	for _, c := range []struct {
		rule     Rule
		old, new string
	}{
		{RuleJSON, `"text":"do it"`, `"text":"do it`},
		{RuleUTF8, `do it`, `do \ud83d`},
		{RuleNotEmpty, `do it`, ` `},
		{RuleThinking, `"thinking":"hm"`, `"thinking":"h"`},
		{RuleThinking, `c2ln`, `c2lo`},
		{RuleResultWithout, `"tool_use_id":"a"`, `"tool_use_id":"b"`},
		{RuleCallID, `"id":"a"`, `"id":"a b"`},
		{RuleArguments, `"input":{"path":"a.go"}`, `"input":7`},
		{RuleSystem, `"text":"be careful"`, `"text":" "`},
		{RuleTools, `"name":"read","input_schema"`, `"name":"","input_schema"`},
	} {
		r, _, err := Build(msgs, p, targets[0], Options{})
		if err != nil {
			t.Fatal(err)
		}
		changed := 0
		for _, part := range append([]*json.RawMessage{&r.System, &r.Tools}, pointers(r.Messages)...) {
			if bytes.Contains(*part, []byte(c.old)) {
				*part = bytes.Replace(*part, []byte(c.old), []byte(c.new), 1)
				changed++
			}
		}
		if changed == 0 {
			t.Fatalf("%s is not in the request", c.old)
		}
		wantBroken(t, c.rule, Validate(r, p, msgs))
	}
}

func pointers(msgs []json.RawMessage) (out []*json.RawMessage) {
	for i := range msgs {
		out = append(out, &msgs[i])
	}
	return out
}

// TestBodiesAreWhole: what names the model comes first, what grows comes last.
func TestBodiesAreWhole(t *testing.T) {
	msgs := parseAll(t, `{"role":"system","content":"s","toolsAdded":[{"name":"t"}]}`, `{"role":"user","content":"hi"}`)
	const schema = `{"type":"object","properties":{}}`
	for name, want := range map[string]string{
		"anthropic": `{"model":"m","max_tokens":9,"tools":[{"name":"t","input_schema":` + schema + `}],"system":[{"type":"text","text":"s"}],` +
			`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`,
		"openai-chat": `{"model":"m","max_completion_tokens":9,"tools":[{"type":"function","function":{"name":"t","parameters":` + schema + `}}],` +
			`"messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}]}`,
		"openai-responses": `{"model":"m","max_output_tokens":9,"store":false,"instructions":"s","tools":[{"type":"function","name":"t","parameters":` + schema +
			`,"strict":false}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}`,
		"gemini": `{"generationConfig":{"maxOutputTokens":9},"systemInstruction":{"parts":[{"text":"s"}]},` +
			`"tools":[{"functionDeclarations":[{"name":"t","parametersJsonSchema":` + schema + `}]}],"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
	} {
		p := profile(t, name)
		r, _, err := Build(msgs, p, Target{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.Body(p, p.Head("m", 9))); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
		if got := r.Body(p, json.RawMessage("{}")); !json.Valid(got) || len(got) != len(r.Body(p, nil)) {
			t.Errorf("%s: an empty head gives %s", name, got)
		}
	}
}

// TestBodyWithoutCopy: the first body takes the messages where they were written; another
// one, and one of messages that were changed since, is a copy. All of them say the same.
func TestBodyWithoutCopy(t *testing.T) {
	var msgs []*message.Message
	for n := range 3 {
		msgs = append(msgs, turnOf(t, n)...)
	}
	long := json.RawMessage(`{"model":"` + strings.Repeat("m", 10_000) + `"}`)
	for _, p := range []Profile{Anthropic, OpenAIChat, OpenAIResponses, Gemini} {
		for _, c := range []struct {
			name   string
			head   json.RawMessage
			change func(r *Request)
			copied bool
		}{
			{"as written", p.Head("m", 100), func(*Request) {}, false},
			{"without a head", nil, func(*Request) {}, false},
			{"a second body", nil, func(r *Request) { r.Body(p, p.Head("first", 1)) }, true},
			{"a long head", long, func(*Request) {}, true},
			{"a message was changed", nil, func(r *Request) { r.Messages[2] = json.RawMessage(`{"role":"user"}`) }, true},
			{"messages were taken out", nil, func(r *Request) { r.Messages = r.Messages[:2] }, true},
			{"messages were turned round", nil, func(r *Request) { slices.Reverse(r.Messages) }, true},
		} {
			r, _, err := Build(msgs, p, targets[0], Options{})
			if err != nil {
				t.Fatal(err)
			}
			c.change(r)
			plain := *r
			plain.list = nil
			want := plain.Body(p, c.head)
			got := r.Body(p, c.head)
			if !bytes.Equal(got, want) {
				t.Errorf("%s, %s:\n%.300s\nwant\n%.300s", p.Name, c.name, got, want)
			}
			at := bytes.Index(got, r.Messages[0])
			if copied := &got[at] != &r.Messages[0][0]; copied != c.copied {
				t.Errorf("%s, %s: copied is %v", p.Name, c.name, copied)
			}
			if cap(got) > len(got) && !c.copied {
				t.Errorf("%s, %s: what is appended to the body could be written behind it", p.Name, c.name)
			}
		}
	}
}
