package compact

import (
	"context"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// climb walks the whole ladder until the context is within its target, and puts what
// is to be done into the plan.
func (p *planner) climb(ctx context.Context, plan *Plan, w *work) error {
	tail := tailStart(w.units(), p.tail(w))
	start := w.total
	for _, rung := range []func(*work, int, int64){p.offload, p.elide} {
		rung(w, tail, p.target())
		if w.total < start && w.total <= p.target() {
			return p.conclude(ctx, plan, w, nil)
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

// conclude writes what the draft of the context came to into the plan: the
// edits of what is kept, and the compaction if there is one.
func (p *planner) conclude(ctx context.Context, plan *Plan, w *work, best *attempt) error {
	at := 0
	if best != nil {
		var err error
		if best, err = p.final(ctx, w, best); err != nil {
			return err
		}
		at = best.cut.at
	} else {
		at := w.firstChange()
		if loose := p.loose(); len(loose) > 0 {
			at = min(at, loose[0])
		}
		p.takeThinking(w, at)
	}
	edits, excerpts, rungs := w.drafts(at)
	plan.drafts, plan.edits = edits, rungs
	if best != nil {
		plan.Cut, plan.Summary = p.told(w, best.cut), best.out
		plan.ReadFiles, plan.ModifiedFiles = p.fileLists(best.facts)
		plan.drafts = append(plan.drafts, best.draft)
	}
	plan.drafts = append(plan.drafts, excerpts...)
	after := session.Project(session.Preview(p.in.Path, plan.drafts...))
	plan.After = p.after(after)
	if !p.fits(plan.After) {
		return p.fixedPart(plan.After)
	}
	if plan.After.Tokens >= plan.Before.Tokens && p.byteRate == 0 {
		if !p.fits(plan.Before) {
			return p.fixedPart(plan.After)
		}
		plan.nothing("what a summary would free it would take itself")
		return nil
	}
	plan.Rungs = w.rungs(at, best, plan.Before.Tokens-plan.After.Tokens)
	return p.valid(after)
}

// rungs says what each rung has freed: the edits of what is kept, from item at
// on, each its own; the compaction the rest.
func (w *work) rungs(at int, best *attempt, freed int64) []Rung {
	by := map[string]*Rung{}
	for i := at; i < len(w.items); i++ {
		if w.rung[i] == "" {
			continue
		}
		r := by[w.rung[i]]
		if r == nil {
			r = &Rung{Name: w.rung[i]}
			by[w.rung[i]] = r
		}
		r.Entries++
		r.Freed += w.freed(i)
		freed -= w.freed(i)
	}
	if best != nil {
		by[rungSummarize] = &Rung{Name: rungSummarize, Freed: freed - best.tightened, Entries: best.cut.Summarized}
		if best.tightened > 0 {
			by[rungTighten] = &Rung{Name: rungTighten, Freed: best.tightened}
		}
	}
	var out []Rung
	for _, name := range []string{RungOffload, rungElide, rungSummarize, rungTighten, rungThinking, rungStrip, rungClip} {
		if r := by[name]; r != nil {
			out = append(out, *r)
		}
	}
	return out
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
	pins := int64(0)
	for _, it := range p.context.Items {
		if p.pinned[it.Entry.ID] {
			pins += p.tokens(it.Message)
		}
	}
	bytes := int64(0)
	if r.Guarded() <= p.budget.Limit {
		bytes = r.Bytes
	}
	return &FixedPartError{
		Budget: p.budget, Bytes: bytes, System: system, Tools: tools, Overhead: other, Pins: pins,
		Floor: max(r.Guarded()-system-tools-other-pins, 0),
	}
}
