package clew

import (
	"context"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/ledger"
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
	Ledger ledger.Ledger
}

// preparation works out the pass at a view.
func (s *Session) preparation(ctx context.Context, v *view, reason compact.Reason, policy compact.Policy) (*Preparation, error) {
	asked := &askedFor{}
	policy.Summarizer = asked
	p := &Preparation{}
	var err error
	if p.Plan, err = compact.Make(ctx, s.input(v, reason, ""), policy); err != nil {
		return nil, err
	}
	in := asked.last
	if p.Plan.Summary == nil || in == nil {
		return p, nil
	}
	p.History, p.TurnPrefix, p.Kept = copies(in.Items), copies(in.Prefix), copies(in.Kept)
	p.PreviousSummary, p.SummaryBudget = previousSummary(in), in.Budget
	if in.Ledger != nil {
		p.Ledger = *in.Ledger
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
