package agent

import (
	"context"
	"slices"
	"sync"

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
	journal *journal
	file    string
	off     bool            // the engine makes no passes by itself
	share   float64         // of the threshold, from which on one is made
	base    context.Context // ends when the agent is closed
	wg      *sync.WaitGroup

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

// start begins to make a summary where that is worth it. Nothing is under way.
func (h *prefetch) start() {
	s := h.journal.status.get()
	soft := int64(h.share * float64(s.Threshold))
	if h.off || h.file == "" || h.share < 0 || s.Tokens < soft || s.Threshold == 0 {
		return
	}
	engine, err := h.journal.s.Config(h.base)
	if err != nil || !costly(engine.Policy.Summarizer) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	// Again only after it has grown by a good part of what is left.
	if h.cancel != nil || h.ready != nil || s.Tokens < h.tried+max(1, (s.Threshold-soft)/2) && h.tried > 0 {
		return
	}
	h.tried = s.Tokens
	ctx, cancel := context.WithCancel(h.base)
	h.cancel = cancel
	engine.Hooks, engine.Cache = nil, ""
	h.wg.Go(func() {
		defer cancel()
		g, err := h.make(ctx, engine, s.Leaf)
		h.mu.Lock()
		if ctx.Err() == nil { // otherwise it was dropped
			h.cancel, h.ready = nil, g
			h.journal.status.change(func(s *State) { s.Prepared = g != nil })
		}
		h.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			h.journal.warnOnce(err)
		}
	})
}

// busy reports whether a summary is being made.
func (h *prefetch) busy() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cancel != nil
}

// costly reports whether a summarizer asks a model.
func costly(s summary.Summarizer) bool {
	c, ok := s.(summary.Costly)
	return ok && c.Costly()
}

// make makes the summary that a pass would make now; nil where it would make none.
func (h *prefetch) make(ctx context.Context, engine clew.Config, leaf string) (*prefetched, error) {
	f, err := jsonl.Open(ctx, h.file, jsonl.Options{ReadOnly: true})
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

// take returns the summary that lies ready, nil for none, and forgets it; what is
// being made is stopped.
func (h *prefetch) take() *prefetched {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cancel != nil {
		h.cancel()
	}
	g := h.ready
	h.cancel, h.ready, h.tried = nil, nil, 0
	h.journal.status.change(func(s *State) { s.Prepared = false })
	return g
}

// drop forgets the prefetched summary.
func (h *prefetch) drop(ctx context.Context) {
	if g := h.take(); g != nil {
		h.journal.spent(ctx, "summary", session.Model{}, g.Usage)
	}
}

// stillBegins reports whether the path goes on from where a summary was made, and
// nothing since has changed what it was made of.
func (g *prefetched) stillBegins(ctx context.Context, s *clew.Session) (bool, error) {
	path, err := session.ContextPath(ctx, s.Log().Store(), s.Leaf())
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
