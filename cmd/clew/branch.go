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

func newBranch() *cobra.Command {
	var fl branchFlags
	cmd := newCommand("branch", groupChange)
	cmd.ValidArgsFunction = completeTarget
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return runBranch(cmd, args[0], args[1], fl) }
	f := cmd.Flags()
	f.BoolVar(&fl.summarize, "summarize", false, "begin the new branch with a summary of the branch you leave")
	addSummaryFlags(cmd, &fl.template, &fl.instructions, "briefing")
	f.StringVar(&fl.budget, "budget", "", fmt.Sprintf("size limit of the summary in tokens (default and maximum: %d)", branch.DefaultBudget))
	f.StringVar(&fl.label, "label", "", "label the summary, or TARGET if there is no summary")
	f.BoolVar(&fl.dryRun, "dry-run", false, "show what would be done and change nothing")
	jsonFlag(cmd)
	return cmd
}

// branchReport is what branch --json prints.
type branchReport struct {
	File     string         `json:"file"`
	DryRun   bool           `json:"dryRun"`
	From     string         `json:"from,omitempty"`
	To       string         `json:"to,omitempty"`
	Ancestor string         `json:"ancestor,omitempty"`
	Left     int            `json:"left"`
	Text     string         `json:"text,omitempty"`
	Summary  *branchSummary `json:"summary,omitempty"`
	Why      string         `json:"why,omitempty"`
	Closed   int            `json:"settled,omitempty"`
	Entries  []string       `json:"entries,omitempty"`
	Leaf     string         `json:"leaf,omitempty"`
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
	if err == nil && isRoot(label) {
		err = errRootLabel(cmd, label)
	}
	return clew.BranchOptions{Summarize: fl.summarize, Instructions: fl.instructions, Label: label, DryRun: fl.dryRun}, policy, err
}

func runBranch(cmd *cobra.Command, name, target string, fl branchFlags) error {
	opt, policy, err := fl.options(cmd)
	if err != nil {
		return err
	}
	return withSession(cmd, name, fl.dryRun, func(f kept) (result, error) {
		r := &branchReport{File: f.Path(), DryRun: fl.dryRun}
		return r, r.run(cmd, f, target, policy, opt)
	})
}

func (r *branchReport) run(cmd *cobra.Command, store session.Store, name string, policy compact.Policy, opt clew.BranchOptions) error {
	ctx := cmd.Context()
	target := ""
	e, err := findTarget(ctx, store, name)
	if err != nil {
		return err
	}
	if e != nil {
		target = e.ID
	}
	if opt.Label != "" {
		labels, err := labelsOf(ctx, store)
		if err != nil {
			return err
		}
		labelled := target
		if opt.Summarize {
			labelled = "" // the summary is new
		}
		if err := freeLabel(labels, opt.Label, labelled); err != nil {
			return err
		}
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
	bar := newProgress(cmd)
	defer bar.done()
	bar.say("looking at what is left behind")
	b, err := s.Branch(ctx, target, opt)
	if err != nil {
		return err
	}
	warn(cmd, b.Warnings)
	if b.Leaf == b.From && r.To != b.From {
		return &session.Error{Op: "branch", Subject: r.File, Err: errors.New(b.Why)}
	}
	r.tell(b)
	for _, e := range []struct {
		id    string
		words *string
	}{{r.From, &r.from}, {r.To, &r.to}, {r.Ancestor, &r.both}} {
		if *e.words, err = inWords(ctx, store, e.id); err != nil {
			return err
		}
	}
	if r.moved && !opt.DryRun {
		// Its results are on the branch that was left.
		if r.Closed, err = s.CloseOpenCalls(ctx); err != nil {
			return err
		}
		r.Leaf = s.Leaf()
	}
	return r.sizeAfter(ctx, store, b)
}

// tell takes over what Branch says.
func (r *branchReport) tell(b *clew.Branched) {
	r.From, r.Ancestor, r.Left, r.Text, r.Why, r.Entries, r.Leaf = b.From, b.Ancestor, b.Left, b.Text, b.Why, b.Entries, b.Leaf
	r.moved = r.To != r.From
	if b.Summary == nil {
		return
	}
	r.Summary = &branchSummary{
		Text: b.Summary.Summary, CachedFrom: b.CachedFrom,
		ReadFiles: append([]string{}, b.ReadFiles...), ModifiedFiles: append([]string{}, b.ModifiedFiles...),
	}
	if out := b.Output; out != nil {
		r.Summary.Tokens, r.Summary.Summarizer = out.Tokens, out.Summarizer
	}
}

// sizeAfter finds out what the context takes now, or would take after a dry run.
func (r *branchReport) sizeAfter(ctx context.Context, store session.Store, b *clew.Branched) error {
	leaf := r.Leaf
	if r.DryRun && r.moved {
		path, err := session.Path(ctx, store, r.To)
		if err != nil {
			return err
		}
		store = session.NewMemory(store.Header(), path...)
		log, err := session.NewLog(ctx, store, session.Options{})
		if err != nil {
			return err
		}
		if b.Summary != nil {
			if _, err := log.Append(ctx, session.NewBranchSummary(*b.Summary)); err != nil {
				return err
			}
		}
		if r.Closed, err = compact.CloseOpenCalls(ctx, log); err != nil {
			return err
		}
		leaf, r.Leaf = log.Leaf(), ""
	}
	return r.measure(ctx, store, leaf)
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
	d := describe(e)
	return short(id, maxID) + "  " + d.Kind + "  " + d.line(), nil
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
	if r.Closed > 0 {
		rep.row("settled", "%s got a result that says so", count(r.Closed, "interrupted call"))
	}
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

// again writes a message of the user before which a conversation stands now.
func (r *report) again(text string) {
	if text == "" {
		return
	}
	r.row("again", "moved to before this message; send it again, edited:")
	r.text(text)
}

func newUndo() *cobra.Command {
	var opt session.UndoOptions
	cmd := newCommand("undo", groupChange)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withLog(cmd, args[0], func(f kept, log *session.Log) (_ result, err error) {
			r := &undoReport{File: f.Path()}
			if r.Undone, err = log.Undo(cmd.Context(), opt); err != nil {
				return nil, undoError(f.Path(), err)
			}
			return r, r.measure(cmd.Context(), f, log.Leaf())
		})
	}
	cmd.Flags().BoolVar(&opt.KeepLater, "keep-later", false, "append the messages that came after the pass again")
	jsonFlag(cmd)
	return cmd
}

// undoReport is what undo --json prints.
type undoReport struct {
	File string `json:"file"`
	session.Undone
	contextSize
}

// undoError says what to do about an undo that did not happen.
func undoError(path string, err error) error {
	var later *session.LaterError
	switch {
	case errors.Is(err, session.ErrNothingToUndo):
		return &session.Error{
			Op: "undo", Subject: path, Err: errors.New("there is nothing to undo: no pass on the path to the leaf"),
			Hint: "clew tree lists the entries",
		}
	case errors.As(err, &later):
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
