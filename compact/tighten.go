package compact

import (
	"context"
	"slices"
)

// maxTighten bounds how often the tail is shortened to reach the target.
const maxTighten = 12

// summarize is the stage of that name, and the two after it: it cuts, summarizes
// what is before the cut, and computes what the context would be. Tighten shortens
// the tail until that is within the target; clip makes what is left smaller.
func (p *planner) summarize(ctx context.Context, plan *Plan, w *work) error {
	p.takeThinking(w, 0)
	units := w.units() // with what offload and elide have freed
	tail := p.tail(w)
	var best *attempt
	for range maxTighten {
		cut := p.fill(w, units, findCut(p.snap.Context, units, tail), tail)
		if cut.Summarized == 0 {
			break
		}
		a, err := p.try(ctx, cut, w)
		if err != nil {
			return err
		}
		if best != nil {
			a.tightened = best.tightened + best.total - a.total
		}
		best = a
		over := a.total - p.target()
		if over <= 0 || cut.at >= units[len(units)-1].From {
			break
		}
		tail = max(min(tail, cut.Tokens)-over, 0)
	}
	if best == nil || best.total >= w.total { // what it would free the summary takes itself
		return p.nothingBefore(ctx, plan, w)
	}
	if best.total > p.hard() {
		if err := p.clipKept(ctx, w, &best); err != nil {
			return err
		}
	}
	return p.conclude(ctx, plan, w, best)
}

// nothingBefore is what is done when there is nothing to summarize: all there is
// is in the newest unit.
func (p *planner) nothingBefore(ctx context.Context, plan *Plan, w *work) error {
	if w.total > p.hard() {
		p.clip(w, 0, len(w.items), p.hard(), classLast)
	}
	if w.changed() {
		return p.conclude(ctx, plan, w, nil)
	}
	if !p.budget.fits(p.reading) {
		return p.fixedPart(p.reading)
	}
	plan.nothing(nothingOld)
	return nil
}

// clipKept makes what is kept smaller, when it is too large even with the
// shortest tail. What can't be made smaller goes before the cut.
func (p *planner) clipKept(ctx context.Context, w *work, best **attempt) error {
	a := *best
	// In the draft everything still stands; what the attempt leaves out is not
	// to be clipped away.
	if p.clip(w, a.cut.at, len(w.items), p.hard()+w.total-a.total, classLast) {
		return p.retry(ctx, a.cut, w, best)
	}
	cut := newCut(p.snap.Context, len(w.items), p.cost, "the newest messages are too large to be kept and can't be shortened")
	cut.splitAt(p.snap.Context, turnStart(w.items, cut.from, len(w.items)-1))
	cut.SplitTurn, cut.TurnStart = false, ""
	return p.retry(ctx, cut, w, best)
}

// retry makes the best attempt anew, for what was changed since or another cut.
func (p *planner) retry(ctx context.Context, cut *Cut, w *work, best **attempt) error {
	again, err := p.try(ctx, cut, w)
	if err != nil {
		return err
	}
	again.tightened = (*best).tightened
	*best = again
	return nil
}

// fill uses what a cut leaves of the tail's budget, where that is much: the next
// unit, too large to be kept as it is, is kept with the middle taken out of it.
func (p *planner) fill(w *work, units []unit, cut *Cut, tail int64) *Cut {
	k := 0
	for k < len(units) && units[k].From < cut.at {
		k++
	}
	room := tail - cut.Tokens
	if k == 0 || cut.Tokens*10 >= tail*6 || units[k-1].From < cut.from || room < 4*floorClip {
		return cut
	}
	u := units[k-1]
	parts, total := slices.Clone(w.parts[u.From:u.To]), w.total
	if !p.clip(w, u.From, u.To, w.total-u.Tokens+room, classOther) {
		copy(w.parts[u.From:u.To], parts)
		w.total = total
		return cut
	}
	units[k-1].Tokens = w.cost(u.From, u.To)
	return findCut(p.snap.Context, units, tail)
}
