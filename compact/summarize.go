package compact

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/clew-dev/clew/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/token"
)

// maxTighten bounds how often the tail is shortened to reach the target.
const maxTighten = 12

// summarize is the rung of that name, and the one after it, tighten: it cuts,
// summarizes what is before the cut, looks what the context would be, and
// shortens the tail until that is within the target.
func (p *planner) summarize(ctx context.Context, plan *Plan) error {
	units := Units(p.context.Items, p.in.Meter.Message)
	fixed := plan.Before.Fixed()
	tail := p.budget.Keep
	if tail == 0 {
		tail = max(p.budget.Target-fixed-p.budget.Summary/2, 0)
	}
	var best *attempt
	for range maxTighten {
		cut := findCut(p.context, units, tail)
		if cut.Summarized == 0 {
			break
		}
		a, err := p.try(ctx, cut, plan)
		if err != nil {
			return err
		}
		if best == nil || a.after.Tokens < best.after.Tokens {
			if best != nil {
				plan.Rungs = append(plan.Rungs[:1], Rung{"tighten", plan.After.Tokens - a.after.Tokens})
			} else {
				plan.Rungs = append(plan.Rungs, Rung{"summarize", plan.Before.Tokens - a.after.Tokens})
				plan.After = a.after
			}
			best = a
		}
		over := a.after.Guarded() - p.target()
		if over <= 0 || cut.Kept <= units[len(units)-1].To-units[len(units)-1].From {
			break
		}
		tail = max(min(tail, cut.Tokens)-over, 0)
	}
	return p.conclude(plan, best)
}

// target is what a pass is to reach: the target, which is never over the limit.
func (p *planner) target() int64 { return min(p.budget.Target, p.budget.Limit) }

// conclude puts the best attempt into the plan, or says why there is none.
func (p *planner) conclude(plan *Plan, best *attempt) error {
	over := plan.Before.Guarded() > p.budget.Limit
	if best == nil || best.after.Tokens >= plan.Before.Tokens {
		if over {
			return p.fixedPart(plan.Before)
		}
		plan.Act = false
		plan.Rungs = nil
		plan.After = plan.Before
		plan.Why = "there is nothing to compact: a summary would be no smaller than what it replaces"
		if best == nil {
			plan.Why = "there is nothing to compact: all there is belongs to the part that is kept"
		}
		return nil
	}
	if best.after.Guarded() > p.budget.Limit {
		return p.fixedPart(best.after)
	}
	plan.After, plan.Cut, plan.Summary = best.after, best.cut, best.out
	plan.drafts = []session.Draft{best.draft}
	return nil
}

func (p *planner) fixedPart(r token.Reading) error {
	system, tools := r.Categories[token.System], r.Categories[token.Tools]
	return &FixedPartError{Budget: p.budget, System: system, Tools: tools, Floor: r.Guarded() - system - tools}
}

// attempt is one cut with its summary and what comes of it.
type attempt struct {
	cut   *Cut
	out   *summary.Output
	draft session.Draft
	after token.Reading
}

func (p *planner) try(ctx context.Context, cut *Cut, plan *Plan) (*attempt, error) {
	items := p.context.Items
	in := summary.Input{
		Items:        items[cut.from:cut.turn],
		Prefix:       items[cut.turn:cut.at],
		Kept:         items[cut.at:],
		Cwd:          p.in.Cwd,
		Budget:       p.budget.Summary,
		QuoteBudget:  p.budget.Quotes,
		ClipLast:     true,
		Counter:      p.in.Meter,
		Template:     p.policy.Template,
		Instructions: p.policy.Instructions,
	}
	var previous session.Compaction
	if p.context.Compaction != nil {
		previous, _ = p.context.Compaction.Compaction()
		in.Previous, in.PreviousDetails = previous.Summary, previous.Details
	}
	facts := ledger.Read(items[cut.from:cut.at], ledger.Options{Cwd: p.in.Cwd, Previous: in.Previous, PreviousDetails: in.PreviousDetails})
	in.Ledger = facts
	s := p.policy.Summarizer
	if s == nil {
		s = summary.Deterministic{}
	}
	out, err := s.Summarize(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("summarize with %s: %w", s.Name(), err)
	}
	details, err := json.Marshal(newDetails(facts, &out))
	if err != nil {
		return nil, fmt.Errorf("store the facts of the summary: %w", err)
	}
	draft := session.NewCompaction(session.Compaction{
		Summary: out.Text, FirstKeptEntryID: cut.FirstKept,
		TokensBefore: plan.Before.Tokens, Details: details,
		SystemMessage: p.systemMessage(),
	})
	after := p.measure(session.Project(session.Preview(p.in.Path, draft)))
	return &attempt{cut, &out, draft, after}, nil
}

// systemMessage returns the prompt and tools in force, as one message, when
// the session has any.
func (p *planner) systemMessage() *message.Message {
	msgs := make([]*message.Message, 0, len(p.context.Items))
	for _, it := range p.context.Items {
		msgs = append(msgs, it.Message)
	}
	return token.ReplaySystem(msgs)
}
