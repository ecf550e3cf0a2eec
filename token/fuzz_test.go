package token_test

import (
	"math"
	"testing"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

// Any message can be counted: no panic, nothing negative, and the categories add up.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{
		`{"role":"user","content":"日本 🙂 \ud83d"}`,
		`{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"read","arguments":{"a":[1e400,-0,{"a":1,"a":2}]}},{"type":"thinking","thinking":"","thinkingSignature":"AAAA","redacted":true}],"usage":{"input":1e308,"totalTokens":-4},"stopReason":"stop"}`,
		`{"role":"toolResult","content":[{"type":"image","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB","mimeType":"image/png"},{"type":"video","x":"\u00"}]}`,
		`{"role":"system","content":[{"type":"text","text":"a"}],"sections":{"a":"1","a":null,"b":3},"toolsAdded":{"a":1},"toolsRemoved":[1,"a",{"name":"a"}]}`,
		`{"role":"bashExecution","command":"ls","output":"a\nb"}`,
		`{"role":"compactionSummary","summary":"s"}`,
		`{"role":"user","content":"data:image/png;base64,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`,
	} {
		f.Add([]byte(s))
	}
	meters := []*token.Meter{meter(f, claude), meter(f, token.Config{Model: "gemini-2.5"}), meter(f, token.Config{Counter: token.Chars4(), AnyUsage: true})}
	f.Fuzz(func(t *testing.T, raw []byte) {
		msg, err := message.Parse(raw)
		if err != nil {
			return
		}
		for _, m := range meters {
			cost := m.Message(msg)
			if cost < 0 || cost > 1<<40 {
				t.Errorf("%s: %d", m.Name(), cost)
			}
			r := m.Measure([]*message.Message{msg, msg}, 0)
			if r.Tokens < 0 || r.Tokens == math.MaxInt64 || r.Categories.Total() != r.Tokens || r.Guarded() < r.Tokens {
				t.Errorf("%s: %+v", m.Name(), r)
			}
		}
	})
}

// Of any text, the beginning costs no more than the whole.
func FuzzText(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.Text, len(s.Text)/2)
	}
	f.Fuzz(func(t *testing.T, s string, cut int) {
		if cut < 0 || cut > len(s) {
			return
		}
		for _, c := range counters() {
			whole, beginning := c.Text(s), c.Text(s[:cut])
			// A character cut in two is another character to pi, as long as the whole one.
			if beginning < 0 || beginning > whole {
				t.Errorf("%s: %d bytes cost %d, all %d cost %d", c.Name(), cut, beginning, len(s), whole)
			}
		}
	})
}
