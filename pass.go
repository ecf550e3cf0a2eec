package clew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// conflictTries is how often a pass is planned when another program writes to the session
// meanwhile.
const conflictTries = 3

// check says whether a pass would be made. It does not compute the answer twice for the
// same snapshot.
func (s *Session) check(snap *compact.Snapshot, req compact.Request) (*compact.Plan, error) {
	req.Checked = s.checked
	plan, err := compact.Check(snap, req)
	if err == nil {
		c := *plan
		s.checked = &c
	}
	return plan, err
}

// pass makes a pass if the snapshot asks for one. A policy, if not nil, replaces that of
// the snapshot. pass returns the snapshot afterwards. On an error nothing was written.
func (s *Session) pass(ctx context.Context, snap *compact.Snapshot, info Event, policy *compact.Policy, dryRun bool) (*Result, *compact.Snapshot, error) {
	req := compact.Request{Reason: info.Reason, Policy: policy, Found: s.found}
	plan, err := s.check(snap, req)
	if err != nil {
		return nil, nil, err
	}
	r := &Result{Plan: plan}
	if why := s.cfg.declines(snap, plan); plan.Act && why != "" {
		req.OnlyThinking = true
		if !plan.OnlyThinking {
			if r.Plan, err = s.check(snap, req); err != nil {
				return nil, nil, err
			}
		}
		if !r.Plan.Act {
			r.Plan, plan.Act, plan.Why = plan, false, why
		}
	}
	if !r.Plan.Act {
		if plan.Breaker || info.Reason != compact.Threshold || plan.Why != r.Plan.Why {
			s.passDeclined(ctx, snap, info, r.Plan)
		}
		return r, snap, nil
	}
	s.attempts++
	if dryRun {
		defer func(n int) { s.attempts = n }(s.attempts - 1)
	}
	info.Attempt = s.attempts
	info = s.passEvent(EventPassStart, snap, info, r.Plan)
	ended := s.passBegun(ctx, snap, info)
	err = s.makePass(ctx, snap, r, info, req, dryRun)
	ended(r, err)
	if err != nil {
		var warnings []error
		info.Err = err
		s.tellFailed(ctx, info, &warnings)
		return nil, nil, errors.Join(append([]error{err}, warnings...)...)
	}
	snap, err = s.load(ctx)
	return r, snap, err
}

// passAgain makes a second pass where the first has left something to do: a hook has
// closed the open tool loop whose signed reasoning had to stay, or reported usage no
// longer counts and the estimate is over the limit.
func (s *Session) passAgain(ctx context.Context, snap *compact.Snapshot, r *Result) (*compact.Snapshot, error) {
	plan, err := s.check(snap, compact.Request{})
	if err != nil || !plan.Act {
		return snap, err
	}
	again, snap, err := s.pass(ctx, snap, Event{Reason: plan.Reason}, nil, false)
	if err != nil {
		return nil, err
	}
	r.Entries = append(r.Entries, again.Entries...)
	r.Warnings = append(r.Warnings, again.Warnings...)
	return snap, nil
}

// makePass makes the pass that r.Plan asks for.
func (s *Session) makePass(ctx context.Context, snap *compact.Snapshot, r *Result, info Event, req compact.Request, dryRun bool) error {
	checked := r.Plan
	policy := snap.Policy
	if req.Policy != nil {
		policy = *req.Policy
	}
	e := BeforeCompactEvent{Event: info, Reported: snap.LastUsage(), Instructions: policy.Instructions, snap: snap}
	if s.asks(func(h *Hooks) bool { return h.BeforeCompact != nil }) {
		// Hooks are not asked about a pass in which nothing can be done.
		if e.forecast = forecastPass(ctx, snap, req, policy); e.forecast.err == nil && !e.forecast.plan.Act {
			r.Plan = e.forecast.plan
			s.attempts--
			return nil
		}
	}
	d, edits := s.askCompact(ctx, e, policy, &r.Warnings)
	if d.Cancel {
		checked.Act, checked.Why = false, "a hook stopped it: "+cmp.Or(d.Why, "it did not say why")
		return nil
	}
	if !dryRun {
		if err := s.applyEdits(ctx, edits); err != nil {
			return err
		}
	}
	policy = d.on(s.named(ctx, policy))
	if d.Summary != "" {
		policy.Summarizer = &suppliedSummary{SuppliedSummary: SuppliedSummary{Text: d.Summary, By: "hook"}, own: policy.Summarizer, warnings: &r.Warnings}
	}
	req.Policy, req.Checked = &policy, s.checked
	for try := 1; ; try++ {
		snap, err := s.load(ctx)
		if err != nil {
			return err
		}
		if r.Plan, err = compact.Make(s.inside(ctx), snap, req); err != nil {
			return err
		}
		if sum := r.Plan.Summary; sum != nil {
			for _, why := range sum.Rejected {
				s.warnings = append(s.warnings, fmt.Errorf("summarize: %s", why))
			}
		}
		if !r.Plan.Act || dryRun {
			return nil
		}
		entries, err := compact.Apply(ctx, s.log, r.Plan)
		if errors.Is(err, session.ErrConflict) && try < conflictTries {
			if _, err := s.log.Store().Refresh(ctx); err != nil {
				return err
			}
			s.snap = nil
			continue
		}
		if err != nil {
			return err
		}
		r.Entries = ids(entries)
		s.dirty, s.snap, s.attempts = false, snap.With(entries...), 0
		info.After, info.Usage = r.Plan.After, usageOf(entries)
		return s.tellAfter(ctx, info, r)
	}
}

// usageOf is what the entries of a pass say that it cost, nil for nothing.
func usageOf(entries []*session.Entry) *message.Usage {
	for _, e := range entries {
		if u := e.UsageReport(); u != nil {
			return u
		}
	}
	return nil
}

// declines says why a pass that the snapshot asks for is not made, "" where it is. What does
// not fit is brought into the limit all the same, unless Config.NoAuto forbids it; and
// reasoning that can't be sent any more is taken out whatever the settings say.
func (c *Config) declines(s *compact.Snapshot, plan *compact.Plan) string {
	if !plan.Act || plan.Reason == compact.Manual {
		return ""
	}
	if c.NoAuto && plan.Reason == compact.Threshold {
		return "compaction by itself is switched off: " + plan.Why
	}
	if c.MaxPasses <= 0 || plan.Before.Guarded() > plan.Budget.Limit {
		return ""
	}
	if n := passes(s); n >= c.MaxPasses {
		return fmt.Sprintf("%d passes were made for the user's last message, and no more are allowed as long as the context fits", n)
	}
	return ""
}

// passes counts the passes since the user's last message that were to make room.
func passes(s *compact.Snapshot) int {
	n := 0
	for _, e := range slices.Backward(s.Path) {
		if _, ok := e.Pass(); ok && !compact.ThinkingPass(e) {
			n++
		}
		if m, err := e.Message(); err == nil && m.UserWords() {
			break
		}
	}
	return n
}

// suppliedSummary is a summarizer whose text a hook or the caller has written. The engine
// adds what it vouches for itself: the user's words, pins, files.
type suppliedSummary struct {
	SuppliedSummary
	own      summary.Summarizer // for a text that can't be taken
	warnings *[]error
}

// SuppliedSummary is a summary that was made outside a pass: by a person, or before the
// pass was needed.
type SuppliedSummary struct {
	// Text is in the form of a template, or free. The user's quoted words, pins and files
	// are added to it, in the place of those that it has.
	Text string
	// By says who made it. Default: "given".
	By string
	// Usage is what it cost, nil for nothing.
	Usage *message.Usage
}

// Name implements summary.Summarizer.
func (g *suppliedSummary) Name() string { return cmp.Or(g.By, "given") }

// Summarize implements summary.Summarizer.
func (g *suppliedSummary) Summarize(ctx context.Context, in summary.Input) (summary.Output, error) {
	d, ok := summary.Parse(g.Text)
	if !ok {
		d = summary.Document{Earlier: g.Text}
	}
	facts, err := summary.Deterministic{}.Summarize(ctx, in)
	if err != nil {
		return facts, err
	}
	d.Quotes, d.Pins, d.Note = facts.Document.Quotes, facts.Document.Pins, facts.Document.Note
	d.Files = facts.Document.Files
	out := summary.Output{
		Document: d, Text: cmp.Or(in.Template, summary.Structured).Render(d),
		Coverage: facts.Coverage, Summarizer: g.Name(), Usage: g.Usage,
	}
	if out.Tokens = in.Counter.Text(out.Text); out.Tokens <= in.Budget {
		return out, nil
	}
	*g.warnings = append(*g.warnings, fmt.Errorf(
		"the summary of %s takes %d tokens with the user's words, and %d are for it: it was not taken", g.Name(), out.Tokens, in.Budget))
	if g.own != nil {
		return g.own.Summarize(ctx, in)
	}
	return facts, nil
}

// Preparation is what a pass would do if no hook changed it: all that a hook needs to write
// a summary of its own.
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
func forecastPass(ctx context.Context, snap *compact.Snapshot, req compact.Request, policy compact.Policy) *forecast {
	asked := &askedFor{}
	policy.Summarizer = asked
	req.Policy = &policy
	f := &forecast{}
	if f.plan, f.err = compact.Make(ctx, snap, req); f.err == nil && f.plan.Summary != nil {
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
