package compact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// attempt is one cut with its summary and what comes of it.
type attempt struct {
	cut       *Cut
	in        summary.Input
	out       *summary.Output
	draft     session.Draft
	total     int64 // estimate of the context it gives
	tightened int64 // what shortening the tail has freed since the first attempt
}

// try summarizes what is before a cut; tightened is that of the attempt before.
func (p *planner) try(ctx context.Context, cut *Cut, w *work, tightened int64) (*attempt, error) {
	items, facts := p.factsUntil(w, cut.at)
	pins := p.pinQuotes(items, cut.at)
	budget := p.budget.Summary
	for _, q := range pins {
		budget += p.Text(q.Text) + 16 // its heading
	}
	in := summary.Input{
		Items:  items[:cut.turn], // the previous summary is among them, and is merged
		Prefix: items[cut.turn:cut.at], Kept: items[cut.at:], Ledger: &facts, Cwd: p.snap.Cwd,
		Budget: budget, Pins: pins, QuoteBudget: p.budget.Quotes, ClipLast: true, Goal: p.policy.SummaryGoal,
		Tries:   p.policy.Tries,
		Counter: p, Template: p.policy.Template, Profile: p.policy.Strategy,
		Instructions: p.policy.Instructions, Cache: p.found,
	}
	asked := p.policy.Summarizer
	if costly(asked) {
		asked = summary.Deterministic{}
	}
	a, err := p.attempt(ctx, asked, in, cut, w)
	if err != nil {
		return nil, err
	}
	if costly(p.policy.Summarizer) { // room for what will be asked for
		a.total += max(in.Budget-a.out.Tokens, 0)
	}
	a.tightened = tightened
	return a, nil
}

func costly(s summary.Summarizer) bool {
	c, ok := s.(summary.Costly)
	return ok && c.Costly()
}

// attempt asks a summarizer and says what comes of it. Where it fails the deterministic one does it.
func (p *planner) attempt(ctx context.Context, s summary.Summarizer, in summary.Input, cut *Cut, w *work) (*attempt, error) {
	out, err := s.Summarize(ctx, in)
	if err == nil && strings.TrimSpace(out.Text) == "" {
		err = errors.New("the summary is empty")
	}
	if _, last := s.(summary.Deterministic); err != nil && !last && ctx.Err() == nil {
		// A summarizer that fails must not stop the conversation.
		why := fmt.Sprintf("%s: %v", s.Name(), err)
		if out, err = (summary.Deterministic{}).Summarize(ctx, in); err == nil {
			out.Rejected = append(out.Rejected, why)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("summarize with %s: %w", s.Name(), err)
	}
	return p.with(out, in, cut, w)
}

func (p *planner) with(out summary.Output, in summary.Input, cut *Cut, w *work) (*attempt, error) {
	details, err := json.Marshal(p.details(in.Ledger, &out))
	if err != nil {
		return nil, fmt.Errorf("store the facts of the summary: %w", err)
	}
	compaction := session.Compaction{
		Summary: out.Text, FirstKeptEntryID: cut.FirstKept,
		TokensBefore: p.snap.Reading.Tokens, Details: details,
		SystemMessage: message.ReplaySystem(p.snap.Messages), Usage: out.Usage, FromHook: out.FromHook,
	}
	a := &attempt{cut: cut, in: in, out: &out, draft: session.NewCompaction(compaction)}
	a.total = w.fixed + p.Message(&message.Message{Role: message.RoleCompactionSummary, Summary: out.Text, Details: details})
	a.total += w.cost(cut.at, len(w.parts))
	return a, nil
}

// factsUntil returns the messages as they are to be summarized, and the ledger of those before the cut. Attempts move
// the cut towards the end, so what was read for one is not read again.
func (p *planner) factsUntil(w *work, at int) ([]session.Item, ledger.Ledger) {
	if p.items == nil {
		p.items = p.restored(w.items)
	}
	if p.reader == nil || at < p.readTo {
		p.reader, p.readTo = ledger.NewReader(ledger.Options{Cwd: p.snap.Cwd}), 0
	}
	p.reader.Add(p.items[p.readTo:at])
	p.readTo = at
	return p.items, p.reader.Ledger()
}

// final asks a costly summarizer, now that the cut is settled: planned was with one that costs nothing, and with room
// for the whole budget. A summary that is larger is not taken.
func (p *planner) final(ctx context.Context, w *work, best *attempt) (*attempt, error) {
	s, in := p.policy.Summarizer, best.in
	if !costly(s) {
		return best, nil
	}
	a, err := p.attempt(ctx, s, in, best.cut, w)
	if err != nil {
		return nil, err
	}
	most := max(best.total, p.target())
	if in.Goal {
		most = max(best.total, p.hard())
	}
	if a.total > most {
		best.out.Usage = a.out.Usage
		best.out.Rejected = append(a.out.Rejected, fmt.Sprintf("the summary of %s takes %d tokens, and %d are for it", s.Name(), a.out.Tokens, in.Budget))
		if a, err = p.with(*best.out, in, best.cut, w); err != nil {
			return nil, err
		}
	}
	a.tightened = best.tightened
	return a, nil
}

// pinQuotes returns the pinned messages to quote word for word: those before the cut, and those quoted before.
func (p *planner) pinQuotes(items []session.Item, at int) []summary.Quote {
	var quotes []summary.Quote
	if p.snap.Context.Compaction != nil {
		view, _ := p.snap.Context.Compaction.Compaction()
		if d, ok := summary.Parse(view.Summary); ok {
			for _, q := range d.Pins {
				if q.Ref != "" && slices.ContainsFunc(p.pins, func(id string) bool { return strings.HasPrefix(id, q.Ref) }) {
					quotes = append(quotes, q)
				}
			}
		}
	}
	for _, it := range items[:at] {
		if !p.pinned[it.Entry.ID] {
			continue
		}
		role := string(it.Message.Role)
		if it.Message.UserWords() {
			role = ""
		}
		quotes = append(quotes, summary.Quote{Ref: it.Entry.ID, Role: role, Text: pinText(it.Entry)})
	}
	return quotes
}

const maxTighten = 12

// summarize cuts, summarizes what is before the cut, and tightens: it shortens the tail
// until the context is within the target. clip makes what is left smaller.
func (p *planner) summarize(ctx context.Context, plan *Plan, w *work) error {
	p.takeThinking(w, 0)
	best, err := p.tighten(ctx, w, p.tail(w))
	if err != nil {
		return err
	}
	if best == nil || best.total >= w.total { // what it would free the summary takes itself
		if p.clip(w, 0, len(w.items), p.hard(), classLast) {
			return p.nothingBefore(ctx, plan, w)
		}
		// Everything is within the tail, and small: the tail is longer than what fits beside a summary.
		if best, err = p.tighten(ctx, w, max(p.hard()-w.fixed-p.budget.Summary, 0)); err != nil {
			return err
		}
		if best == nil || best.total >= w.total {
			return p.nothingBefore(ctx, plan, w)
		}
	}
	if best.total > p.hard() {
		if best, err = p.clipKept(ctx, w, best); err != nil {
			return err
		}
	}
	return p.conclude(ctx, plan, w, best)
}

// tighten tries cuts with shorter and shorter tails until the context is within the target. It is nil where nothing stands
// before the cut.
func (p *planner) tighten(ctx context.Context, w *work, tail int64) (best *attempt, err error) {
	units := w.units() // with what was freed before
	for range maxTighten {
		cut := p.fill(w, units, findCut(p.snap.Context, units, tail), tail)
		if cut.Summarized == 0 {
			break
		}
		a, err := p.try(ctx, cut, w, 0)
		if err != nil {
			return nil, err
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
	return best, nil
}

// nothingBefore is what is done when all there is is in the newest unit.
func (p *planner) nothingBefore(ctx context.Context, plan *Plan, w *work) error {
	if w.changed() {
		return p.conclude(ctx, plan, w, nil)
	}
	if !p.budget.fits(p.reading) {
		return p.fixedPart(p.reading)
	}
	plan.nothing(nothingOld)
	return nil
}

// clipKept makes smaller what even the shortest tail leaves too large. What can't be made smaller goes before the cut.
func (p *planner) clipKept(ctx context.Context, w *work, best *attempt) (*attempt, error) {
	// In the draft everything still stands; what the attempt leaves out is not to be clipped away.
	if p.clip(w, best.cut.at, len(w.items), p.hard()+w.total-best.total, classLast) {
		return p.try(ctx, best.cut, w, best.tightened)
	}
	cut := newCut(p.snap.Context, len(w.items), p.Message, "the newest messages are too large to be kept and can't be shortened")
	cut.turn = turnStart(w.items, cut.from, len(w.items)-1)
	return p.try(ctx, cut, w, best.tightened)
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
