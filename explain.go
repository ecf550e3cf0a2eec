package clew

import (
	"context"
	"errors"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/token"
	"github.com/clew-dev/clew/wire"
)

// Explanation says what the context is made of and what Prepare would do now.
type Explanation struct {
	Leaf    string
	Model   session.Model // that the plan is for
	Reading token.Reading
	// Pending are calls that wait for their results; Prepare refuses meanwhile.
	Pending []wire.PendingCall
	// Plan is what Prepare would do and why; nil when Err says why it would fail.
	// No model is asked for it and no hook: its summary is the deterministic one.
	Plan *compact.Plan
	Err  error
	// Fates say what became of every entry of the path, oldest first.
	Fates []compact.Fate
}

// Explain says what would happen now and why, and what became of every entry. It
// changes nothing. Unlike Prepare it reads the whole path.
func (s *Session) Explain(ctx context.Context) (*Explanation, error) {
	const op = "explain"
	if err := s.begin(ctx, op); err != nil {
		return nil, err
	}
	defer s.end()
	v, err := s.look(ctx)
	if err != nil {
		return nil, failed(op, "", err)
	}
	path, err := session.Path(ctx, s.log.Store(), v.leaf)
	if err != nil {
		return nil, failed(op, "", err)
	}
	x := &Explanation{Leaf: v.leaf, Model: s.cfg.modelAt(v.model), Reading: v.sized.Reading, Fates: compact.Fates(path)}
	if calls := compact.Pending(v.context.Items); len(calls) > 0 {
		x.Err = pendingError(op, calls)
		var pending *PendingError
		if errors.As(x.Err, &pending) {
			x.Pending = pending.Calls
		}
		return x, nil
	}
	policy := v.policy
	policy.Summarizer = summary.Deterministic{}
	x.Plan, err = compact.Make(ctx, s.input(v, compact.Threshold, ""), policy)
	if err != nil && ctx.Err() != nil {
		return nil, failed(op, "", err)
	}
	x.Err = failed(op, "", err)
	return x, nil
}
