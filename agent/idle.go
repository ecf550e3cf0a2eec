package agent

import (
	"context"
	"sync"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
)

// idler compacts while nobody waits for it: a large context after a while, and what needs no summary as soon as the
// provider has forgotten what it cached. Each is done once for each time that the agent falls idle.
type idler struct {
	journal  *journal
	ops      *operations
	passes   *compactor
	after    time.Duration // how long without work a large context waits; 0 for never
	share    float64       // of the threshold, from which on it is large
	cacheTTL time.Duration // how long the cache lives; 0 for never

	mu    sync.Mutex
	since time.Time // when the last turn has ended
	cold  bool      // what was cached is forgotten, and that was made use of
}

// fell takes down that nothing is under way.
func (i *idler) fell(was Doing) {
	if was != DoingTurn {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.since, i.cold = i.journal.clock(), false
}

// due returns why something is to be done by now, "" for nothing, and forgets that.
func (i *idler) due() compact.Reason {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.journal.status.get()
	if s.Doing != DoingNothing || i.since.IsZero() {
		return ""
	}
	large := s.Threshold > 0 && float64(s.Tokens) >= i.share*float64(s.Threshold)
	switch idle := i.journal.clock().Sub(i.since); {
	case i.after > 0 && idle >= i.after && large && !i.passes.prefetch.busy(): // what is being made need not be made twice
		i.since = time.Time{}
		return compact.Manual
	case i.cacheTTL > 0 && idle >= i.cacheTTL && !i.cold && !s.Prepared: // a summary that lies ready frees more
		i.cold = true
		return compact.Idle
	}
	return ""
}

// every is how often it is worth looking; 0 for never.
func (i *idler) every() time.Duration {
	least := min(i.after, i.cacheTTL)
	if least <= 0 {
		least = max(i.after, i.cacheTTL)
	}
	if least <= 0 {
		return 0
	}
	return max(least/4, time.Second)
}

// watch looks now and then until ctx ends.
func (i *idler) watch(ctx context.Context, sleep func(context.Context, time.Duration) error) {
	for sleep(ctx, i.every()) == nil {
		why := i.due()
		if why == "" {
			continue
		}
		err := i.ops.alone(ctx, "compact", DoingCompaction, func(ctx context.Context) (err error) {
			made := false
			if why == compact.Manual {
				made, err = i.passes.usePrefetched(ctx, why)
			}
			if err == nil && !made {
				_, err = i.passes.compact(ctx, clew.CompactOptions{Reason: why})
			}
			return err
		})
		if err != nil && ctx.Err() == nil {
			i.journal.warnOnce(err)
		}
	}
}
