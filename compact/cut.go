package compact

import (
	"fmt"

	"github.com/clew-dev/clew/session"
)

// Cut is the place between what is summarized and what is kept.
type Cut struct {
	// FirstKept is the entry that the kept part begins with, "" when nothing is kept.
	FirstKept string `json:"firstKept"`
	// Summarized and Kept count the messages before and after the cut, Tokens
	// what the kept ones cost.
	Summarized int   `json:"summarized"`
	Kept       int   `json:"kept"`
	Tokens     int64 `json:"tokens"`
	// SplitTurn says that the cut lies inside a turn: it began with TurnStart.
	SplitTurn bool   `json:"splitTurn,omitempty"`
	TurnStart string `json:"turnStart,omitempty"`
	// Why says why the cut is where it is.
	Why string `json:"why"`

	from int // first item that is summarized: what comes before are the previous summary's
	turn int // first item of the split turn, or at
	at   int // first item that is kept
}

// findCut goes from the newest unit backwards until the next would exceed
// tail, and returns the cut before the last that fits. The newest unit is kept
// whatever it costs.
func findCut(c *session.Context, units []Unit, tail int64) *Cut {
	from := 0
	for from < len(c.Items) && c.Items[from].Entry == c.Compaction {
		from++
	}
	k := len(units) - 1
	sum := units[k].Tokens
	for k > 0 && units[k].From > from && sum+units[k-1].Tokens <= tail {
		k--
		sum += units[k].Tokens
	}
	cut := &Cut{from: from, at: max(units[k].From, from)}
	cut.Kept = len(c.Items) - cut.at
	cut.Summarized = cut.at - from
	cut.Tokens = sum
	cut.Why = fmt.Sprintf("the newest %d messages take %d tokens, and %d are for the tail", cut.Kept, sum, tail)
	if sum > tail {
		cut.Why = fmt.Sprintf("the newest messages belong together and take %d tokens, more than the %d for the tail", sum, tail)
	}
	cut.FirstKept = firstKept(c, cut.at)
	cut.turn = turnStart(c.Items, from, cut.at)
	if cut.turn < cut.at {
		cut.SplitTurn = true
		cut.TurnStart = c.Items[cut.turn].Entry.ID
	}
	return cut
}

// firstKept returns the id of the entry that the kept part begins with: the
// item's own, or the first of those just before it that the model does not
// see, such as labels, so that they stay with it.
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

// turnStart returns the item that the turn of item at began with, or at when a
// turn begins there or none began since from.
func turnStart(items []session.Item, from, at int) int {
	for i := at; i >= from && i < len(items); i-- {
		if items[i].Message.StartsTurn() {
			return i
		}
	}
	return at
}
