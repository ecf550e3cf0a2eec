package clew

import (
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// prefetchBytes is how much one Prepare reads for the next summary, at most: a request
// waits for it.
const prefetchBytes = 256 << 10

// prefetched is how far the messages of a context were read for the next summary.
type prefetched struct {
	compaction *session.Entry // of the context
	searched   int            // items in which checkpoints were looked for
	until      int            // items before the latest checkpoint
	warmed     int            // items that are prepared
}

// prefetch prepares the next summary at checkpoints, where a task has ended: a later pass
// finds prepared what came before. That saves time then and changes nothing. It begins
// when half of the limit is reached, and reads each message once.
func (s *Session) prefetch(snap *compact.Snapshot) {
	if snap.Reading.Tokens < snap.Budget.Limit/2 || asksOthers(snap.Policy.Summarizer) {
		return
	}
	items := snap.Context.Items
	a := &s.ready
	if a.compaction != snap.Context.Compaction || a.searched > len(items) {
		*a = prefetched{compaction: snap.Context.Compaction, searched: len(items)}
	}
	if from := answerBefore(items, a.searched); from < len(items) {
		if points := summary.Checkpoints(items[from:], snap.Cwd); len(points) > 0 {
			a.until = max(a.until, from+points[len(points)-1].After)
		}
	}
	a.searched = len(items)
	to, bytes := a.warmed, 0
	for to < a.until && bytes < prefetchBytes {
		bytes += len(items[to].Message.JSON())
		to++
	}
	if to > a.warmed {
		from := answerBefore(items, a.warmed)
		s.found.Warm(items[from:to], snap.Cwd, snap.Policy.Instructions)
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

// asksOthers reports whether summaries are not made by rules.
func asksOthers(s summary.Summarizer) bool {
	_, ours := s.(summary.Deterministic)
	return s != nil && !ours
}
