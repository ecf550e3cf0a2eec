package token

import "github.com/clew-dev/clew/message"

// Counter estimates the tokens of messages and of text. Implementations are
// safe for use by several goroutines, never return a negative number, and give
// the same answer for the same input.
type Counter interface {
	// Name identifies the counter in reports: "heuristic/claude", "chars4".
	Name() string
	// Message returns what a message adds to a request, the overhead of a
	// message included.
	Message(m *message.Message) int64
	// Text returns what a text costs as part of a message.
	Text(s string) int64
}

// What a Counter may offer beyond that.
type (
	// splitter divides the tokens of a message among the categories; the parts
	// add up to what Message returns.
	splitter interface {
		split(m *message.Message, into *Categories)
	}
	// guarded knows how far the counter's estimates may be too low.
	guarded interface {
		guard() float64
	}
)

// ceilDiv returns n/d rounded up, for n ≥ 0.
func ceilDiv(n, d int64) int64 {
	q := n / d
	if n%d != 0 {
		q++
	}
	return q
}
