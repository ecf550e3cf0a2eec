package compact

import (
	"fmt"
	"slices"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Cut is the place between what is summarized and what is kept.
type Cut struct {
	FirstKept string `json:"firstKept"` // the entry that the kept part begins with, "" when nothing is kept
	// Summarized and Kept count the messages before and after the cut, Tokens what the kept ones cost.
	Summarized int   `json:"summarized"`
	Kept       int   `json:"kept"`
	Tokens     int64 `json:"tokens"`
	// SplitTurn says that the cut lies inside a turn: it began with TurnStart.
	SplitTurn bool   `json:"splitTurn,omitempty"`
	TurnStart string `json:"turnStart,omitempty"`
	Why       string `json:"why"` // why the cut is where it is

	from int // first item that is summarized: what comes before are the previous summary's
	turn int // first item of the split turn, or at
	at   int // first item that is kept
}

func newCut(c *session.Context, at int, cost func(*message.Message) int64, why string) *Cut {
	from := firstSummarized(c)
	cut := &Cut{from: from, at: at, Why: why, FirstKept: firstKept(c, at), Summarized: at - from, Kept: len(c.Items) - at}
	cut.splitAt(c, turnStart(c.Items, from, at))
	for _, it := range c.Items[at:] {
		cut.Tokens += cost(it.Message)
	}
	return cut
}

// splitAt says at which item the turn begins that the cut lies in.
func (cut *Cut) splitAt(c *session.Context, turn int) {
	cut.turn, cut.SplitTurn, cut.TurnStart = turn, turn < cut.at, ""
	if cut.SplitTurn {
		cut.TurnStart = c.Items[turn].Entry.ID
	}
}

// firstSummarized returns the first item behind the summary that is there.
func firstSummarized(c *session.Context) int {
	from := 0
	for from < len(c.Items) && c.Items[from].Entry == c.Compaction {
		from++
	}
	return from
}

// findCut goes back from the newest unit, which is kept whatever it costs, as long as units fit the tail.
func findCut(c *session.Context, units []unit, tail int64) *Cut {
	from := firstSummarized(c)
	k := len(units) - 1
	sum := units[k].Tokens
	for k > 0 && units[k].From > from && sum+units[k-1].Tokens <= tail {
		k--
		sum += units[k].Tokens
	}
	cut := newCut(c, max(units[k].From, from), func(*message.Message) int64 { return 0 }, "")
	cut.Tokens = sum
	cut.Why = fmt.Sprintf("the newest %d messages take %d tokens, and %d are for the tail", cut.Kept, sum, tail)
	if sum > tail {
		cut.Why = fmt.Sprintf("the newest messages belong together and take %d tokens, more than the %d for the tail", sum, tail)
	}
	return cut
}

// tailStart returns the item at which the newest units begin that fit budget.
func tailStart(units []unit, budget int64) int {
	sum := int64(0)
	for k := len(units) - 1; k >= 0; k-- {
		if sum += units[k].Tokens; sum > budget {
			return units[k].To
		}
	}
	return 0
}

// safeCut returns the cut where it parts no call from its result, else the one before the unit that it parts; or
// after it, where nothing would be left to summarize. A cut at which a turn begins splits none: pi takes the turn
// before for split when something that the model does not see stands between.
func safeCut(c *session.Context, units []unit, cut *Cut, cost func(*message.Message) int64) *Cut {
	k := slices.IndexFunc(units, func(u unit) bool { return u.From < cut.at && cut.at < u.To })
	if k < 0 {
		safe := *cut
		if safe.at < len(c.Items) && c.Items[safe.at].Message.StartsTurn() {
			safe.splitAt(c, safe.at)
		}
		return &safe
	}
	at := max(units[k].From, cut.from)
	if at == cut.from && units[k].To < len(c.Items) {
		at = units[k].To
	}
	return newCut(c, at, cost, fmt.Sprintf("%s; moved from %s, which would part a call from its result", cut.Why, cut.FirstKept))
}

// firstKept returns the id of the entry that the kept part begins with: the item's own,
// or the first of those just before it that the model does not see, such as labels.
func firstKept(c *session.Context, at int) string {
	if at >= len(c.Items) {
		return ""
	}
	k := c.Items[at].At
	for k > 0 {
		e := c.Active[k-1]
		if at > 0 && c.Items[at-1].At == k-1 || e == c.Compaction || e.Type == session.TypeCompaction ||
			e.Type == session.TypeContextEdit || e.Type == session.TypeMessage {
			break
		}
		k--
	}
	return c.Active[k].ID
}

// turnStart returns the item that the turn of item at began with; at itself where none began since from.
func turnStart(items []session.Item, from, at int) int {
	for i := at; i >= from && i < len(items); i-- {
		if items[i].Message.StartsTurn() {
			return i
		}
	}
	return at
}

// unit is the smallest part of a context that may be kept or left out: a message, or an
// answer with all results of its calls and whatever stands between them.
type unit struct {
	From, To int   // items From..To-1 of the context
	Tokens   int64 // what its messages cost
}

// unitsOf divides items into units, in whatever order results came. A result without a call joins the unit before it.
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

// Pending returns the calls that have no result yet and keep the context from being sent.
func Pending(items []session.Item) []message.Block {
	var pending []message.Block
	for _, call := range message.PairCalls(messages(items)).Pending() {
		pending = append(pending, *call.Block)
	}
	return pending
}
