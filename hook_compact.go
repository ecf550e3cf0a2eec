package clew

import (
	"cmp"
	"context"
	"fmt"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// BeforeCompact is asked when a pass is due and there is something to be done, before
// it is done.
type BeforeCompact interface {
	BeforeCompact(ctx context.Context, e BeforeCompactEvent) (Decision, error)
}

// AfterCompact is told of a pass that was written, and may add text to the
// context.
type AfterCompact interface {
	AfterCompact(ctx context.Context, e AfterCompactEvent) (Addition, error)
}

// CompactFailed is told of a pass that was due and failed; nothing was changed.
type CompactFailed interface {
	CompactFailed(ctx context.Context, e CompactFailedEvent) error
}

// Functions as hooks.
type (
	// BeforeCompactFunc is a BeforeCompact.
	BeforeCompactFunc func(ctx context.Context, e BeforeCompactEvent) (Decision, error)
	// AfterCompactFunc is an AfterCompact.
	AfterCompactFunc func(ctx context.Context, e AfterCompactEvent) (Addition, error)
	// CompactFailedFunc is a CompactFailed.
	CompactFailedFunc func(ctx context.Context, e CompactFailedEvent) error
)

// BeforeCompact implements the interface of that name.
func (f BeforeCompactFunc) BeforeCompact(ctx context.Context, e BeforeCompactEvent) (Decision, error) {
	return f(ctx, e)
}

// AfterCompact implements the interface of that name.
func (f AfterCompactFunc) AfterCompact(ctx context.Context, e AfterCompactEvent) (Addition, error) {
	return f(ctx, e)
}

// CompactFailed implements the interface of that name.
func (f CompactFailedFunc) CompactFailed(ctx context.Context, e CompactFailedEvent) error {
	return f(ctx, e)
}

// PassInfo is what all events of a pass say of it.
type PassInfo struct {
	// Session is the id of the session.
	Session string
	Reason  compact.Reason
	// Attempt counts from 1 the passes that were begun since the last one that
	// was written.
	Attempt int
	// WillRetry says that a request which failed is sent again after the pass; see
	// CompactOptions.WillRetry.
	WillRetry bool
	// Before is what the context takes.
	Before token.Reading
	Budget compact.Budget
}

// BeforeCompactEvent says what a pass is about to be made for.
type BeforeCompactEvent struct {
	PassInfo
	Why string // in a sentence
	// Usage is what the provider reported for the newest answer in the context;
	// nil when there is none.
	Usage *message.Usage
	// Instructions are what the summary is to pay attention to, as the policy,
	// the caller and the hooks before this one have it.
	Instructions string

	view     *compact.Snapshot
	forecast *forecast
}

// Messages returns the context as it is. Each call makes copies.
func (e BeforeCompactEvent) Messages() []*message.Message { return copies(e.view.Context.Items) }

// Context returns the context as it is, with the entry of each message. Each call
// makes copies.
func (e BeforeCompactEvent) Context() []ContextItem { return copiedItems(e.view.Context.Items) }

// Entries returns the entries of the path that the context is made of, oldest
// first. Each call makes copies.
func (e BeforeCompactEvent) Entries() []*session.Entry { return clonedEntries(e.view.Path) }

// Preparation returns what the pass would do if no hook changed it. No model was
// asked for that. The error is the one with which the pass will fail if no hook changes
// something: a *FixedPartError, say. Each call makes copies.
func (e BeforeCompactEvent) Preparation() (*Preparation, error) { return e.forecast.preparation() }

// Decision is what a BeforeCompact answers. The zero value changes nothing. Of
// several hooks the last counts for what only one can say; edits add up.
type Decision struct {
	// Cancel stops the pass; Why is for the reader of the plan. Hooks after
	// this one are not asked.
	Cancel bool
	Why    string
	// Instructions, if not empty, take the place of those in the event.
	Instructions string
	// Summary, if not empty, is the text of the summary, where the pass comes to
	// one. The user's quoted words, pins and facts are added to it. A text that is
	// larger than a summary may be is not taken, and a warning says so.
	Summary string
	// Keep and Target, if set, take the place of the policy's; see
	// compact.Policy. Amounts that make no sense are not taken.
	Keep, Target compact.Amount
	// FirstKept, if not empty, is the entry with which the kept part is to begin.
	// The cut is moved to where it parts no call from its result, and further back
	// where what is kept would not fit.
	FirstKept string
	// Edits are written before the pass and are no part of it: they stay when the pass
	// fails or is undone. A dry run does not write them.
	Edits []Edit
}

// AfterCompactEvent says what a pass did.
type AfterCompactEvent struct {
	PassInfo
	// Result is that of the operation, as far as it has come.
	Result Result
	// Usage is what the summary cost, with its price if that is known; nil when no
	// model was asked.
	Usage *message.Usage
}

// Addition is text that a hook puts after a pass.
type Addition struct {
	// Text stands at the end of the context, marked as a hook's: the model does not
	// take it for the user's. It is written into the log. Text for which the context
	// has no room is not taken, and a warning says so.
	Text string
}

// CompactFailedEvent says what a pass failed of.
type CompactFailedEvent struct {
	PassInfo
	Err error
	// Aborted says that the operation was cancelled or ran out of time.
	Aborted bool
}

// askBefore asks the hooks about a pass that is due.
func (s *Session) askBefore(ctx context.Context, e BeforeCompactEvent, policy compact.Policy, warnings *[]error) (Decision, []hookEdit) {
	const point = "BeforeCompact"
	all := Decision{Instructions: e.Instructions}
	var edits []hookEdit
	var stop *Decision
	eachHook(s.cfg.Hooks, func(i int, h Hook, hook BeforeCompact) bool {
		var d Decision
		e.Instructions = all.Instructions
		if !call(point, i, h, warnings, func() (err error) {
			d, err = hook.BeforeCompact(s.inside(ctx), e)
			return err
		}) {
			return true
		}
		if d.Cancel {
			stop = &d
			return false
		}
		if err := d.checkPlan(policy, e.view); err != nil {
			*warnings = append(*warnings, refused(point, i, h, err))
			d.Keep, d.Target, d.FirstKept = compact.Amount{}, compact.Amount{}, ""
		}
		all.merge(d)
		edits = append(edits, checkEdits(e.view, point, i, h, d.Edits, warnings)...)
		return true
	})
	if stop != nil {
		return *stop, nil
	}
	return all, edits
}

func (d *Decision) merge(later Decision) {
	d.Instructions = cmp.Or(later.Instructions, d.Instructions)
	d.Summary = cmp.Or(later.Summary, d.Summary)
	d.FirstKept = cmp.Or(later.FirstKept, d.FirstKept)
	if later.Keep.IsSet() {
		d.Keep = later.Keep
	}
	if later.Target.IsSet() {
		d.Target = later.Target
	}
}

// checkPlan says why what a hook wants of a plan can't be done.
func (d *Decision) checkPlan(policy compact.Policy, v *compact.Snapshot) error {
	if d.FirstKept != "" && v.Item(d.FirstKept) < 0 {
		return fmt.Errorf("no message of the context comes from entry %s, so the kept part can't begin there", d.FirstKept)
	}
	_, _, err := d.on(policy).Resolve()
	return err
}

// on returns a policy with what the hooks want.
func (d *Decision) on(p compact.Policy) compact.Policy {
	p.Instructions = cmp.Or(d.Instructions, p.Instructions)
	p.FirstKept = cmp.Or(d.FirstKept, p.FirstKept)
	return Override{Keep: d.Keep, Target: d.Target}.on(p)
}

// tellAfter tells the hooks of a pass that was written, and writes what they add.
func (s *Session) tellAfter(ctx context.Context, e AfterCompactEvent, r *Result) {
	const point = "AfterCompact"
	eachHook(s.cfg.Hooks, func(i int, h Hook, hook AfterCompact) bool {
		var a Addition
		e.Result = r.clone()
		if call(point, i, h, &r.Warnings, func() (err error) {
			a, err = hook.AfterCompact(s.inside(ctx), e)
			return err
		}) {
			if err := s.add(ctx, point, h, a, r); err != nil {
				r.Warnings = append(r.Warnings, refused(point, i, h, err))
			}
		}
		return true
	})
}

// tellFailed tells the hooks of a pass that failed. It is told even when the
// operation was cancelled, so the context is one that is not.
func (s *Session) tellFailed(ctx context.Context, e CompactFailedEvent, warnings *[]error) {
	e.Aborted = ctx.Err() != nil
	ctx = context.WithoutCancel(ctx)
	eachHook(s.cfg.Hooks, func(i int, h Hook, hook CompactFailed) bool {
		call("CompactFailed", i, h, warnings, func() error { return hook.CompactFailed(s.inside(ctx), e) })
		return true
	})
}
