package main

import (
	"context"
	"strings"
	"time"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// planning is a session as plans are made of it. It writes nothing.
type planning struct {
	path       []*session.Entry // what the context needs of it, the drafts with it
	last       string           // id of the newest entry of the log, "" for none
	cwd        string
	model      session.Model
	counter    counterFlag
	meter      *token.Meter
	policy     compact.Policy
	windowFrom string          // for reports; "" where the window was given
	settle     []session.Draft // results of interrupted calls, which the path has already
}

// newPlanning looks at the session at its leaf.
func newPlanning(ctx context.Context, s session.Store, policy modelPolicy, counter counterFlag) (*planning, error) {
	p := &planning{counter: counter, cwd: s.Header().Cwd}
	last, err := s.Last(ctx)
	if err != nil {
		return nil, err
	}
	if last != nil {
		p.last = last.ID
	}
	if p.path, err = session.ContextPath(ctx, s, p.last); err != nil {
		return nil, err
	}
	p.settle = compact.Interrupted(session.Project(p.path).Items, time.Now())
	p.path = session.Preview(p.path, p.settle...)
	if p.model, err = session.ModelAt(ctx, s, p.last); err != nil {
		return nil, err
	}
	p.policy, p.windowFrom = policy.of(p.model)
	p.windowFrom = windowKnown(p.windowFrom, p.model)
	p.meter, _, err = p.counter.meter(p.model, p.policy.Window, p.path)
	return p, err
}

// make computes a plan. Where calls were interrupted, it is one to be looked at
// and not one to be applied.
func (p *planning) make(ctx context.Context, reason compact.Reason) (*compact.Plan, error) {
	return compact.Make(ctx, compact.Input{Path: p.path, Last: p.last, Meter: p.meter, Reason: reason, Cwd: p.cwd}, p.policy)
}

// modelName is the model as provider/id, "" where it is not known.
func (p *planning) modelName() string { return strings.Trim(p.model.Provider+"/"+p.model.ID, "/") }
