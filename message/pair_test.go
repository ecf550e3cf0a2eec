package message

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"
)

// pairsByDefinition returns for each call, in order, the index of the message with its result, -1 for none.
func pairsByDefinition(msgs []*Message) []int {
	type call struct {
		id                     string
		answer, result, failed int
	}
	var calls []call
	early := map[string][]int{}
	for i, m := range msgs {
		if m.Role == RoleAssistant {
			for _, b := range m.ToolCalls() {
				c := call{id: b.ID, answer: i, result: -1}
				if m.Failed() {
					c.failed = 1
				}
				if waiting := early[c.id]; len(waiting) > 0 {
					c.result, early[c.id] = waiting[0], waiting[1:]
				}
				calls = append(calls, c)
			}
			continue
		}
		best, known := -1, false
		for n, c := range calls {
			if c.id != m.ToolCallID {
				continue
			}
			known = true
			if c.result < 0 && (best < 0 || c.failed < calls[best].failed || c.failed == calls[best].failed && c.answer > calls[best].answer) {
				best = n
			}
		}
		if best >= 0 {
			calls[best].result = i
		} else if !known {
			early[m.ToolCallID] = append(early[m.ToolCallID], i)
		}
	}
	out := make([]int, len(calls))
	for n, c := range calls {
		out[n] = c.result
	}
	return out
}

// TestPairsAreAsDefined: results that are late, early, twice or of no call, of answers with more calls than are
// looked at without an index, and of ones that failed.
func TestPairsAreAsDefined(t *testing.T) {
	at := time.Unix(0, 0)
	matched, unmatched := 0, 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		id := func() string { return strconv.Itoa(r.IntN(1 + int(seed%12))) }
		var msgs []*Message
		for range r.IntN(30) {
			if r.IntN(3) > 0 {
				msgs = append(msgs, ToolResult(id(), "read", "text", false, at))
				continue
			}
			var blocks []Block
			for range r.IntN(12) {
				blocks = append(blocks, ToolCallBlock(id(), "read", []byte(`{}`)))
			}
			m := Assistant(at, blocks...)
			if r.IntN(4) == 0 {
				m.StopReason = StopError
			}
			msgs = append(msgs, m)
		}
		pairs := PairCalls(msgs)
		var got []int
		ids := map[string]bool{}
		for i := range msgs {
			for _, c := range pairs.Of(i) {
				got = append(got, c.Result)
				ids[c.Block.ID] = true
				if c.Result < 0 {
					unmatched++
				} else if matched++; pairs.CallOf(c.Result).Block != c.Block {
					t.Fatalf("seed %d: message %d is the result of another call", seed, c.Result)
				}
			}
		}
		if want := pairsByDefinition(msgs); !slices.Equal(got, want) {
			t.Fatalf("seed %d: the results are %v, want %v", seed, got, want)
		}
		for n := range 14 {
			if id := strconv.Itoa(n); pairs.Known(id) != ids[id] {
				t.Fatalf("seed %d: call %s is known: %v", seed, id, !ids[id])
			}
		}
	}
	t.Logf("%d calls with a result, %d without", matched, unmatched)
	if matched < 5000 || unmatched < 5000 {
		t.Error("too few of one kind")
	}
}
