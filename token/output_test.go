package token_test

import (
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

// Where the usage is that of the beginning of an answer, the prompt is as large as was
// reported, and the answer is estimated.
func TestOutputOfTheBeginning(t *testing.T) {
	long := strings.Repeat("A sentence of an answer that is long. ", 100)
	for _, c := range []struct {
		name     string
		usage    message.Usage
		text     string
		any      bool
		measured int64
		whole    bool
	}{
		{"whole", message.Usage{Input: 1000, Output: 900}, long, false, 1900, true},
		{"beginning", message.Usage{Input: 1000, Output: 3}, long, false, 1000, false},
		{"beginning, with a total", message.Usage{Input: 1000, CacheRead: 500, Output: 3, TotalCount: 1503}, long, false, 1500, false},
		{"no output", message.Usage{Input: 1000}, long, false, 1000, false},
		{"a short answer", message.Usage{Input: 1000, Output: 2}, "Yes.", false, 1002, true},
		{"only a total", message.Usage{TotalCount: 2000}, long, false, 2000, true},
		{"as pi does", message.Usage{Input: 1000, Output: 3}, long, true, 1003, true},
	} {
		m, err := token.NewMeter(token.Config{Counter: token.Heuristic(token.Claude), AnyUsage: c.any})
		if err != nil {
			t.Fatal(err)
		}
		answer := message.Assistant(at, message.TextBlock(c.text))
		answer.Usage = &c.usage
		after := message.ToolResult("id", "read", "text of a file", false, at)
		msgs := []*message.Message{message.User("What?", at), answer, after}
		r := m.Measure(msgs, 0)
		estimated := m.Message(after)
		if !c.whole {
			estimated += m.Message(answer)
		}
		if r.Measured != c.measured || r.Estimated != estimated || r.Tokens != r.Measured+r.Estimated || r.Anchor != 1 || r.Categories.Total() != r.Tokens {
			t.Errorf("%s: %+v, want %d measured and %d estimated", c.name, r, c.measured, estimated)
		}
		running := m.Running()
		for _, msg := range msgs {
			running.Add(msg, true)
		}
		if got := running.Reading(); got != r {
			t.Errorf("%s: the running count has %+v, want %+v", c.name, got, r)
		}
	}
}
