package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/token"
)

type compactFlags struct {
	window, keep, target string
	reserve              string
	preset               string
	template             string
	instructions         string
	out                  string
	dryRun               bool
	json                 *bool
}

func newCompact() *cobra.Command {
	var fl compactFlags
	cmd := &cobra.Command{
		Use:   "compact FILE",
		Short: "Take old history out of the context, so that it fits the window",
		Long: `compact appends one pass to a session: a summary of what is old, and where
what is kept begins. The conversation itself is not touched; clew undo takes
the pass back. No model is asked: the summary is made from the log by rules.

The pass is appended to FILE, or with --out to a copy of it. Amounts are
tokens (20000, 20k) or a share of the window (25%).`,
		Example: `  clew compact --window 64000 --out compacted.jsonl session.jsonl
  clew compact --keep 10k session.jsonl
  clew compact --preset pi --window 200k session.jsonl
  clew compact --dry-run --json session.jsonl`,
		GroupID: groupChange,
		Args:    argCount(1, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runCompact(cmd, args[0], fl) },
	}
	f := cmd.Flags()
	f.StringVar(&fl.window, "window", "", "the model's window in tokens (default: that of the session's model, else 200000)")
	f.StringVar(&fl.reserve, "reserve", "", "what stays free for the answer (default: 16384, at most a quarter of the window)")
	f.StringVar(&fl.keep, "keep", "", "the newest part that stays as it is (default: what the target leaves)")
	f.StringVar(&fl.target, "target", "", "how large the context is to be afterwards (default: half of the window)")
	f.StringVar(&fl.preset, "preset", compact.PresetClew, "the policy: "+strings.Join(compact.PresetNames(), ", "))
	f.StringVar(&fl.template, "template", "", "the form of the summary: "+templateNames()+" (default: the preset's, else structured)")
	f.StringVar(&fl.instructions, "instructions", "", "what the summary is to pay attention to")
	f.StringVarP(&fl.out, "out", "o", "", "write to this new file and leave FILE as it is")
	f.BoolVar(&fl.dryRun, "dry-run", false, "show what would be done, and do nothing")
	fl.json = jsonFlag(cmd)
	return cmd
}

func runCompact(cmd *cobra.Command, name string, fl compactFlags) (err error) {
	policy, err := fl.policy()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	readOnly := fl.dryRun || fl.out != ""
	f, err := openSession(cmd, name, readOnly)
	if err != nil {
		return err
	}
	defer f.Close()
	if fl.out != "" && !fl.dryRun {
		if f, err = copySession(cmd, f, fl.out); err != nil {
			return err
		}
		defer func() {
			f.Close()
			if err != nil { // a copy without its pass is of no use
				_ = os.Remove(fl.out)
			}
		}()
	}
	log, err := session.NewLog(ctx, f, session.Options{})
	if err != nil {
		return err
	}
	r := &compactReport{File: f.Path(), Out: fl.out, DryRun: fl.dryRun}
	if !fl.dryRun {
		if r.Settled, err = compact.Settle(ctx, log); err != nil {
			return err
		}
	}
	if err := r.plan(cmd, log, policy); err != nil {
		return err
	}
	if r.Plan.Act && !fl.dryRun {
		entries, err := compact.Apply(ctx, log, r.Plan)
		if err != nil {
			return err
		}
		for _, e := range entries {
			r.Entries = append(r.Entries, e.ID)
		}
	}
	if *fl.json {
		return printJSON(cmd, r)
	}
	r.print(cmd)
	return nil
}

// copySession writes the session to a new file and opens that.
func copySession(cmd *cobra.Command, f *jsonl.File, out string) (*jsonl.File, error) {
	if err := f.CopyTo(cmd.Context(), out); err != nil {
		return nil, err
	}
	copied, err := openSession(cmd, out, false)
	if err != nil {
		_ = os.Remove(out)
	}
	return copied, err
}

func (fl *compactFlags) policy() (compact.Policy, error) {
	p, err := compact.Preset(fl.preset)
	if err != nil {
		return p, usagef("--preset: %w", err)
	}
	p.Instructions = fl.instructions
	if fl.template != "" {
		if p.Template = templateByName(fl.template); p.Template == nil {
			return p, usagef("--template %s: there is no such template; there are %s", fl.template, templateNames())
		}
	}
	amounts := []struct {
		flag, value string
		to          *compact.Amount
	}{{"keep", fl.keep, &p.Keep}, {"reserve", fl.reserve, &p.Reserve}, {"target", fl.target, &p.Target}}
	for _, a := range amounts {
		if a.value == "" {
			continue
		}
		n, err := compact.ParseAmount(a.value)
		if err != nil {
			return p, usagef("--%s: %w", a.flag, err)
		}
		*a.to = n
	}
	window, err := parseWindow(fl.window)
	if err != nil {
		return p, err
	}
	p.Window = window
	if _, _, err := p.Resolve(); err != nil {
		return p, usagef("--window: %w", err)
	}
	return p, nil
}

// parseWindow reads --window; 0 means that it was not given.
func parseWindow(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := compact.ParseAmount(s)
	if err != nil || strings.HasSuffix(s, "%") {
		return 0, usagef("--window %s: write the model's window in tokens, such as 64000 or 64k", s)
	}
	if n.Of(0) == 0 {
		return 0, usagef("--window 0: a window of no tokens can't hold a prompt and an answer")
	}
	return n.Of(0), nil
}

func templateByName(name string) *summary.Template {
	for _, t := range summary.Templates() {
		if t.Name() == name {
			return t
		}
	}
	return nil
}

func templateNames() string {
	var names []string
	for _, t := range summary.Templates() {
		names = append(names, t.Name())
	}
	return strings.Join(names, ", ")
}

// compactReport is what compact says, and its JSON.
type compactReport struct {
	File    string        `json:"file"`
	Out     string        `json:"out,omitempty"`
	DryRun  bool          `json:"dryRun"`
	Settled int           `json:"settled,omitempty"`
	Model   string        `json:"model,omitempty"`
	Plan    *compact.Plan `json:"plan"`
	Summary string        `json:"summary,omitempty"`
	Entries []string      `json:"entries,omitempty"`

	windowFrom string
}

func (r *compactReport) plan(cmd *cobra.Command, log *session.Log, policy compact.Policy) error {
	ctx := cmd.Context()
	model, _, err := session.Settings(ctx, log.Store(), log.Leaf())
	if err != nil {
		return err
	}
	r.Model = strings.Trim(model.Provider+"/"+model.ID, "/")
	if policy.Window == 0 {
		policy.Window, r.windowFrom = windowOf(model)
	}
	path, err := session.ContextPath(ctx, log.Store(), log.Leaf())
	if err != nil {
		return err
	}
	last, err := log.Store().Last(ctx)
	if err != nil {
		return err
	}
	if last == nil {
		return &session.Error{Op: "compact", Subject: r.File, Err: errors.New("the session has no entries"), Hint: "there is nothing to do"}
	}
	meter, err := token.NewMeter(token.Config{Provider: model.Provider, Model: model.ID})
	if err != nil {
		return err
	}
	pr := newProgress(cmd)
	defer pr.done()
	pr.say("summarizing %s", count(len(path), "entry", "entries"))
	r.Plan, err = compact.Make(ctx, compact.Input{
		Path: path, Last: last.ID, Meter: meter, Reason: compact.Manual, Cwd: log.Store().Header().Cwd,
	}, policy)
	if err != nil {
		return &session.Error{Op: "compact", Subject: r.File, Err: err}
	}
	if r.Plan.Summary != nil {
		r.Summary = r.Plan.Summary.Text
	}
	return nil
}

func (r *compactReport) print(cmd *cobra.Command) {
	out := cmd.OutOrStdout()
	p := newPainter(cmd)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%s %s\n", p.paint(styleBold, fmt.Sprintf("%-9s", name)), fmt.Sprintf(format, args...))
	}
	pl := r.Plan
	row("session", "%s", oneLine(r.File))
	if r.Model != "" {
		row("model", "%s", oneLine(r.Model))
	}
	row("window", "%s tokens%s, %s reserved for the answer: %s for the context",
		number(pl.Budget.Window), r.windowFrom, number(pl.Budget.Reserve), number(pl.Budget.Limit))
	for _, c := range pl.Clamps {
		row("clamped", "%s: %s asked, %s taken; %s", c.Setting, number(c.Asked), number(c.Got), c.Why)
	}
	if r.Settled > 0 {
		row("settled", "%d calls that were interrupted got a result that says so", r.Settled)
	}
	if pl.Policy != compact.PresetClew {
		row("preset", "%s", pl.Policy)
	}
	row("before", "%s  %s", usageBar(p, pl.Before.Tokens, pl.Budget.Window), howMeasured(pl.Before))
	if !pl.Act {
		row("nothing", "%s", pl.Why)
		return
	}
	row("after", "%s  %s", usageBar(p, pl.After.Tokens, pl.Budget.Window), howMeasured(pl.After))
	if pl.Guarded {
		row("guard", "what the preset does would not have fit; the ladder did the rest")
	}
	for _, rung := range pl.Rungs {
		row(rung.Name, "freed %s tokens%s", number(rung.Freed), editedIn(rung))
	}
	if c := pl.Cut; c != nil {
		row("cut", "before %s: %d messages summarized, %d kept", short(c.FirstKept, 16), c.Summarized, c.Kept)
		row("", "%s", c.Why)
		if c.SplitTurn {
			row("", "inside the turn that began with %s; its beginning is summarized too", short(c.TurnStart, 16))
		}
	}
	row("files", "%d read, %d modified", len(pl.ReadFiles), len(pl.ModifiedFiles))
	for _, f := range pl.ModifiedFiles {
		row("", "modified %s", oneLine(f))
	}
	if s := pl.Summary; s != nil {
		row("summary", "%s tokens, made by the %s summarizer from %d messages", number(s.Tokens), s.Summarizer, s.Coverage.Items)
		fmt.Fprintln(out)
		indent(out, p, s.Text)
		fmt.Fprintln(out)
	}
	switch {
	case r.DryRun:
		row("nothing", "was written: this was a dry run")
	case r.Out != "":
		row("written", "%s; clew undo %s takes it back", oneLine(r.Out), oneLine(r.Out))
	default:
		row("written", "%d entries; clew undo %s takes them back", len(r.Entries), oneLine(r.File))
	}
}

// indent writes a text with a margin that sets it off from the report.
func indent(out io.Writer, p painter, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(out, "%s %s\n", p.paint(styleDim, "  |"), printableText(strings.TrimRight(line, "\n")))
	}
}

// editedIn says how many messages a rung has edited.
func editedIn(r compact.Rung) string {
	if r.Entries == 0 {
		return ""
	}
	return " in " + count(r.Entries, "message")
}
