package compact

import (
	"fmt"
	"slices"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// safeCut returns the cut itself when it parts no call from its result, else the
// one before the unit that it parts. Where that would leave nothing to summarize,
// it is the one after the unit, unless nothing stands there; then Summarized is 0.
//
// A cut at which a turn begins splits none, whatever it says: pi takes the turn
// before for split when something that the model does not see stands between.
func safeCut(c *session.Context, units []Unit, cut *Cut, cost func(*message.Message) int64) *Cut {
	safe := *cut
	if k := slices.IndexFunc(units, func(u Unit) bool { return u.From < cut.at && cut.at < u.To }); k >= 0 {
		safe.at = max(units[k].From, cut.from)
		if safe.at == cut.from && units[k].To < len(c.Items) {
			safe.at = units[k].To
		}
		safe.FirstKept = firstKept(c, safe.at)
		safe.Why = fmt.Sprintf("%s; moved from %s, which would part a call from its result", cut.Why, cut.FirstKept)
		safe.count(c, cost)
	}
	if safe.at != cut.at || safe.at < len(c.Items) && c.Items[safe.at].Message.StartsTurn() {
		safe.turn, safe.SplitTurn, safe.TurnStart = turnStart(c.Items, safe.from, safe.at), false, ""
		if safe.turn < safe.at {
			safe.SplitTurn, safe.TurnStart = true, c.Items[safe.turn].Entry.ID
		}
	}
	return &safe
}

// count fills in what is counted of a cut.
func (cut *Cut) count(c *session.Context, cost func(*message.Message) int64) {
	cut.Summarized, cut.Kept, cut.Tokens = cut.at-cut.from, len(c.Items)-cut.at, 0
	for _, it := range c.Items[cut.at:] {
		cut.Tokens += cost(it.Message)
	}
}
