package clew

import (
	"cmp"
	"context"
	"encoding/json"
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
	Plan    *compact.Plan // says what was done and why, or why nothing was
	Entries []string      // the ids of what was written, in order
	Deleted []string      // files of Config.Cache that nothing in the context names any more
	Closed  int           // the calls that CompactOptions.CloseOpenCalls has closed
	// Warnings are what went wrong since the Result before and stopped nothing: a
	// *HookError, a summary of a hook that was too large, output that could not be kept
	// beside the log.
	Warnings []error
}

// clone returns a copy that shares nothing that can be changed.
func (r *Result) clone() Result {
	c := Result{Entries: slices.Clone(r.Entries), Deleted: slices.Clone(r.Deleted), Warnings: slices.Clone(r.Warnings)}
	if r.Plan != nil {
		plan := *r.Plan
		plan.Clamps, plan.Stages = slices.Clone(plan.Clamps), slices.Clone(plan.Stages)
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
	// Messages are the context before it is rendered for a provider; the first has Config.System and Config.Tools,
	// where there are any. The messages are those of the log and must not be changed.
	Messages  []*message.Message
	MaxOutput int64         // how long the answer may be, in tokens: at most Room
	Room      int64         // what the window has room for beside the context, reasoning included
	Reading   token.Reading // what the context costs
	Leaf      string
	// Result says what was done to make it fit, or why nothing was.
	Result

	target wire.Target
}

// Render converts the messages for a provider's API and validates them; see wire.Build.
func (p *Prepared) Render(profile wire.Profile) (*wire.Request, []wire.Note, error) {
	return wire.Build(p.Messages, profile, p.target, wire.Options{})
}

// Body renders the context as the whole body of a request; wire.Request.Body takes members of your own before it.
func (p *Prepared) Body(profile wire.Profile, maxOutput int64) (json.RawMessage, error) {
	req, _, err := p.Render(profile)
	if err != nil {
		return nil, err
	}
	return req.Body(profile, profile.Head(p.target.Model, maxOutput)), nil
}

// Prepare returns the context to send next. If it has outgrown its limit, a pass is made first; otherwise the cost
// hardly depends on the size of the context.
//
// It returns a *PendingError while a call waits for its result, a *FixedPartError if the part that can't be removed is
// too large, and errors of the summarizer or the store. An error changes nothing. Having nothing to do, or a pass
// stopped by a hook or the breaker, is not an error: see Result.
func (s *Session) Prepare(ctx context.Context) (*Prepared, error) {
	const op = "prepare"
	if err := s.begin(ctx, op); err != nil {
		return nil, err
	}
	defer s.end()
	if !s.cfg.SyncByHand { // before the request leaves
		if err := s.sync(ctx); err != nil {
			return nil, failed(op, "", err)
		}
	}
	snap, err := s.loadSendable(ctx, op)
	if err != nil {
		return nil, err
	}
	if snap, err = s.editContext(ctx, snap); err != nil {
		return nil, failed(op, "", err)
	}
	r, snap, err := s.pass(ctx, snap, Event{}, compact.Request{Reason: compact.Threshold}, false)
	if err == nil && len(r.Entries) > 0 {
		snap, err = s.passAgain(ctx, snap, r)
	}
	if err != nil {
		return nil, failed(op, "", err)
	}
	s.provideFiles(ctx, snap)
	s.prefetch(snap)
	s.checkModel(snap.Model)
	r.Warnings = append(r.Warnings, s.takeWarnings()...)
	return &Prepared{
		Messages: s.cfg.withPrompt(snap.Messages), Reading: snap.Reading, Leaf: snap.Leaf, Result: *r,
		MaxOutput: min(s.cfg.outputLimit(snap.Model), roomIn(snap)), Room: roomIn(snap),
		target: wire.Target{Provider: snap.Model.Provider, Model: snap.Model.ID, TakesImages: s.cfg.TakesImages},
	}, nil
}

// CompactOptions changes one Compact. The zero value does what the policy says.
type CompactOptions struct {
	Instructions string // what the summary is to pay attention to. Default: the policy's.
	// Keep is the tail that stays. With it, Compact goes below the policy's target. Default: the policy's.
	Keep compact.Amount
	// Summary is taken where the pass comes to one, instead of asking; a warning says that one is too large.
	Summary *SuppliedSummary
	// SummaryMost is the most that the summary may take, in tokens, where the policy would let it take more.
	SummaryMost int64
	FirstKept   string         // the entry that the kept part begins with. Default: the policy decides.
	Reason      compact.Reason // what asks for the pass. Default: compact.Manual.
	// Omit takes these messages out of the context, each with the other half of its calls, and does nothing else: what
	// went wrong, or is of no use any more. Undo brings them back. The user's last message stays, and what is pinned.
	Omit []string
	// WillRetry says that a request which failed is to be sent again after the pass. It is for the hooks to know.
	WillRetry bool
	DryRun    bool // plans, hooks and summarizer included, and writes nothing
	// CloseOpenCalls closes the calls that wait for a result as Session.CloseOpenCalls does, where there is a pass to
	// make; without it they are a *PendingError. A dry run then plans without the hooks.
	CloseOpenCalls bool
}

// Compact makes a pass now, even below the threshold. If there is nothing to remove it does nothing, and Result.Plan
// says so. Its errors are those of Prepare.
func (s *Session) Compact(ctx context.Context, opt CompactOptions) (*Result, error) {
	const op = "compact"
	if err := s.begin(ctx, op); err != nil {
		return nil, err
	}
	defer s.end()
	snap, err := s.load(ctx)
	if err != nil {
		return nil, failed(op, "", err)
	}
	calls := compact.Pending(snap.Context.Items)
	if len(calls) > 0 && !opt.CloseOpenCalls {
		return nil, pendingError(op, calls)
	}
	policy := snap.Policy
	policy.Instructions = cmp.Or(opt.Instructions, policy.Instructions)
	policy.Keep = cmp.Or(opt.Keep, policy.Keep)
	policy.FirstKept = cmp.Or(opt.FirstKept, policy.FirstKept)
	if opt.SummaryMost > 0 && opt.SummaryMost < snap.Budget.Summary {
		policy.Summary = compact.Tokens(opt.SummaryMost)
	}
	if opt.Summary != nil {
		policy.Summarizer = &suppliedSummary{SuppliedSummary: *opt.Summary, own: policy.Summarizer, warnings: &s.warnings}
	}
	req := compact.Request{Reason: cmp.Or(opt.Reason, compact.Manual), Policy: &policy, Omit: opt.Omit}
	if len(opt.Omit) > 0 {
		req.Reason = compact.Omission
	}
	if len(calls) > 0 {
		plan, err := s.closeForPass(ctx, snap, req, opt.DryRun)
		if err != nil || !plan.Act || opt.DryRun {
			return &Result{Plan: plan}, failed(op, "", err)
		}
		if snap, err = s.load(ctx); err != nil {
			return nil, failed(op, "", err)
		}
	}
	r, snap, err := s.pass(ctx, snap, Event{WillRetry: opt.WillRetry}, req, opt.DryRun)
	if err != nil {
		return nil, failed(op, "", err)
	}
	s.provideFiles(ctx, snap)
	r.Warnings = append(r.Warnings, s.takeWarnings()...)
	r.Closed = len(calls)
	return r, nil
}

// closeForPass closes open calls if the plan with their results is to act. Only a dry run asks
// the summarizer for that plan, as the pass makes one anew.
func (s *Session) closeForPass(ctx context.Context, snap *compact.Snapshot, req compact.Request, dryRun bool) (*compact.Plan, error) {
	drafts := compact.Interrupted(snap.Context.Items, s.log.Now())
	if !dryRun {
		first := *req.Policy
		first.Summarizer, req.Policy = nil, &first
	}
	plan, err := compact.Make(s.inside(ctx), snap.Preview(drafts...), req)
	if err == nil && plan.Act && !dryRun {
		_, err = s.append(ctx, true, drafts...)
	}
	return plan, err
}

// loadSendable is load where no call waits for its result.
func (s *Session) loadSendable(ctx context.Context, op string) (*compact.Snapshot, error) {
	snap, err := s.load(ctx)
	if err != nil {
		return nil, failed(op, "", err)
	}
	if calls := compact.Pending(snap.Context.Items); len(calls) > 0 {
		return nil, pendingError(op, calls)
	}
	return snap, nil
}

func (s *Session) takeWarnings() []error {
	w := s.warnings
	s.warnings = nil
	return w
}

// load returns the snapshot at the leaf. It depends on log, leaf and settings alone, so
// the one that the session holds stands until the leaf moves.
func (s *Session) load(ctx context.Context) (*compact.Snapshot, error) {
	leaf := s.log.Leaf()
	if s.snap != nil && s.snap.Leaf == leaf {
		return s.snap, nil
	}
	snap, err := compact.Load(ctx, s.log.Store(), leaf, s.cfg.setup())
	if err != nil {
		return nil, err
	}
	s.snap = snap
	return snap, nil
}

func (c Config) setup() *compact.Setup {
	s := &compact.Setup{
		Model: session.Model{Provider: c.Provider, ID: c.Model}, Uncalibrated: c.Counter != nil, System: c.System, Tools: c.Tools,
		Policy: func(m session.Model) compact.Policy { p, _ := c.PolicyFor(m); return p },
	}
	if c.Counter != nil {
		s.Counter = func(session.Model) token.Counter { return c.Counter }
	}
	return s
}

// conflictTries is how often a pass is planned when another program writes to the session meanwhile.
const conflictTries = 3

// check says whether a pass would be made, and does not compute that twice for a snapshot.
func (s *Session) check(snap *compact.Snapshot, req compact.Request) (*compact.Plan, error) {
	req.Checked = s.checked
	plan, err := compact.Check(snap, req)
	if err == nil {
		c := *plan
		s.checked = &c
	}
	return plan, err
}

// pass makes the pass that is requested, if there is something to do, and returns the snapshot afterwards. On an error
// nothing was written.
func (s *Session) pass(ctx context.Context, snap *compact.Snapshot, info Event, req compact.Request, dryRun bool) (*Result, *compact.Snapshot, error) {
	info.Reason, req.Found = req.Reason, s.found
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
			s.emit(ctx, s.passEvent(EventPassDeclined, snap, info, r.Plan))
		}
		return r, snap, nil
	}
	s.attempts++
	if dryRun {
		defer func(n int) { s.attempts = n }(s.attempts - 1)
	}
	info.Attempt = s.attempts
	info = s.passEvent(EventPassStart, snap, info, r.Plan)
	s.emit(ctx, info)
	err = s.makePass(ctx, snap, r, info, req, dryRun)
	s.passDone(ctx, snap, info, r, err)
	if err != nil {
		var warnings []error
		info.Err, info.Aborted = err, ctx.Err() != nil
		// They are told even when the operation was cancelled, so the context is one that is not.
		tellHooks(s.inside(context.WithoutCancel(ctx)), s.cfg.Hooks, pointFailed, &warnings,
			func(h *Hooks) func(context.Context, Event) error { return h.CompactFailed }, info)
		return nil, nil, errors.Join(append([]error{err}, warnings...)...)
	}
	before := snap
	if snap, err = s.load(ctx); err == nil && !dryRun {
		s.dropFiles(ctx, before, snap, r)
	}
	return r, snap, err
}

// passAgain makes a second pass where the first has left something to do: a hook has closed the open tool loop whose
// signed reasoning had to stay, or reported usage no longer counts and the estimate is over the limit.
func (s *Session) passAgain(ctx context.Context, snap *compact.Snapshot, r *Result) (*compact.Snapshot, error) {
	plan, err := s.check(snap, compact.Request{})
	if err != nil || !plan.Act {
		return snap, err
	}
	again, snap, err := s.pass(ctx, snap, Event{}, compact.Request{Reason: plan.Reason}, false)
	if err != nil {
		return nil, err
	}
	r.Entries, r.Deleted = append(r.Entries, again.Entries...), append(r.Deleted, again.Deleted...)
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
	e := BeforeCompactEvent{Event: info, Reported: snap.LastUsage(), Instructions: policy.Instructions, NoAuto: s.cfg.NoAuto, snap: snap, store: s.log.Store()}
	if s.asks(func(h Hooks) bool { return h.BeforeCompact != nil }) {
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
		if _, err := s.append(ctx, true, edits...); err != nil {
			return err
		}
	}
	policy = d.on(s.named(ctx, policy))
	if d.Summary != "" {
		policy.Summarizer = hookSummary(&d, policy.Summarizer, &r.Warnings)
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
		info.After = r.Plan.After
		if sum := r.Plan.Summary; sum != nil {
			info.Usage = sum.Usage
		}
		return s.tellAfter(ctx, info, r)
	}
}

// declines says why a pass that is due is not made, "" where it is. What does not fit is
// brought into the limit all the same, unless Config.NoAuto forbids it.
func (c *Config) declines(s *compact.Snapshot, plan *compact.Plan) string {
	if !plan.Act || plan.Reason == compact.Manual || plan.Reason == compact.Omission {
		return ""
	}
	if c.NoAuto && plan.Reason == compact.Threshold {
		return "compaction by itself is switched off: " + plan.Why
	}
	most := s.Policy.MaxPasses
	if most == 0 || plan.Before.Guarded() > plan.Budget.Limit {
		return ""
	}
	if n := compact.Passes(s.Path); n >= most {
		return fmt.Sprintf("%d passes were made for the user's last message, and no more are allowed as long as the context fits", n)
	}
	return ""
}
