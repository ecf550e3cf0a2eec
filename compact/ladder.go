package compact

import (
	"context"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// climb walks the ladder until the context is within its target, and puts what
// is to be done into the plan.
func (p *planner) climb(ctx context.Context, plan *Plan) error {
	w := p.newWork()
	tail := tailStart(w.units(), p.tail(w))
	start := w.total
	for _, rung := range []struct {
		name string
		do   func(*work, int, int64)
	}{{rungOffload, p.offload}, {rungElide, p.elide}} {
		before := w.total
		rung.do(w, tail, p.target())
		if freed := before - w.total; freed > 0 {
			plan.Rungs = append(plan.Rungs, Rung{Name: rung.name, Freed: freed, Entries: w.count(rung.name)})
		}
		if w.total < start && w.total <= p.target() {
			return p.conclude(plan, w, nil)
		}
	}
	return p.summarize(ctx, plan, w)
}

// target is what an estimate is to come to: the target, or less where that would
// not surely be within the limit.
func (p *planner) target() int64 { return min(p.budget.Target, p.hard()) }

// tail is the budget of the part that is kept as it is.
func (p *planner) tail(w *work) int64 {
	if p.policy.Keep.IsSet() {
		return p.budget.Keep
	}
	return max(p.target()-w.fixed-p.budget.Summary/2, 0)
}

// tailStart returns the item at which the newest units begin that fit budget.
func tailStart(units []Unit, budget int64) int {
	sum := int64(0)
	for k := len(units) - 1; k >= 0; k-- {
		if sum += units[k].Tokens; sum > budget {
			return units[k].To
		}
	}
	return 0
}

// count returns how many messages a rung has changed.
func (w *work) count(rung string) int {
	n := 0
	for _, r := range w.rung {
		if r == rung {
			n++
		}
	}
	return n
}

// conclude writes what the draft of the context came to into the plan: the
// edits of what is kept, and the compaction if there is one.
func (p *planner) conclude(plan *Plan, w *work, best *attempt) error {
	at := 0
	if best != nil {
		at = best.cut.at
	} else {
		p.takeThinking(w, w.firstChange())
	}
	edits, excerpts, rungs := w.drafts(at)
	plan.drafts, plan.edits = edits, rungs
	if best != nil {
		plan.Cut, plan.Summary = best.cut, best.out
		plan.ReadFiles, plan.ModifiedFiles = fileLists(best.facts)
		plan.drafts = append(plan.drafts, best.draft)
	}
	plan.drafts = append(plan.drafts, excerpts...)
	after := session.Project(session.Preview(p.in.Path, plan.drafts...))
	plan.After = p.after(after)
	if plan.After.Guarded() > p.budget.Limit {
		return p.fixedPart(plan.After)
	}
	if plan.After.Tokens >= plan.Before.Tokens {
		if plan.Before.Guarded() > p.budget.Limit {
			return p.fixedPart(plan.After)
		}
		plan.nothing("there is nothing to compact: what a summary would free it would take itself")
		return nil
	}
	return p.valid(after)
}

// takeThinking takes signed reasoning out of what is kept: it may be bound to
// the messages before it, which change. The answers of an open tool loop keep
// theirs, because the provider wants them back complete.
func (p *planner) takeThinking(w *work, at int) {
	open := len(w.items)
	for open > at && !w.items[open-1].Message.StartsTurn() {
		open--
	}
	if n := len(w.items); n > 0 && w.items[n-1].Message.Role != message.RoleToolResult {
		open = n // no loop is open
	}
	for i := at; i < open; i++ {
		m := w.now[i]
		if m.Role != message.RoleAssistant || !editable(w.items[i]) {
			continue
		}
		kept := withoutThinking(m.Content, true)
		if len(kept) < len(m.Content) && len(kept) > 0 {
			rung := w.rung[i]
			if rung == "" {
				rung = rungThinking
			}
			w.set(i, m.WithContent(kept), rung)
		}
	}
}

// firstChange returns the first item that a rung changed.
func (w *work) firstChange() int {
	for i, r := range w.rung {
		if r != "" {
			return i
		}
	}
	return len(w.items)
}

func (p *planner) fixedPart(r token.Reading) error {
	system, tools, other := r.Categories[token.System], r.Categories[token.Tools], r.Categories[token.Unattributed]
	return &FixedPartError{
		Budget: p.budget, System: system, Tools: tools, Overhead: other,
		Floor: max(r.Guarded()-system-tools-other, 0),
	}
}
