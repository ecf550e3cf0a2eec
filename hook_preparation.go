package clew

import (
	"context"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// Preparation is what a pass would do if no hook changed it: what one needs to write
// a summary of one's own.
type Preparation struct {
	// Plan has the deterministic summary.
	Plan *compact.Plan
	// History is what the summary is to be of, TurnPrefix the beginning of a turn
	// whose rest stays, Kept what stays. All are copies. Without a summary in the plan
	// they are empty.
	History, TurnPrefix, Kept []*message.Message
	// PreviousSummary is the text of the summary that the new one replaces.
	PreviousSummary string
	// SummaryBudget is the most that the summary may take, in tokens, the user's
	// quoted words included.
	SummaryBudget int64
	// Ledger has the facts of History and TurnPrefix.
	Ledger Ledger
}

// forecast is the pass as it would be without hooks.
type forecast struct {
	plan *compact.Plan
	in   *summary.Input // of its summary; nil for none
	err  error
}

// forecastPass works out the pass.
func (s *Session) forecastPass(ctx context.Context, in compact.Input, policy compact.Policy) *forecast {
	asked := &askedFor{}
	policy.Summarizer = asked
	f := &forecast{}
	if f.plan, f.err = compact.Make(ctx, in, policy); f.err == nil && f.plan.Summary != nil {
		f.in = asked.last
	}
	return f
}

// preparation returns it for a hook.
func (f *forecast) preparation() (*Preparation, error) {
	if f.err != nil {
		return nil, f.err
	}
	r := Result{Plan: f.plan}
	p := &Preparation{Plan: r.clone().Plan}
	if f.in == nil {
		return p, nil
	}
	p.History, p.TurnPrefix, p.Kept = copies(f.in.Items), copies(f.in.Prefix), copies(f.in.Kept)
	p.PreviousSummary, p.SummaryBudget = previousSummary(f.in), f.in.Budget
	if f.in.Ledger != nil {
		p.Ledger = *f.in.Ledger
	}
	return p, nil
}

func previousSummary(in *summary.Input) string {
	for _, it := range in.Items {
		if it.Entry.Type == session.TypeCompaction && it.Message.Role == message.RoleCompactionSummary {
			return it.Message.Summary
		}
	}
	return in.Previous
}

// askedFor is the deterministic summarizer, which remembers what it was asked last.
type askedFor struct {
	summary.Deterministic
	last *summary.Input
}

// Summarize implements summary.Summarizer.
func (a *askedFor) Summarize(ctx context.Context, in summary.Input) (summary.Output, error) {
	a.last = &in
	return a.Deterministic.Summarize(ctx, in)
}
