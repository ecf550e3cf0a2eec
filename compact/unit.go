package compact

import (
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// unit is the smallest part of a context that may be kept or left out: a
// message, or an answer together with all results of its calls and whatever
// stands between them.
type unit struct {
	From, To int   // items From..To-1 of the context
	Tokens   int64 // what its messages cost
}

// unitsOf divides items into units, in order. However many calls ran in
// parallel and in whatever order their results came, a call and its result
// are in the same unit. A result that belongs to no call among the items joins
// the unit before it.
func unitsOf(items []session.Item, cost func(*message.Message) int64) []unit {
	// Boundary i lies before item i. What must not be separated, items f to t, closes
	// the boundaries f+1..t; closed counts how many close each one, as differences.
	closed := make([]int, len(items)+2)
	pairs := message.PairCalls(messages(items))
	for i, it := range items {
		if it.Message.Role != message.RoleToolResult {
			continue
		}
		from, to := max(i-1, 0), i
		if call := pairs.CallOf(i); call != nil {
			from, to = min(call.Answer, i), max(call.Answer, i)
		}
		closed[from+1]++
		closed[to+1]--
	}
	var units []unit
	open := 0
	for i, it := range items {
		open += closed[i]
		if open == 0 || len(units) == 0 {
			units = append(units, unit{From: i})
		}
		u := &units[len(units)-1]
		u.To = i + 1
		u.Tokens += cost(it.Message)
	}
	return units
}

// Pending returns the calls that have no result yet and keep the context from being
// sent: see message.Pending.
func Pending(items []session.Item) []message.Block {
	var pending []message.Block
	for _, call := range message.Pending(messages(items)) {
		pending = append(pending, *call.Block)
	}
	return pending
}
