package clew

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/branch"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// BranchOptions changes one Branch. The zero value moves without a summary.
type BranchOptions struct {
	Summarize           bool   // puts a summary of what is left behind where the conversation goes on
	Instructions        string // what the summary is to pay attention to. Default: the policy's.
	ReplaceInstructions bool   // lets them stand for the task that a model is given
	Label               string // names the summary, or the target where there is none
	DryRun              bool   // does all but write, hooks and summarizer included
}

// Branched says what Branch did, or would do.
type Branched struct {
	Session  string `json:"-"`                  // the id of the session
	From     string `json:"from,omitempty"`     // the leaf that was left
	Leaf     string `json:"leaf,omitempty"`     // where the conversation stands now
	Ancestor string `json:"ancestor,omitempty"` // the last entry that both have, "" when they have none
	Left     int    `json:"left"`               // counts the messages that are left behind, summarized ones too
	Text     string `json:"text,omitempty"`     // that of a target which was typed: the conversation stands before it
	// Summary is what was told to the new branch; nil when nothing was. The files are
	// those of the branch that was left and of what it summarizes.
	Summary       *session.BranchSummary `json:"-"`
	ReadFiles     []string               `json:"-"`
	ModifiedFiles []string               `json:"-"`
	// Output is what the summarizer gave; nil where the same branch was summarized before, in the entry CachedFrom.
	Output     *summary.Output `json:"-"`
	CachedFrom string          `json:"-"`
	Entries    []string        `json:"entries,omitempty"` // the ids of what was written, in order
	Why        string          `json:"why,omitempty"`     // says why nothing was done, or why there is no summary; "" otherwise
	Warnings   []error         `json:"-"`                 // what went wrong beside the point: *HookError
}

// Branch moves the conversation to another place of the tree, "" for before the first entry; but before a target that
// is a message of the user, whose text is given back. The branch that is left stays as it is. A summary hangs under
// the new place, and the same branch is summarized once. On an error nothing was changed.
func (s *Session) Branch(ctx context.Context, target string, opt BranchOptions) (b *Branched, err error) {
	err = s.do(ctx, "branch", target, func() error { b, err = s.branch(ctx, target, opt); return err })
	return b, err
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
		left: r, cwd: store.Header().Cwd,
	}, &b.Warnings)
	if d.Cancel {
		b.Leaf, b.Text, b.Why = b.From, "", "a hook stopped it: "+cmp.Or(d.Why, "it did not say why")
		return b, nil
	}
	opt.Instructions, opt.Label = d.Instructions, d.Label
	opt.ReplaceInstructions = opt.ReplaceInstructions || d.ReplaceInstructions
	if opt.Summarize {
		var sum *branch.Summary
		sum, err = s.summarizeBranch(ctx, r, snap, opt, &d)
		if errors.Is(err, branch.ErrNothing) {
			b.Why, err = "no summary: nothing is left behind", nil
		}
		if err != nil {
			return nil, err
		}
		if sum != nil {
			b.Summary, b.Output, b.CachedFrom = &sum.Entry, sum.Output, sum.CachedFrom
			b.ReadFiles, b.ModifiedFiles = sum.ReadFiles, sum.ModifiedFiles
		}
	}
	if opt.DryRun {
		return b, nil
	}
	if err := s.move(ctx, b, target, opt); err != nil {
		return nil, err
	}
	told := *b
	told.Entries, told.Warnings = slices.Clone(b.Entries), nil
	tellHooks(s.inside(ctx), s.cfg.Hooks, pointAfterBranch, &b.Warnings,
		func(h *Hooks) func(context.Context, Branched) error { return h.AfterBranch }, told)
	s.branched(ctx, b)
	return b, nil
}

// summarizeBranch makes the summary, or takes that of a hook.
func (s *Session) summarizeBranch(ctx context.Context, r *branch.Range, snap *compact.Snapshot, opt BranchOptions, d *Decision) (*branch.Summary, error) {
	by, in := snap.Policy.Summarizer, summary.Input{
		Counter: snap.Meter, Budget: min(branch.DefaultBudget, snap.Budget.Summary), Template: snap.Policy.Template,
		Profile:      snap.Policy.Strategy,
		Instructions: opt.Instructions, OnlyInstructions: opt.ReplaceInstructions, Cwd: snap.Cwd,
		Tries: snap.Policy.Tries,
	}
	if d.Summary == "" {
		return branch.Summarize(s.inside(ctx), s.log.Store(), r, by, in, false)
	}
	return branch.Summarize(s.inside(ctx), s.log.Store(), r, hookSummary(d, by, &s.warnings), in, true)
}

func (s *Session) move(ctx context.Context, b *Branched, target string, opt BranchOptions) error {
	if b.Summary == nil {
		if err := s.log.Navigate(ctx, b.Leaf, "branch"); err != nil {
			return err
		}
	} else {
		entries, err := s.append(ctx, true, session.NewBranchSummary(*b.Summary).Under(b.Leaf))
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
