package token_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

// words counts words: a tokenizer whose numbers can be seen.
func words(s string) int64 { return int64(len(strings.Fields(s))) }

// A counter with a tokenizer counts the texts with it, and the rest as the
// heuristic does.
func TestExact(t *testing.T) {
	at := time.UnixMilli(1_750_000_000_000)
	picture := message.ImageBlock("image/png", "")
	call := message.ToolCallBlock("id", "write", json.RawMessage("{\n \"text\" : \"one two \\u006fne \\\\u0020x\"\n}"))
	for _, c := range []struct {
		name  string
		msg   *message.Message
		words int64 // -1: not sent
		calls int64
	}{
		{"user", message.User("one two three", at), 3, 0},
		{"answer", message.Assistant(at, message.ThinkingBlock("hm hm", ""), message.TextBlock("well then"), call), 2 + 2 + 1 + 4, 1},
		{"result", message.ToolResult("id", "write", "a b", false, at), 2, 0},
		{"image", message.User("", at).WithContent([]message.Block{message.TextBlock("see"), picture}), 1, 0},
		{"failed", &message.Message{Role: message.RoleAssistant, StopReason: message.StopError, Content: []message.Block{message.TextBlock("x")}}, -1, 0},
	} {
		for _, m := range []struct {
			provider, model    string
			rate, call, result int64 // thousandths
		}{
			{"openai", "gpt-5", 1000, 8170, 10_474},
			{"anthropic", "claude-opus-4-6", 1141, 46_424, 27_875},
			{"deepseek", "deepseek-chat", 1005, 24_065, 24_868},
		} {
			exact, heuristic := token.Exact("words", words, m.provider, m.model), token.HeuristicFor(m.provider, m.model)
			weight := int64(4000)
			if c.msg.Role == message.RoleToolResult {
				weight = m.result
			}
			want := (weight + c.calls*m.call + c.words*m.rate + 999) / 1000
			if c.name == "image" {
				// As the heuristic prices it.
				want += heuristic.Message(c.msg) - heuristic.Message(message.User("see", at))
			}
			if c.words < 0 {
				want = 0
			}
			if got := exact.Message(c.msg); got != want {
				t.Errorf("%s for %s: %d tokens, want %d", c.name, m.model, got, want)
			}
		}
	}
	c := token.Exact("words", words, "openai", "gpt-5")
	if got := c.Text("one two"); got != 2 || c.Name() != "words" {
		t.Errorf("%d words, by %q", got, c.Name())
	}
	low := token.Exact("negative", func(string) int64 { return -5 }, "openai", "gpt-5")
	if got := low.Text("x"); got != 0 {
		t.Errorf("a text costs %d tokens", got)
	}
}

// A meter takes a counter with a tokenizer, with its categories and guard.
func TestMeterWithExact(t *testing.T) {
	m, err := token.NewMeter(token.Config{Provider: "openai", Model: "gpt-5", Counter: token.Exact("words", words, "openai", "gpt-5")})
	if err != nil {
		t.Fatal(err)
	}
	at := time.UnixMilli(1_750_000_000_000)
	r := m.Measure([]*message.Message{message.User("one two", at), message.ToolResult("id", "x", "three", false, at)}, 0)
	if r.Counter != "words" || r.Categories[token.User] == 0 || r.Categories[token.ToolResults] == 0 || r.Categories.Total() != r.Tokens || m.Guard() != 1.25 {
		t.Errorf("%+v, guard %v", r, m.Guard())
	}
}
