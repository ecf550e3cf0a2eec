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
	}{
		{"user", message.User("one two three", at), 3},
		{"answer", message.Assistant(at, message.ThinkingBlock("hm hm", ""), message.TextBlock("well then"), call), 2 + 2 + 1 + 4},
		{"result", message.ToolResult("id", "write", "a b", false, at), 2},
		{"image", message.User("", at).WithContent([]message.Block{message.TextBlock("see"), picture}), 1},
		{"failed", &message.Message{Role: message.RoleAssistant, StopReason: message.StopError, Content: []message.Block{message.TextBlock("x")}}, -1},
	} {
		for provider, model := range map[string]string{"openai": "gpt-5", "anthropic": "claude-opus-4-6", "deepseek": "deepseek-chat"} {
			exact, heuristic := token.Exact("words", words, provider, model), token.HeuristicFor(provider, model)
			rate := int64(1000)
			if provider == "anthropic" {
				rate = 1170
			}
			// What the heuristic makes of the message without its texts.
			bare := *c.msg
			bare.Content = nil
			for _, b := range c.msg.Content {
				if b.Type != message.BlockImage {
					b = message.TextBlock("")
				}
				bare.Content = append(bare.Content, b)
			}
			rest := heuristic.Message(&bare)
			if provider == "openai" {
				rest -= 12 - 4 // the overhead of a message
			}
			want := rest + (c.words*rate+999)/1000
			if c.words < 0 {
				want = 0
			}
			if got := exact.Message(c.msg); got != want {
				t.Errorf("%s for %s: %d tokens, want %d", c.name, model, got, want)
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
