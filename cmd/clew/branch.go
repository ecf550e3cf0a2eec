package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/hook"
	"github.com/clew-dev/clew/internal/branch"
	"github.com/clew-dev/clew/session"
)

type branchFlags struct {
	template, instructions, budget, label string
	summarize, dryRun                     bool
}

func newBranch(cmd *cobra.Command) runFunc {
	var fl branchFlags
	f := cmd.Flags()
	f.BoolVar(&fl.summarize, "summarize", false, "begin the new branch with a summary of the branch you leave")
	addSummaryFlags(cmd, &fl.template, &fl.instructions, "briefing")
	f.StringVar(&fl.budget, "budget", "", fmt.Sprintf("size limit of the summary in tokens (default and maximum: %d)", branch.DefaultBudget))
	f.StringVar(&fl.label, "label", "", "label the summary, or TARGET if there is no summary")
	f.BoolVar(&fl.dryRun, "dry-run", false, "show what would be done and change nothing")
	return func(args []string) (result, error) {
		opt, policy, err := fl.options(cmd)
		if err != nil {
			return nil, err
		}
		return withSession(cmd, args[0], fl.dryRun, func(f kept) (result, error) {
			r := &branchReport{File: f.Path(), DryRun: fl.dryRun}
			return r, r.run(cmd, f, args[1], policy, opt)
		})
	}
}

// branchReport is what branch --json prints.
type branchReport struct {
	File   string `json:"file"`
	DryRun bool   `json:"dryRun"`
	To     string `json:"to,omitempty"`
	*clew.Branched
	Summary *branchSummary `json:"summary,omitempty"`
	Closed  int            `json:"settled,omitempty"`
	contextSize

	moved          bool
	from, to, both string // the entries, in words
}

// branchSummary is what the new branch was told.
type branchSummary struct {
	Text          string   `json:"text"`
	Tokens        int64    `json:"tokens,omitempty"`
	Summarizer    string   `json:"summarizer,omitempty"`
	CachedFrom    string   `json:"cachedFrom,omitempty"`
	ReadFiles     []string `json:"readFiles"`
	ModifiedFiles []string `json:"modifiedFiles"`
}

// options checks the flags.
func (fl *branchFlags) options(cmd *cobra.Command) (opt clew.BranchOptions, policy compact.Policy, err error) {
	for _, name := range []string{"template", "instructions", "budget"} {
		if cmd.Flags().Changed(name) && !fl.summarize {
			return opt, policy, usagef("branch: --%s has no effect without a summary; add --summarize", name)
		}
	}
	if policy.Template, err = findTemplate(fl.template); err != nil {
		return opt, policy, err
	}
	budget, err := numberFlag("budget", fl.budget, budgetNumber)
	if err != nil {
		return opt, policy, err
	}
	if budget > branch.DefaultBudget {
		return opt, policy, usagef("--budget %s: the summary of a branch takes at most %d tokens", fl.budget, branch.DefaultBudget)
	}
	if budget > 0 {
		policy.Summary = compact.Tokens(budget)
	}
	label, err := cleanLabel(cmd, "a label", fl.label)
	return clew.BranchOptions{Summarize: fl.summarize, Instructions: fl.instructions, Label: label, DryRun: fl.dryRun}, policy, err
}

func (r *branchReport) run(cmd *cobra.Command, store session.Store, name string, policy compact.Policy, opt clew.BranchOptions) error {
	ctx := cmd.Context()
	target, labels, err := findTarget(ctx, store, name)
	if err == nil && opt.Label != "" {
		labelled := target
		if opt.Summarize {
			labelled = "" // the summary is new
		}
		err = freeLabel(labels, opt.Label, labelled)
	}
	if err != nil {
		return err
	}
	hooks, err := commandHooks(cmd, hook.SessionBeforeTree, hook.SessionTree)
	if err != nil {
		return err
	}
	s, err := clew.OpenStore(ctx, store, clew.Config{Policy: policy, Hooks: hooks})
	if err != nil {
		return err
	}
	if r.To, _, err = branch.Place(ctx, store, target); err != nil {
		return err
	}
	defer working(cmd, "looking at what is left behind")()
	b, err := s.Branch(ctx, target, opt)
	if err != nil {
		return err
	}
	warn(cmd, b.Warnings)
	if b.Leaf == b.From && r.To != b.From {
		return &session.Error{Op: "branch", Subject: r.File, Err: errors.New(b.Why)}
	}
	r.Branched, r.moved = b, r.To != b.From
	if b.Summary != nil {
		r.Summary = &branchSummary{
			Text: b.Summary.Summary, CachedFrom: b.CachedFrom,
			ReadFiles: append([]string{}, b.ReadFiles...), ModifiedFiles: append([]string{}, b.ModifiedFiles...),
		}
		if out := b.Output; out != nil {
			r.Summary.Tokens, r.Summary.Summarizer = out.Tokens, out.Summarizer
		}
	}
	for _, e := range []struct {
		id    string
		words *string
	}{{r.From, &r.from}, {r.To, &r.to}, {r.Ancestor, &r.both}} {
		if *e.words, err = inWords(ctx, store, e.id); err != nil {
			return err
		}
	}
	if !r.moved {
		return r.measure(ctx, store, r.Leaf)
	}
	log := s.Log()
	if opt.DryRun {
		if log, err = r.copied(ctx, store); err != nil {
			return err
		}
	}
	// Their results are on the branch that was left.
	if r.Closed, err = compact.CloseOpenCalls(ctx, log); err != nil {
		return err
	}
	if r.Leaf = log.Leaf(); opt.DryRun {
		r.Leaf = ""
	}
	return r.measure(ctx, log.Store(), log.Leaf())
}

// copied returns a copy of what the new branch would be.
func (r *branchReport) copied(ctx context.Context, store session.Store) (*session.Log, error) {
	path, err := session.Path(ctx, store, r.To)
	if err != nil {
		return nil, err
	}
	log, err := session.NewLog(ctx, session.NewMemory(store.Header(), path...), session.Options{})
	if err == nil && r.Branched.Summary != nil {
		_, err = log.Append(ctx, session.NewBranchSummary(*r.Branched.Summary))
	}
	return log, err
}

// inWords says what an entry is, in one line.
func inWords(ctx context.Context, s session.Store, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	e, err := s.Get(ctx, id)
	if err != nil {
		return "", err
	}
	return describe(e).of(id), nil
}

func (r *branchReport) text(rep *report) {
	if !r.moved {
		rep.row("nothing", "to do: %s", r.Why)
		r.write(rep)
		return
	}
	rep.place("from", r.from, "before the first entry")
	rep.place("to", r.to, "before the first entry")
	rep.place("both have", r.both, "nothing")
	rep.row("left", "%s", count(r.Left, "message"))
	rep.again(r.Text)
	if s := r.Summary; s != nil {
		if s.CachedFrom != "" {
			rep.row("summary", "as it was made before, in %s", short(s.CachedFrom, maxID))
		} else {
			rep.row("summary", "%s tokens, made by the %s summarizer", number(s.Tokens), s.Summarizer)
		}
		rep.text(s.Text)
		rep.fileLists(s.ReadFiles, s.ModifiedFiles)
	} else if r.Why != "" {
		rep.row("summary", "none: the branch you leave has no entries")
	}
	rep.settled(r.Closed)
	r.write(rep)
	if r.DryRun {
		rep.row("written", "nothing: this was a dry run")
	} else if r.From != "" {
		rep.row("back", "clew branch %s %s", r.File, short(r.From, maxID))
	}
}

// place writes which entry something is about.
func (r *report) place(name, words, none string) {
	if words == "" {
		words = none
	}
	r.row(name, "%s", cut(words, r.columns-reportMargin))
}

// settled writes how many calls were interrupted.
func (r *report) settled(calls int) {
	if calls > 0 {
		r.row("settled", "%s got a result that says so", count(calls, "interrupted call"))
	}
}

// again writes a message of the user before which a conversation stands now.
func (r *report) again(text string) {
	if text == "" {
		return
	}
	r.row("again", "moved to before this message; send it again, edited:")
	r.text(text)
}

func newUndo(cmd *cobra.Command) runFunc {
	var opt session.UndoOptions
	cmd.Flags().BoolVar(&opt.KeepLater, "keep-later", false, "append the messages that came after the pass again")
	return func(args []string) (result, error) {
		return withLog(cmd, args[0], func(f kept, log *session.Log) (_ result, err error) {
			r := &undoReport{File: f.Path()}
			if r.Undone, err = log.Undo(cmd.Context(), opt); err != nil {
				return nil, undoError(f.Path(), err)
			}
			return r, r.measure(cmd.Context(), f, log.Leaf())
		})
	}
}

// undoReport is what undo --json prints.
type undoReport struct {
	File string `json:"file"`
	session.Undone
	contextSize
}

// undoError says what to do about an undo that did not happen.
func undoError(path string, err error) error {
	later, left := errors.AsType[*session.LaterError](err)
	switch {
	case errors.Is(err, session.ErrNothingToUndo):
		return &session.Error{
			Op: "undo", Subject: path, Err: errors.New("there is nothing to undo: no pass on the path to the leaf"),
			Hint: "clew tree lists the entries",
		}
	case left:
		came := count(later.Messages, "message")
		if later.Messages == 0 {
			came = count(later.Edits, "edit")
		} else if later.Edits > 0 {
			came += " and " + count(later.Edits, "edit")
		}
		return &session.Error{
			Op: "undo", Subject: path,
			Err:  fmt.Errorf("%s came after the pass %s and would be left behind", came, later.Pass),
			Hint: "clew undo --keep-later appends them again after the restored context",
		}
	}
	return err
}

func (r *undoReport) text(rep *report) {
	what := "undone"
	if r.Redo {
		what = "done again"
	}
	rep.row(what, "pass %s in %s", short(r.Pass, maxID), r.File)
	if r.Kept > 0 {
		rep.row("kept", "%s that came after it, appended again", count(r.Kept, "entry", "entries"))
	}
	r.write(rep)
	if !r.Redo && r.Kept == 0 {
		rep.row("again", "clew undo %s brings the pass back", r.File)
	}
}
