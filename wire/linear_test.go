package wire

import (
	"fmt"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
)

// manyCalls returns one answer with n calls, which have ids different ids, and
// their results.
func manyCalls(n, ids int) []*message.Message {
	at := time.UnixMilli(1)
	id := func(i int) string { return fmt.Sprint("call_", i%ids) }
	var blocks []message.Block
	for i := range n {
		blocks = append(blocks, message.ToolCallBlock(id(i), "read", []byte(`{"path":"a"}`)))
	}
	msgs := []*message.Message{message.User("go", at), message.Assistant(at, blocks...)}
	for i := range n {
		msgs = append(msgs, message.ToolResult(id(i), "read", "x", false, at))
	}
	return msgs
}

// TestCallsThatShareIDsCostNoMore: defect 1.7 of issue 11. Ten times the calls take
// about ten times the allocations, also where they share a few ids: each name
// that is tried for a call costs some.
func TestCallsThatShareIDsCostNoMore(t *testing.T) {
	for _, p := range profiles() {
		allocs := func(n int) float64 {
			msgs := manyCalls(n, 7)
			return testing.AllocsPerRun(1, func() {
				if _, _, err := Build(msgs, p, Target{}, Options{}); err != nil {
					t.Fatal(err)
				}
			})
		}
		few, many := allocs(200), allocs(2000)
		if many > 13*few {
			t.Errorf("%s: %.0f allocations for 200 calls, %.0f for 2000", p.Name, few, many)
		}
	}
}

// BenchmarkManyCalls renders one answer with 160, 1,600 and 16,000 calls.
func BenchmarkManyCalls(b *testing.B) {
	for _, ids := range []int{7, 1 << 30} {
		for _, n := range []int{160, 1_600, 16_000} {
			b.Run(fmt.Sprintf("%d-ids/%d", min(ids, n), n), func(b *testing.B) {
				msgs := manyCalls(n, ids)
				for b.Loop() {
					if _, _, err := Build(msgs, Anthropic, Target{}, Options{}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/call")
			})
		}
	}
}
