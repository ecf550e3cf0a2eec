package clew

import (
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// aheadBytes is how much one Prepare looks at ahead, at most: a request waits for it.
const aheadBytes = 256 << 10

// ahead is how far the messages of a context were looked at for the next summary.
type ahead struct {
	compaction *session.Entry // of the context
	looked     int            // items in which checkpoints were looked for
	until      int            // items before the latest checkpoint
	warmed     int            // items that are prepared
}

// lookAhead prepares the next summary at checkpoints, where a task has ended: a pass
// that is due later finds prepared what came before. That saves time then and
// changes nothing. It begins when half of the limit is reached, and looks at each
// message once.
func (s *Session) lookAhead(v *view) {
	if s.asksOthers(v) {
		return
	}
	budget, _, err := v.policy.Resolve()
	if err != nil || v.sized.Reading.Tokens < budget.Limit/2 {
		return
	}
	items := v.context.Items
	a := &s.ahead
	if a.compaction != v.context.Compaction || a.looked > len(items) {
		*a = ahead{compaction: v.context.Compaction, looked: len(items)}
	}
	cwd := s.log.Store().Header().Cwd
	if from := answerBefore(items, a.looked); from < len(items) {
		if points := summary.Checkpoints(items[from:], cwd); len(points) > 0 {
			a.until = max(a.until, from+points[len(points)-1].After)
		}
	}
	a.looked = len(items)
	to, bytes := a.warmed, 0
	for to < a.until && bytes < aheadBytes {
		bytes += len(items[to].Message.JSON())
		to++
	}
	if to > a.warmed {
		from := answerBefore(items, a.warmed)
		s.found.Warm(items[from:to], cwd, v.policy.Instructions)
		a.warmed = to
	}
}

// answerBefore returns the answer whose results stand at an item, or the item.
func answerBefore(items []session.Item, at int) int {
	for at > 0 && at < len(items) && items[at].Message.ToolCallID != "" {
		at--
	}
	return at
}

// asksOthers reports whether summaries are made by somebody else.
func (s *Session) asksOthers(v *view) bool {
	if v.policy.Summarizer == nil {
		return false
	}
	_, ours := v.policy.Summarizer.(summary.Deterministic)
	return !ours
}
