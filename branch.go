package clew

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/branch"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// BranchOptions changes one Branch. The zero value moves without a summary.
type BranchOptions struct {
	// Summarize puts a summary of what is left behind where the conversation
	// goes on.
	Summarize bool
	// Instructions are what the summary is to pay attention to. Default: the
	// policy's.
	Instructions string
	// ReplaceInstructions puts Instructions in the place of the description of the
	// task that a model is given.
	ReplaceInstructions bool
	// Label names the summary, or the target where there is none.
	Label string
	// DryRun does all but write, hooks and summarizer included.
	DryRun bool
}

// Branched says what Branch did, or, after a dry run, would do.
type Branched struct {
	// Session is the id of the session.
	Session string
	// From is the leaf that was left, Leaf where the conversation stands now.
	From, Leaf string
	// Ancestor is the last entry that both have, "" when they have none.
	Ancestor string
	// Left counts the messages that are left behind, also those that a compaction on the
	// branch had summarized.
	Left int
	// Text is that of the target where it is a message that was typed: the
	// conversation stands before it, so that it can be said again, differently.
	Text string
	// Summary is what was told to the new branch; nil when nothing was.
	Summary *branch.Summary
	// Entries are the ids of what was written, in order.
	Entries []string
	// Why says why nothing was done, or why there is no summary; "" otherwise.
	Why string
	// Warnings are what went wrong beside the point: *HookError.
	Warnings []error
}

// Branch moves the conversation to another place of the tree, "" for before the
// first entry: to a target; but before it where it is a message of the user, whose
// text is given back. It is written down, so it survives a restart, and the branch
// that is left stays as it is.
//
// With a summary, that hangs under the new place. Files in it are cumulative over
// compactions and branches; edits of users and hooks are respected. The same
// branch is summarized once.
//
// The errors: ErrNotFound, those of a summarizer or the store. Nothing was changed
// then.
func (s *Session) Branch(ctx context.Context, target string, opt BranchOptions) (*Branched, error) {
	const op = "branch"
	if err := s.begin(ctx, op); err != nil {
		return nil, err
	}
	defer s.end()
	b, err := s.branch(ctx, target, opt)
	return b, failed(op, target, err)
}

func (s *Session) branch(ctx context.Context, target string, opt BranchOptions) (*Branched, error) {
	store := s.log.Store()
	leaf, text, err := branch.Place(ctx, store, target)
	if err != nil {
		return nil, err
	}
	b := &Branched{Session: store.Header().ID, From: s.log.Leaf(), Leaf: leaf, Text: text}
	if leaf == b.From {
		b.Why = "the conversation stands there already"
		return b, nil
	}
	r, err := branch.Collect(ctx, store, b.From, target)
	if err != nil {
		return nil, err
	}
	b.Ancestor, b.Left = r.Ancestor, r.Messages()
	snap, err := s.load(ctx)
	if err != nil {
		return nil, err
	}
	d := s.askBranch(ctx, BeforeBranchEvent{
		Session: store.Header().ID, From: b.From, Target: target, Leaf: leaf, Ancestor: r.Ancestor, Summarize: opt.Summarize,
		Instructions: cmp.Or(opt.Instructions, snap.Policy.Instructions), Label: opt.Label,
		items: r.Items, entries: r.Entries, cwd: store.Header().Cwd,
	}, &b.Warnings)
	if d.Cancel {
		b.Leaf, b.Text, b.Why = b.From, "", "a hook stopped it: "+cmp.Or(d.Why, "it did not say why")
		return b, nil
	}
	opt.Instructions, opt.Label = d.Instructions, d.Label
	opt.ReplaceInstructions = opt.ReplaceInstructions || d.ReplaceInstructions
	if opt.Summarize {
		b.Summary, err = s.summarizeBranch(ctx, r, snap, opt, d.Summary)
		if errors.Is(err, branch.ErrNothing) {
			b.Why, err = "no summary: nothing is left behind", nil
		}
		if err != nil {
			return nil, err
		}
	}
	if opt.DryRun {
		return b, nil
	}
	if err := s.move(ctx, b, target, opt); err != nil {
		return nil, err
	}
	s.tellBranch(ctx, b)
	s.branched(ctx, b)
	return b, nil
}

// summarizeBranch makes the summary, or takes that of a hook.
func (s *Session) summarizeBranch(ctx context.Context, r *branch.Range, snap *compact.Snapshot, opt BranchOptions, text string) (*branch.Summary, error) {
	o := branch.Options{
		Counter: snap.Meter, Budget: min(branch.DefaultBudget, snap.Budget.Summary), Summarizer: snap.Policy.Summarizer, Template: snap.Policy.Template,
		Instructions: opt.Instructions, OnlyInstructions: opt.ReplaceInstructions, Cwd: snap.Cwd,
	}
	if text == "" {
		return branch.Summarize(s.inside(ctx), s.log.Store(), r, o)
	}
	var warnings []error
	o.Fresh = true
	o.Summarizer = &suppliedSummary{SuppliedSummary: SuppliedSummary{Text: text, By: "hook"}, own: snap.Policy.Summarizer, warnings: &warnings}
	sum, err := branch.Summarize(s.inside(ctx), s.log.Store(), r, o)
	s.warnings = append(s.warnings, warnings...)
	return sum, err
}

// move writes the summary or the mere move.
func (s *Session) move(ctx context.Context, b *Branched, target string, opt BranchOptions) error {
	if b.Summary == nil {
		if err := s.log.Navigate(ctx, b.Leaf, "branch"); err != nil {
			return err
		}
	} else {
		entries, err := s.append(ctx, true, b.Summary.Draft().Under(b.Leaf))
		if err != nil {
			return err
		}
		b.Entries, target = ids(entries), entries[0].ID
	}
	if opt.Label != "" && target != "" {
		entries, err := s.append(ctx, true, session.NewLabel(target, opt.Label))
		if err != nil {
			return err
		}
		b.Entries = append(b.Entries, ids(entries)...)
	}
	b.Leaf = s.log.Leaf()
	return nil
}

// BeforeBranch is asked when the conversation is about to move, with a summary
// or without.
type BeforeBranch interface {
	BeforeBranch(ctx context.Context, e BeforeBranchEvent) (BranchDecision, error)
}

// AfterBranch is told when it has moved.
type AfterBranch interface {
	AfterBranch(ctx context.Context, b Branched) error
}

// Functions as hooks.
type (
	// BeforeBranchFunc is a BeforeBranch.
	BeforeBranchFunc func(ctx context.Context, e BeforeBranchEvent) (BranchDecision, error)
	// AfterBranchFunc is an AfterBranch.
	AfterBranchFunc func(ctx context.Context, b Branched) error
)

// BeforeBranch implements the interface of that name.
func (f BeforeBranchFunc) BeforeBranch(ctx context.Context, e BeforeBranchEvent) (BranchDecision, error) {
	return f(ctx, e)
}

// AfterBranch implements the interface of that name.
func (f AfterBranchFunc) AfterBranch(ctx context.Context, b Branched) error { return f(ctx, b) }

// BeforeBranchEvent says where the conversation is about to go.
type BeforeBranchEvent struct {
	// Session is the id of the session.
	Session string
	// From is the leaf that is left, Target what was chosen, Leaf where the
	// conversation goes on, Ancestor the last entry that both have, "" for none.
	From, Target, Leaf, Ancestor string
	// Summarize says that the user wants a summary of what is left behind.
	Summarize bool
	// Instructions and Label are as the caller and the hooks before this one
	// have them.
	Instructions, Label string

	items   []session.Item
	entries []*session.Entry
	cwd     string
}

// Messages returns what is left behind. Each call makes copies.
func (e BeforeBranchEvent) Messages() []*message.Message { return copies(e.items) }

// Entries returns the entries that are left behind, oldest first. Each call makes
// copies.
func (e BeforeBranchEvent) Entries() []*session.Entry { return clonedEntries(e.entries) }

// Ledger returns the facts of what is left behind.
func (e BeforeBranchEvent) Ledger() ledger.Ledger {
	return ledger.Read(e.items, ledger.Options{Cwd: e.cwd})
}

// BranchDecision is what a BeforeBranch answers. The zero value changes nothing.
type BranchDecision struct {
	// Cancel lets the conversation stay where it is; Why is for the user.
	Cancel bool
	Why    string
	// Instructions and Label, if not empty, take the place of those in the event.
	Instructions, Label string
	// ReplaceInstructions is that of BranchOptions.
	ReplaceInstructions bool
	// Summary, if not empty, is the text of the summary, where one is wanted. The
	// user's words and the files are added to it.
	Summary string
}

func (s *Session) askBranch(ctx context.Context, e BeforeBranchEvent, warnings *[]error) BranchDecision {
	all := BranchDecision{Instructions: e.Instructions, Label: e.Label}
	eachHook(s.cfg.Hooks, func(i int, h Hook, hook BeforeBranch) bool {
		var d BranchDecision
		e.Instructions, e.Label = all.Instructions, all.Label
		if !call("BeforeBranch", i, h, warnings, func() (err error) {
			d, err = hook.BeforeBranch(s.inside(ctx), e)
			return err
		}) {
			return true
		}
		if d.Cancel {
			all = d
			return false
		}
		all.Instructions = cmp.Or(d.Instructions, all.Instructions)
		all.ReplaceInstructions = all.ReplaceInstructions || d.ReplaceInstructions
		all.Label = cmp.Or(d.Label, all.Label)
		all.Summary = cmp.Or(d.Summary, all.Summary)
		return true
	})
	return all
}

func (s *Session) tellBranch(ctx context.Context, b *Branched) {
	eachHook(s.cfg.Hooks, func(i int, h Hook, hook AfterBranch) bool {
		call("AfterBranch", i, h, &b.Warnings, func() error {
			c := *b
			c.Entries, c.Warnings = slices.Clone(b.Entries), nil
			return hook.AfterBranch(s.inside(ctx), c)
		})
		return true
	})
}
