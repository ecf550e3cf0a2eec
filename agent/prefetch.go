package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/summary"
)

// prefetch makes the summary of the next pass before it is due, where a model makes it:
// nobody has to wait for it then. It works on a copy of its own, opened for reading,
// so that nothing else waits for it either.
type prefetch struct {
	mu     sync.Mutex
	cancel context.CancelFunc // of what is being made
	ready  *prefetched
	tried  int64 // the size of the context when one was made last, or could not be
}

// prefetched is a summary that is ready.
type prefetched struct {
	clew.SuppliedSummary
	firstKept string
	seen      string // the leaf that it was made at
}

// startPrefetch begins to make a summary where that is worth it. The lock is held, and
// nothing is under way.
func (a *Agent) startPrefetch() {
	s := a.State()
	soft := int64(a.cfg.Background * float64(s.Threshold))
	if a.engine.NoAuto || a.cfg.File == "" || a.cfg.Background < 0 || !costly(a.engine.Policy.Summarizer) || s.Tokens < soft || s.Threshold == 0 {
		return
	}
	a.prefetch.mu.Lock()
	defer a.prefetch.mu.Unlock()
	// Again only after it has grown by a good part of what is left.
	if a.prefetch.cancel != nil || a.prefetch.ready != nil || s.Tokens < a.prefetch.tried+max(1, (s.Threshold-soft)/2) && a.prefetch.tried > 0 {
		return
	}
	a.prefetch.tried = s.Tokens
	ctx, cancel := context.WithCancel(a.base)
	a.prefetch.cancel = cancel
	engine, err := a.s.Config(ctx)
	if err != nil {
		cancel()
		a.prefetch.cancel = nil
		return
	}
	engine.Hooks, engine.Cache = nil, ""
	a.wg.Go(func() {
		defer cancel()
		g, err := a.makePrefetched(ctx, engine, s.Leaf)
		a.prefetch.mu.Lock()
		if ctx.Err() == nil { // otherwise it was dropped
			a.prefetch.cancel, a.prefetch.ready = nil, g
			a.status.change(func(s *State) { s.Prepared = g != nil })
		}
		a.prefetch.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			a.journal.warnOnce(err)
		}
	})
}

// costly reports whether a summarizer asks a model.
func costly(s summary.Summarizer) bool {
	c, ok := s.(summary.Costly)
	return ok && c.Costly()
}

// makePrefetched makes the summary that a pass would make now; nil where it would make none.
func (a *Agent) makePrefetched(ctx context.Context, engine clew.Config, leaf string) (*prefetched, error) {
	f, err := jsonl.Open(ctx, a.cfg.File, jsonl.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	copied, err := clew.OpenFile(ctx, f, engine)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	defer func() { _ = copied.Close() }() // it was only read
	if copied.Leaf() != leaf {
		return nil, nil // it has grown meanwhile; there will be another time
	}
	res, err := copied.Compact(ctx, clew.CompactOptions{Reason: compact.Manual, DryRun: true})
	if err != nil || !res.Plan.Act || res.Plan.Summary == nil || res.Plan.Cut == nil {
		return nil, err
	}
	sum := res.Plan.Summary
	return &prefetched{clew.SuppliedSummary{Text: sum.Text, By: sum.Summarizer, Usage: sum.Usage}, res.Plan.Cut.FirstKept, leaf}, nil
}

// takePrefetched returns the summary that lies ready, nil for none, and forgets it; what is
// being made is stopped.
func (a *Agent) takePrefetched() *prefetched {
	h := &a.prefetch
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cancel != nil {
		h.cancel()
	}
	g := h.ready
	h.cancel, h.ready, h.tried = nil, nil, 0
	a.status.change(func(s *State) { s.Prepared = false })
	return g
}

// dropPrefetched forgets the prefetched summary.
func (a *Agent) dropPrefetched(ctx context.Context) {
	if g := a.takePrefetched(); g != nil {
		a.journal.spent(ctx, "summary", session.Model{}, g.Usage)
	}
}

// usePrefetched makes a pass with the summary that lies ready, if what it was made of is still
// how the conversation begins. It reports whether the pass was made.
func (a *Agent) usePrefetched(ctx context.Context, why compact.Reason) (bool, error) {
	g := a.takePrefetched()
	if g == nil {
		return false, nil
	}
	made := false
	still, err := a.stillBegins(ctx, g)
	if err == nil && still {
		var res *clew.Result
		res, err = a.compactNow(ctx, clew.CompactOptions{Reason: why, Summary: &g.SuppliedSummary, FirstKept: g.firstKept})
		made = err == nil && len(res.Entries) > 0
	}
	if !made {
		a.journal.spent(ctx, "summary", session.Model{}, g.Usage)
	}
	return made, err
}

// stillBegins reports whether the path goes on from where a summary was made, and
// nothing since has changed what it was made of.
func (a *Agent) stillBegins(ctx context.Context, g *prefetched) (bool, error) {
	path, err := session.ContextPath(ctx, a.s.Log().Store(), a.s.Leaf())
	if err != nil {
		return false, err
	}
	for _, e := range slices.Backward(path) {
		if e.ID == g.seen {
			return true, nil
		}
		switch e.Type {
		case session.TypeCompaction, session.TypeContextEdit:
			return false, nil
		default:
		}
	}
	return false, nil
}

// watchIdle compacts a context over the soft threshold when nothing has happened for a
// while.
func (a *Agent) watchIdle() {
	if a.cfg.Idle <= 0 || a.engine.NoAuto {
		return
	}
	share := a.cfg.Background
	if share < 0 { // prefetching is off; compacting when idle is not
		share = DefaultBackground
	}
	a.wg.Go(func() {
		for a.cfg.Sleep(a.base, max(a.cfg.Idle/4, time.Second)) == nil {
			a.mu.Lock()
			idle := a.op == nil && !a.closed && !a.idleSince.IsZero() && a.cfg.Clock().Sub(a.idleSince) >= a.cfg.Idle
			a.mu.Unlock()
			if s := a.State(); idle && s.Threshold > 0 && float64(s.Tokens) >= share*float64(s.Threshold) {
				a.idleCompact()
			}
		}
	})
}

// idleCompact makes a pass while nobody waits for it. It is made once for each time that
// the agent falls idle.
func (a *Agent) idleCompact() {
	a.mu.Lock()
	a.idleSince = time.Time{}
	a.mu.Unlock()
	err := a.alone(a.base, "compact", DoingCompaction, func(ctx context.Context) error {
		made, err := a.usePrefetched(ctx, compact.Manual)
		if err == nil && !made {
			_, err = a.compactNow(ctx, clew.CompactOptions{Reason: compact.Manual})
		}
		return err
	})
	if err != nil && a.base.Err() == nil {
		a.journal.warnOnce(err)
	}
}
