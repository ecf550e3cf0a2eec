package agent

import (
	"context"
	"sync"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
)

// idler compacts while nobody waits for it. That is done once for each time that the agent falls idle.
type idler struct {
	journal *journal
	ops     *operations
	passes  *compactor
	after   time.Duration // how long without work; 0 for never
	share   float64       // of the threshold, from which on it is worth it

	mu    sync.Mutex
	since time.Time // when the last turn has ended
}

// fell takes down that nothing is under way.
func (i *idler) fell(was Doing) {
	if was != DoingTurn {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.since = i.journal.clock()
}

// due reports whether the agent was idle for long enough, and forgets that.
func (i *idler) due() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.journal.status.get()
	large := s.Threshold > 0 && float64(s.Tokens) >= i.share*float64(s.Threshold)
	if s.Doing != DoingNothing || i.since.IsZero() || !large || i.journal.clock().Sub(i.since) < i.after {
		return false
	}
	i.since = time.Time{}
	return true
}

// watch looks now and then until ctx ends.
func (i *idler) watch(ctx context.Context, sleep func(context.Context, time.Duration) error) {
	for sleep(ctx, max(i.after/4, time.Second)) == nil {
		if !i.due() {
			continue
		}
		err := i.ops.alone(ctx, "compact", DoingCompaction, func(ctx context.Context) error {
			made, err := i.passes.usePrefetched(ctx, compact.Manual)
			if err == nil && !made {
				_, err = i.passes.compact(ctx, clew.CompactOptions{Reason: compact.Manual})
			}
			return err
		})
		if err != nil && ctx.Err() == nil {
			i.journal.warnOnce(err)
		}
	}
}
