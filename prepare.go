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
	"github.com/clew-dev/clew/token"
	"github.com/clew-dev/clew/wire"
)

// Result says what a pass did, or why there was none.
type Result struct {
	// Plan says what was done and why. Where Plan.Act is false nothing was, and
	// Plan.Why says why not.
	Plan *compact.Plan
	// Entries are the ids of what was written, in order; none after a dry run.
	Entries []string
	// Warnings are what went wrong beside the point, since the Result before: a
	// *HookError, a summary of a hook that was too large, output that could not be
	// kept beside the log.
	Warnings []error
}

// clone returns a copy that shares nothing that can be changed.
func (r *Result) clone() Result {
	c := Result{Entries: slices.Clone(r.Entries), Warnings: slices.Clone(r.Warnings)}
	if r.Plan != nil {
		plan := *r.Plan
		plan.Clamps, plan.Rungs = slices.Clone(plan.Clamps), slices.Clone(plan.Rungs)
		plan.ReadFiles, plan.ModifiedFiles = slices.Clone(plan.ReadFiles), slices.Clone(plan.ModifiedFiles)
		if plan.Cut != nil {
			cut := *plan.Cut
			plan.Cut = &cut
		}
		if plan.Summary != nil {
			sum := *plan.Summary
			sum.Document = summary.Document{} // the text says the same
			plan.Summary = &sum
		}
		c.Plan = &plan
	}
	return c
}

// Prepared is a context that is ready to be sent.
type Prepared struct {
	// Messages are the context before it is rendered for a provider; the first is
	// a system message of Config.System and Config.Tools, where there are any. The slice
	// is the caller's; the messages are those of the log and must not be changed.
	Messages []*message.Message
	// MaxOutput is how long the answer may be, in tokens: what the model can do and the
	// window has room for.
	MaxOutput int64
	// Reading is what the context costs.
	Reading token.Reading
	// Leaf is the entry it belongs to.
	Leaf string
	// Result says what was done to make it fit, or why nothing was.
	Result

	target wire.Target
}

// Render makes the messages what a provider's API takes, and checks them: see
// wire.Build. Reasoning goes back to the model that it came from.
func (p *Prepared) Render(profile wire.Profile) (*wire.Request, []wire.Note, error) {
	return wire.Build(p.Messages, profile, p.target, wire.Options{})
}

// Prepare returns the context to send next. Where it has outgrown its limit, a
// pass is made first; else nothing is written and the cost hardly depends on the
// size of the context. It does not change what was said: only how it is shown.
//
// The errors: *PendingError while a call waits for its result, *FixedPartError
// when what can't be taken out is too large, what a summarizer or the store
// returns. Nothing was changed then. That there was nothing to do, or that a
// hook or the breaker stopped the pass, is no error: see Result.
func (s *Session) Prepare(ctx context.Context) (*Prepared, error) {
	const op = "prepare"
	if err := s.begin(ctx, op); err != nil {
		return nil, err
	}
	defer s.end()
	if err := s.sync(ctx); err != nil { // before the request leaves
		return nil, failed(op, "", err)
	}
	v, err := s.look(ctx)
	if err != nil {
		return nil, failed(op, "", err)
	}
	if calls := compact.Pending(v.context.Items); len(calls) > 0 {
		return nil, pendingError(op, calls)
	}
	if err := s.editContext(ctx); err != nil {
		return nil, failed(op, "", err)
	}
	if v, err = s.look(ctx); err != nil {
		return nil, failed(op, "", err)
	}
	r, err := s.pass(ctx, Event{Reason: compact.Threshold}, v.policy, false)
	if err == nil && len(r.Entries) > 0 {
		err = s.passAgain(ctx, r)
	}
	if err != nil {
		return nil, failed(op, "", err)
	}
	if v, err = s.look(ctx); err != nil {
		return nil, failed(op, "", err)
	}
	s.provideFiles(ctx, v)
	s.lookAhead(v)
	used := s.cfg.modelAt(v.model)
	s.checkModel(used)
	r.Warnings = append(r.Warnings, s.takeWarnings()...)
	return &Prepared{
		Messages: s.cfg.withPrompt(v.msgs), Reading: v.sized.Reading, Leaf: v.leaf, Result: *r,
		MaxOutput: s.cfg.outputRoom(used, r.Plan.Budget.Window-v.sized.Reading.Guarded()),
		target:    wire.Target{Provider: used.Provider, Model: used.ID, TakesImages: s.cfg.TakesImages},
	}, nil
}

// CompactOptions changes one Compact. The zero value does what the policy says.
type CompactOptions struct {
	// Instructions are what the summary is to pay attention to. Default: the
	// policy's.
	Instructions string
	// Keep is the tail that stays as it is. Default: the policy's. With it, Compact
	// goes below the policy's target.
	Keep compact.Amount
	// Summary, if not nil, is taken where the pass comes to one, and no summarizer is
	// asked. One that is larger than a summary may be is not taken, and a warning says so.
	Summary *GivenSummary
	// FirstKept is the entry with which the kept part is to begin: that which the
	// summary was made for. Default: the policy decides.
	FirstKept string
	// Reason is what asks for the pass. Default: compact.Manual.
	Reason compact.Reason
	// WillRetry says that a request which failed is to be sent again after the pass:
	// after compact.Overflow, say. It is for the hooks to know.
	WillRetry bool
	// DryRun plans, hooks and summarizer included, and writes nothing.
	DryRun bool
}

// Compact makes a pass now, even below the threshold. Where there is nothing to
// take out it does nothing, and Result.Plan says so. The errors are those of
// Prepare.
func (s *Session) Compact(ctx context.Context, opt CompactOptions) (*Result, error) {
	const op = "compact"
	if opt.Keep.IsSet() && opt.Keep.Of(compact.DefaultWindow) < 0 {
		return nil, &Error{Op: op, Err: fmt.Errorf("the tail to keep is %s, and nothing is shorter than no tail", opt.Keep), Hint: "give tokens, or a share of the window, of at least 0"}
	}
	if err := s.begin(ctx, op); err != nil {
		return nil, err
	}
	defer s.end()
	v, err := s.look(ctx)
	if err != nil {
		return nil, failed(op, "", err)
	}
	if calls := compact.Pending(v.context.Items); len(calls) > 0 {
		return nil, pendingError(op, calls)
	}
	policy := v.policy
	policy.Instructions = cmp.Or(opt.Instructions, policy.Instructions)
	if opt.Keep.IsSet() {
		policy.Keep = opt.Keep
	}
	policy.FirstKept = cmp.Or(opt.FirstKept, policy.FirstKept)
	if opt.Summary != nil {
		policy.Summarizer = &givenSummary{GivenSummary: *opt.Summary, own: policy.Summarizer, warnings: &s.warnings}
	}
	r, err := s.pass(ctx, Event{Reason: cmp.Or(opt.Reason, compact.Manual), WillRetry: opt.WillRetry}, policy, opt.DryRun)
	if err != nil {
		return nil, failed(op, "", err)
	}
	if v, err = s.look(ctx); err != nil {
		return nil, failed(op, "", err)
	}
	s.provideFiles(ctx, v)
	r.Warnings = append(r.Warnings, s.takeWarnings()...)
	return r, nil
}

func (s *Session) takeWarnings() []error {
	w := s.warnings
	s.warnings = nil
	return w
}

// conflictTries is how often a pass is planned anew because another program has
// written to the session meanwhile.
const conflictTries = 3

// pass makes a pass if one is due. On an error nothing was written.
func (s *Session) pass(ctx context.Context, info Event, policy compact.Policy, dryRun bool) (*Result, error) {
	v, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	r := &Result{}
	in := s.input(v, info.Reason, "")
	if r.Plan, err = compact.Check(in, policy); err != nil {
		return r, err
	}
	due := r.Plan.Act || r.Plan.Breaker || info.Reason != compact.Threshold
	if r.Plan.Act {
		if why := s.cfg.declines(v, r.Plan); why != "" {
			declined := r.Plan
			in.OnlyThinking = true
			if r.Plan, err = compact.Check(in, policy); err != nil {
				return r, err
			}
			if !r.Plan.Act {
				r.Plan, declined.Act, declined.Why = declined, false, why
			}
		}
	}
	if !r.Plan.Act {
		if due {
			s.passDeclined(ctx, v, info, r.Plan)
		}
		return r, nil
	}
	s.attempts++
	if dryRun {
		defer func(n int) { s.attempts = n }(s.attempts - 1)
	}
	info.Attempt = s.attempts
	info = s.passEvent(EventPassStart, v, info, r.Plan)
	ended := s.passBegun(ctx, v, info)
	err = s.due(ctx, r, info, policy, dryRun)
	ended(r, err)
	if err != nil {
		var warnings []error
		info.Err = err
		s.tellFailed(ctx, info, &warnings)
		return nil, errors.Join(append([]error{err}, warnings...)...)
	}
	return r, nil
}

// passAgain takes out the signed reasoning that a pass left in an open tool loop,
// where a hook has closed the loop with what it added.
func (s *Session) passAgain(ctx context.Context, r *Result) error {
	v, err := s.look(ctx)
	if err != nil {
		return err
	}
	plan, err := compact.Check(s.input(v, compact.Threshold, ""), v.policy)
	if err != nil || !plan.OnlyThinking {
		return err
	}
	again, err := s.pass(ctx, Event{Reason: plan.Reason}, v.policy, false)
	if err != nil {
		return err
	}
	r.Entries = append(r.Entries, again.Entries...)
	r.Warnings = append(r.Warnings, again.Warnings...)
	return nil
}

// due makes the pass that r.Plan says is due.
func (s *Session) due(ctx context.Context, r *Result, info Event, policy compact.Policy, dryRun bool) error {
	checked, v := r.Plan, s.view
	e := BeforeCompactEvent{Event: info, Reported: lastUsage(v), Instructions: policy.Instructions, view: v}
	if s.asks(func(h *Hooks) bool { return h.BeforeCompact != nil }) {
		// Hooks are not asked again and again about a pass in which nothing can be done.
		in := s.input(v, info.Reason, "")
		in.OnlyThinking = checked.OnlyThinking
		if e.forecast = s.forecastPass(ctx, in, policy); e.forecast.err == nil && !e.forecast.plan.Act {
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
		policy.Summarizer = &givenSummary{GivenSummary: GivenSummary{Text: d.Summary, By: "hook"}, own: policy.Summarizer, warnings: &r.Warnings}
	}
	store := s.log.Store()
	for try := 1; ; try++ {
		last, err := store.Last(ctx) // before the leaf, so that whatever is appended later is noticed
		if err != nil {
			return err
		}
		if v, err = s.look(ctx); err != nil {
			return err
		}
		in := s.input(v, checked.Reason, last.ID)
		in.OnlyThinking = checked.OnlyThinking
		if in.Calibration, err = s.learnt(v); err != nil {
			return err
		}
		if r.Plan, err = compact.Make(s.inside(ctx), in, policy); err != nil {
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
			if _, err := store.Refresh(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		r.Entries = ids(entries)
		s.dirty, s.view, s.attempts = false, v.extended(v.leaf, entries, &s.cfg), 0
		info.After, info.Usage = r.Plan.After, usageOf(entries)
		return s.tellAfter(ctx, info, r)
	}
}

// lastUsage is what was reported for the newest answer, nil for none.
func lastUsage(v *view) *message.Usage {
	for i := len(v.msgs) - 1; i >= 0; i-- {
		if m := v.msgs[i]; m.Role == message.RoleAssistant && m.Usage != nil {
			u := *m.Usage
			return &u
		}
	}
	return nil
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
