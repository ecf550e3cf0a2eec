package summary

import (
	"context"
	"errors"
	"fmt"
)

// Deterministic is a Summarizer without a language model. Every sentence, path,
// command and value in its documents is taken from the log; its own words are
// headings and a few connectives. The same input gives the same document.
//
// The document costs at most Input.Budget. Only the last message of the user and
// pins are never cut: when they alone cost more, Coverage.OverBudget says by how
// much, and the rest of the document gets a quarter of the budget.
type Deterministic struct{}

// Name implements Summarizer.
func (Deterministic) Name() string { return "deterministic" }

// ErrNoCounter is returned when Input.Counter is missing.
var ErrNoCounter = errors.New("summarize: Input.Counter is nil: without a counter a budget means nothing")

// Summarize implements Summarizer. It fails only for a missing counter, a budget
// below 1, or when ctx is done.
func (s Deterministic) Summarize(ctx context.Context, in Input) (Output, error) {
	if in.Counter == nil {
		return Output{}, ErrNoCounter
	}
	if in.Budget < 1 {
		return Output{}, fmt.Errorf("summarize: the budget is %d tokens: at least 1 is needed", in.Budget)
	}
	if err := ctx.Err(); err != nil {
		return Output{}, err
	}
	cache := in.Cache
	if cache == nil {
		cache = NewCache()
	}
	cache.mu.Lock()
	defer cache.mu.Unlock()
	cache.begin()
	defer cache.trim()
	p, err := newPlanner(ctx, &in, cache)
	if err != nil {
		return Output{}, err
	}
	out := p.fitWords()
	out.Summarizer = s.Name()
	return out, nil
}
