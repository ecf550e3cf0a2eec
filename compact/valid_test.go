package compact

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// TestUnpaired reads sketches: c1 is an answer with a call, r1 its result, f1 an
// answer that failed with a call, u a user message.
func TestUnpaired(t *testing.T) {
	for _, c := range []struct{ sketch, want string }{
		{"", ""},
		{"u c1 r1 u c2 r2", ""},
		{"c1c2 r2 r1", ""},
		{"c1 u r1", ""}, // not side by side, but a pair
		{"c1c2 r2", "1"},
		{"r1 c1", "1"},
		{"r1 c2 r2 r2", "1 2"},
		{"f1 u", ""}, // never sent
		{"f1 r1", "1"},
	} {
		var items []session.Item
		for word := range strings.FieldsSeq(c.sketch) {
			id := word[1:]
			var m *message.Message
			switch word[0] {
			case 'u':
				m = message.User("x", time.Time{})
			case 'r':
				m = message.ToolResult(id, "t", "x", false, time.Time{})
			default:
				var calls []message.Block
				for call := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(word, "f"), "c"), "c") {
					calls = append(calls, message.ToolCallBlock(call, "t", []byte("{}")))
				}
				m = message.Assistant(time.Time{}, calls...)
				if word[0] == 'f' {
					m.StopReason = message.StopError
				}
			}
			items = append(items, session.Item{Message: m})
		}
		if got := strings.Join(slices.Sorted(maps.Keys(unpaired(items))), " "); got != c.want {
			t.Errorf("%q: %q, want %q", c.sketch, got, c.want)
		}
	}
}
