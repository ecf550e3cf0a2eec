package main

import (
	"context"
	"strings"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
)

// planning is a session as plans are made of it. It writes nothing.
type planning struct {
	*compact.Snapshot        // with results of the calls that were interrupted
	leaf              string // where the session stands
	counter           counterFlag
	windowFrom        string          // for reports, where the window was not given
	closing           []session.Draft // those results
}

// newPlanning takes the snapshot of a session at its newest entry.
func newPlanning(ctx context.Context, s session.Store, policy modelPolicy, counter counterFlag) (*planning, error) {
	p := &planning{counter: counter}
	last, err := s.Last(ctx)
	if err != nil {
		return nil, err
	}
	if last != nil {
		p.leaf = last.ID
	}
	p.Snapshot, err = compact.Load(ctx, s, p.leaf, &compact.Setup{Counter: counter.of, Policy: func(m session.Model) compact.Policy {
		of, from := policy.of(m)
		p.windowFrom = windowKnown(from, m)
		if learnt := gatewayWindow(last); learnt > 0 && from != clew.WindowSet {
			of.Window, p.windowFrom = learnt, " (that the gateway kept to)"
		}
		return of
	}})
	if err != nil {
		return nil, err
	}
	p.closing = compact.Interrupted(p.Context.Items, time.Now())
	p.Snapshot = p.Preview(p.closing...)
	return p, nil
}

// make computes a plan. Where calls were interrupted, it is one to be looked at
// and not one to be applied.
func (p *planning) make(ctx context.Context, reason compact.Reason) (*compact.Plan, error) {
	return compact.Make(ctx, p.Snapshot, compact.Request{Reason: reason})
}

// modelName is the model as provider/id, "" where it is not known.
func (p *planning) modelName() string { return strings.Trim(p.Model.Provider+"/"+p.Model.ID, "/") }
