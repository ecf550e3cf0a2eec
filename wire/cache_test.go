package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/clew-dev/clew/message"
)

// TestCacheChangesNothing: with a cache that has seen every beginning of a list, for
// several profiles in turn, requests, notes and errors are what they are without.
func TestCacheChangesNothing(t *testing.T) {
	all, _ := lists(t, 200)
	for i, lines := range all {
		msgs := parseAll(t, lines...)
		cache := NewCache()
		for n := range len(msgs) + 1 {
			for _, p := range profiles() {
				for range 2 {
					r1, n1, err1 := Build(msgs[:n], p, targets[0], Options{CloseOpenCalls: true})
					r2, n2, err2 := Build(msgs[:n], p, targets[0], Options{CloseOpenCalls: true, Cache: cache})
					if !reflect.DeepEqual(r1, r2) || !reflect.DeepEqual(n1, n2) || !reflect.DeepEqual(err1, err2) {
						t.Fatalf("list %d for %s differs with a cache: %v, %v", i, p.Name, err1, err2)
					}
				}
			}
		}
	}
}

// TestRenderedBytesAreCheckedAgain: a defect that is put by hand into a request which
// was found sound is refused, with the cache that knows the sound one, and the
// sound one is taken again afterwards.
func TestRenderedBytesAreCheckedAgain(t *testing.T) {
	msgs := parseAll(t,
		`{"role":"system","content":"be careful","toolsAdded":[{"name":"read","parameters":{}}]}`,
		`{"role":"user","content":[{"type":"text","text":"do it"}]}`,
		`{"role":"assistant","provider":"p","model":"m","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"c2ln"},{"type":"toolCall","id":"a","name":"read","arguments":{"path":"a.go"}}]}`,
		`{"role":"toolResult","toolCallId":"a","toolName":"read","content":[{"type":"text","text":"package a"}]}`,
	)
	p, cache := Anthropic, NewCache()
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
		r, _, err := Build(msgs, p, targets[0], Options{Cache: cache})
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
		wantBroken(t, c.rule, validate(r, &p, msgs, cache))
	}
	// Bytes that are changed in place, which the cache may have seen, are read again too.
	r, _, _ := Build(msgs, p, targets[0], Options{Cache: cache})
	copy(r.Messages[0][bytes.Index(r.Messages[0], []byte("do it")):], `\ud8d`)
	wantBroken(t, RuleJSON, validate(r, &p, msgs, cache))
}

func pointers(msgs []json.RawMessage) (out []*json.RawMessage) {
	for i := range msgs {
		out = append(out, &msgs[i])
	}
	return out
}

// TestCacheReadsOnlyWhatIsNew counts the parts that are read, and those that are kept.
func TestCacheReadsOnlyWhatIsNew(t *testing.T) {
	var msgs []*message.Message
	cache := NewCache()
	build := func(msgs []*message.Message) (read int) {
		t.Helper()
		before := cache.misses
		r, _, err := Build(msgs, OpenAIChat, targets[0], Options{Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		if most := 2*(len(r.Messages)+2) + 1; len(cache.parts) > most {
			t.Errorf("%d parts are kept for a request of %d messages", len(cache.parts), len(r.Messages))
		}
		return cache.misses - before
	}
	for n := range 40 {
		msgs = append(msgs, turnOf(t, n)...)
		want := 5 // messages of a turn
		if n == 0 {
			want = 7 // and no system text, no tools
		}
		if read := build(msgs); read > want {
			t.Errorf("turn %d: %d parts were read", n, read)
		}
	}
	if read := build(msgs); read != 0 {
		t.Errorf("the same request again: %d parts were read", read)
	}
	build(slices.Clone(msgs[:5]))
	if read := build(msgs); read < 100 {
		t.Errorf("a short request left the parts of a long one: only %d were read", read)
	}
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
