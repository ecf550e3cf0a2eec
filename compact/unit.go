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
// are in the same unit. A result whose call is not among the items joins the
// unit before it.
func unitsOf(items []session.Item, cost func(*message.Message) int64) []unit {
	// Boundary i lies before item i. A call at f and its result at i close the
	// boundaries f+1..i; closed counts how many pairs close one, as differences.
	closed := make([]int, len(items)+2)
	open := map[string]int{} // call id → item of the latest call with it
	for i, it := range items {
		m := it.Message
		if m.Role != message.RoleToolResult {
			for _, call := range m.ToolCalls() {
				open[call.ID] = i
			}
			continue
		}
		from, ok := open[m.ToolCallID]
		if !ok {
			from = max(i-1, 0)
		}
		closed[from+1]++
		closed[i+1]--
	}
	var units []unit
	pairs := 0
	for i, it := range items {
		pairs += closed[i]
		if pairs == 0 || len(units) == 0 {
			units = append(units, unit{From: i})
		}
		u := &units[len(units)-1]
		u.To = i + 1
		u.Tokens += cost(it.Message)
	}
	return units
}

// Pending returns the calls of the last answer that have no result yet.
func Pending(items []session.Item) []message.Block {
	answered := map[string]bool{}
	for i := len(items) - 1; i >= 0; i-- {
		m := items[i].Message
		switch m.Role {
		case message.RoleToolResult:
			answered[m.ToolCallID] = true
		case message.RoleAssistant:
			if m.StopReason == message.StopAborted || m.StopReason == message.StopError {
				return nil // such an answer is never sent, nor are its calls
			}
			var pending []message.Block
			for _, call := range m.ToolCalls() {
				if !answered[call.ID] {
					pending = append(pending, call)
				}
			}
			return pending
		default:
		}
	}
	return nil
}
