package clew

import (
	"context"
	"fmt"
	"slices"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// Hook is anything with one or more of the hook methods: BeforeCompact,
// AfterCompact, CompactFailed, BeforeBranch, AfterBranch. Each is called where it applies, in the order of
// Config.Hooks, one at a time, while the operation waits. What a hook is given
// are copies: changing them changes nothing.
//
// A hook that returns an error or panics counts as one that gave no answer; what
// happened is in Result.Warnings, as a *HookError.
type Hook any

// BeforeCompact is asked when a pass is due, before anything is done for it.
type BeforeCompact interface {
	BeforeCompact(ctx context.Context, e BeforeCompactEvent) (Decision, error)
}

// AfterCompact is told of a pass that was written.
type AfterCompact interface {
	AfterCompact(ctx context.Context, r Result) error
}

// CompactFailed is told of a pass that was due and failed; nothing was changed.
type CompactFailed interface {
	CompactFailed(ctx context.Context, reason compact.Reason, err error) error
}

// Functions as hooks.
type (
	// BeforeCompactFunc is a BeforeCompact.
	BeforeCompactFunc func(ctx context.Context, e BeforeCompactEvent) (Decision, error)
	// AfterCompactFunc is an AfterCompact.
	AfterCompactFunc func(ctx context.Context, r Result) error
	// CompactFailedFunc is a CompactFailed.
	CompactFailedFunc func(ctx context.Context, reason compact.Reason, err error) error
)

// BeforeCompact implements the interface of that name.
func (f BeforeCompactFunc) BeforeCompact(ctx context.Context, e BeforeCompactEvent) (Decision, error) {
	return f(ctx, e)
}

// AfterCompact implements the interface of that name.
func (f AfterCompactFunc) AfterCompact(ctx context.Context, r Result) error { return f(ctx, r) }

// CompactFailed implements the interface of that name.
func (f CompactFailedFunc) CompactFailed(ctx context.Context, reason compact.Reason, err error) error {
	return f(ctx, reason, err)
}

// BeforeCompactEvent says what a pass is about to be made for.
type BeforeCompactEvent struct {
	Reason compact.Reason
	Why    string // in a sentence
	Before token.Reading
	Budget compact.Budget
	// Instructions are what the summary is to pay attention to, as the policy,
	// the caller and the hooks before this one have it.
	Instructions string

	items []session.Item
}

// Messages returns the context as it is. Each call makes copies.
func (e BeforeCompactEvent) Messages() []*message.Message { return copies(e.items) }

func copies(items []session.Item) []*message.Message {
	out := make([]*message.Message, 0, len(items))
	for _, it := range items {
		c, err := message.Parse(slices.Clone(it.Message.JSON()))
		if err != nil { // a message with no role that was built by a program
			continue
		}
		out = append(out, c)
	}
	return out
}

// Decision is what a BeforeCompact answers. The zero value changes nothing.
type Decision struct {
	// Cancel stops the pass; Why is for the reader of the plan. Hooks after
	// this one are not asked.
	Cancel bool
	Why    string
	// Instructions, if not empty, take the place of those in the event.
	Instructions string
	// Summary, if not empty, is the text of the summary, where the pass comes to
	// one. The user's quoted words, pins and facts are added to it. Of several
	// hooks' the last counts. A text that is larger than a summary may be is not
	// taken, and a warning says so.
	Summary string
}

func isHook(h Hook) bool {
	switch h.(type) {
	case BeforeCompact, AfterCompact, CompactFailed, BeforeBranch, AfterBranch:
		return true
	}
	return false
}

// call calls a hook and turns what goes wrong into a warning.
func call(point string, hook int, warnings *[]error, fn func() error) {
	defer func() {
		if v := recover(); v != nil {
			err, ok := v.(error)
			if !ok {
				err = fmt.Errorf("%v", v)
			}
			*warnings = append(*warnings, &HookError{point, hook, err, true})
		}
	}()
	if err := fn(); err != nil {
		*warnings = append(*warnings, &HookError{point, hook, err, false})
	}
}

// askBefore asks the hooks about a pass that is due.
func (s *Session) askBefore(ctx context.Context, e BeforeCompactEvent, warnings *[]error) Decision {
	all := Decision{Instructions: e.Instructions}
	for i, h := range s.cfg.Hooks {
		hook, ok := h.(BeforeCompact)
		if !ok {
			continue
		}
		var d Decision
		failures := len(*warnings)
		e.Instructions = all.Instructions
		call("BeforeCompact", i, warnings, func() (err error) {
			d, err = hook.BeforeCompact(s.inside(ctx), e)
			return err
		})
		if len(*warnings) > failures {
			continue
		}
		if d.Cancel {
			return d
		}
		if d.Instructions != "" {
			all.Instructions = d.Instructions
		}
		if d.Summary != "" {
			all.Summary = d.Summary
		}
	}
	return all
}

// tellAfter tells the hooks of a pass that was written.
func (s *Session) tellAfter(ctx context.Context, r *Result) {
	for i, h := range s.cfg.Hooks {
		if hook, ok := h.(AfterCompact); ok {
			call("AfterCompact", i, &r.Warnings, func() error { return hook.AfterCompact(s.inside(ctx), r.clone()) })
		}
	}
}

// tellFailed tells the hooks of a pass that failed. It is told even when the
// operation was cancelled, so the context is one that is not.
func (s *Session) tellFailed(ctx context.Context, reason compact.Reason, err error, warnings *[]error) {
	ctx = context.WithoutCancel(ctx)
	for i, h := range s.cfg.Hooks {
		if hook, ok := h.(CompactFailed); ok {
			call("CompactFailed", i, warnings, func() error { return hook.CompactFailed(s.inside(ctx), reason, err) })
		}
	}
}
