package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/tui"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// explainReport is what explain --json prints.
type explainReport struct {
	File  string `json:"file"`
	Leaf  string `json:"leaf,omitempty"`
	Model string `json:"model,omitempty"`
	// Waiting are calls that have no result yet; a plan is of the context with
	// results that say so.
	Waiting int `json:"waiting,omitempty"`
	// Plan is what would happen at the next request; Manual what clew compact would
	// do, where that is something else.
	Plan    *compact.Plan `json:"plan,omitempty"`
	Manual  *compact.Plan `json:"manual,omitempty"`
	Failure string        `json:"failure,omitempty"`
	// Strategy is that of the summary in the plan, or of one of the whole context.
	Strategy *summary.Chosen `json:"strategy,omitempty"`
	Pins     []string        `json:"pins"`
	// Checkpoints are the entries at which a task seems to have ended, oldest first.
	Checkpoints []describedCheckpoint    `json:"checkpoints"`
	Entries     int                      `json:"entries"`
	Counts      map[compact.FateKind]int `json:"counts"`
	Fates       []describedFate          `json:"fates,omitempty"`

	all        []describedFate // of every entry on the path, oldest first
	inWords    bool            // all of them are described, not only those that are pinned
	windowFrom string
}

// describedFate is a fate with what it is about.
type describedFate struct {
	compact.Fate
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`

	said described
}

type describedCheckpoint struct {
	ledger.Checkpoint
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
}

func newExplain(cmd *cobra.Command) runFunc {
	var policy policyFlags
	policy.add(cmd)
	fates := cmd.Flags().Bool("fates", false, "list what became of each entry on the path")
	presets := cmd.Flags().Bool("presets", false, "compare what each preset would do")
	return func(args []string) (result, error) {
		if *presets && (*fates || cmd.Flags().Changed("preset")) {
			return nil, usagef("--presets compares all presets; leave --preset and --fates away")
		}
		p, err := policy.policy(cmd)
		if err != nil {
			return nil, err
		}
		return withSession(cmd, args[0], true, func(f kept) (result, error) {
			if *presets {
				return comparePresets(cmd, f, policy)
			}
			e := &explainReport{File: f.Path(), inWords: *fates}
			err := e.load(cmd, f, p, policy.counter)
			if *fates {
				e.Fates = e.all
			}
			return e, err
		})
	}
}

// presetsReport is what explain --presets --json prints.
type presetsReport struct {
	File    string       `json:"file"`
	Presets []presetPlan `json:"presets"`
}

type presetPlan struct {
	Preset string `json:"preset"`
	// Plan is what would happen at the next request, or what clew compact would do
	// where ByHand says so.
	Plan    *compact.Plan `json:"plan,omitempty"`
	ByHand  bool          `json:"byHand,omitempty"`
	Summary int64         `json:"summary,omitempty"` // tokens
	Failure string        `json:"failure,omitempty"`
}

// comparePresets plans with one preset after the other.
func comparePresets(cmd *cobra.Command, f session.Store, policy policyFlags) (result, error) {
	out := presetsReport{File: cmd.Flags().Arg(0)}
	pr := newProgress(cmd)
	defer pr.done()
	policy.quiet = true
	for _, name := range compact.PresetNames() {
		pr.say("planning as %s", name)
		if err := cmd.Flags().Set("preset", name); err != nil {
			return nil, err
		}
		p, err := policy.policy(cmd)
		if err != nil {
			return nil, err
		}
		e := &explainReport{File: out.File}
		planning, err := newPlanning(cmd, f, p, policy.counter)
		if err == nil {
			err = e.plans(cmd.Context(), planning)
		}
		if err != nil {
			return nil, err
		}
		row := presetPlan{Preset: name, Plan: e.Plan, Failure: e.Failure}
		if e.Manual != nil && e.Manual.Act {
			row.Plan, row.ByHand = e.Manual, true
		}
		if row.Plan != nil && row.Plan.Summary != nil {
			row.Summary = row.Plan.Summary.Tokens
		}
		out.Presets = append(out.Presets, row)
	}
	return &out, nil
}

func (r *presetsReport) text(rep *report) {
	rep.row("session", "%s", r.File)
	for _, row := range r.Presets {
		row.print(rep)
	}
}

// print says in a few lines what a preset would do.
func (row *presetPlan) print(rep *report) {
	pl := row.Plan
	switch {
	case row.Failure != "":
		rep.row(row.Preset, "fails: %s", grouped(row.Failure))
	case !pl.Act:
		rep.row(row.Preset, "nothing: %s", grouped(pl.Why))
	default:
		when := "before the next request"
		if row.ByHand {
			when = "only by hand"
		}
		rep.row(row.Preset, "%s: %s → %s tokens; %s", when, number(pl.Before.Tokens), number(pl.After.Tokens), grouped(pl.Why))
		for _, st := range pl.Stages {
			rep.row("", "%s %s: %s", st.Name, number(st.Freed), stageText(st))
		}
		if pl.Cut != nil {
			rep.row("", "%s, %s", grouped(pl.Cut.Why), count(pl.Cut.Kept, "message"))
		}
		if row.Summary > 0 {
			rep.row("", "a summary of %s tokens", number(row.Summary))
		}
	}
}

// load computes all that explain says.
func (e *explainReport) load(cmd *cobra.Command, s session.Store, policy modelPolicy, counter counterFlag) error {
	ctx := cmd.Context()
	p, err := newPlanning(cmd, s, policy, counter)
	if err != nil {
		return err
	}
	e.Leaf, e.Model, e.windowFrom, e.Waiting = p.leaf, modelName(p.Model), windowFrom(p.windowBy, p.Model), len(p.closing)
	if err := e.fates(ctx, s, p.leaf); err != nil {
		return err
	}
	defer working(cmd, "planning for %s", count(e.Entries, "entry", "entries"))()
	if err := e.plans(ctx, p); err != nil {
		return err
	}
	return e.strategy(ctx, p)
}

func (e *explainReport) strategy(ctx context.Context, p *loaded) error {
	for _, plan := range []*compact.Plan{e.Plan, e.Manual} {
		if plan != nil && plan.Summary != nil {
			e.Strategy = &plan.Summary.Profile
			return nil
		}
	}
	c, err := summary.ProfileOf(ctx, summary.Input{
		Items: p.Context.Items, Cwd: p.Cwd, Budget: p.Budget.Summary, Counter: p.Meter, ClipLast: true,
		Profile: p.Policy.Strategy,
	})
	e.Strategy = &c
	return err
}

func (e *explainReport) plans(ctx context.Context, p *loaded) (err error) {
	e.Plan, err = compact.Make(ctx, p.Snapshot, compact.Request{Reason: compact.Threshold})
	if err == nil && !e.Plan.Act {
		e.Manual, err = compact.Make(ctx, p.Snapshot, compact.Request{Reason: compact.Manual})
	}
	if fixed, ok := errors.AsType[*compact.FixedPartError](err); ok {
		e.Failure, err = fixed.Error(), nil
	}
	if err != nil {
		return &session.Error{Op: "explain", Subject: e.File, Err: err}
	}
	return nil
}

// fates says what became of every entry on the path, and counts. It keeps only the
// entries in memory that the context needs, and of the others what they say in a line.
func (e *explainReport) fates(ctx context.Context, s session.Store, leaf string) error {
	path, err := session.ContextPath(ctx, s, leaf)
	if err != nil {
		return err
	}
	e.Pins = append([]string{}, session.Pins(path)...)
	e.Counts = map[compact.FateKind]int{}
	fate, ended := compact.FateIn(path), compact.Checkpoints(path)
	e.Checkpoints = []describedCheckpoint{}
	err = session.Walk(ctx, s, leaf, func(entry *session.Entry) bool {
		f := describedFate{Fate: fate(entry)}
		f.Entry = own(f.Entry)
		e.Counts[f.Fate.Fate]++
		if e.inWords || f.Pinned {
			f.said = describe(entry).own()
			f.Kind, f.Text = f.said.Kind, f.said.line()
		}
		e.all = append(e.all, f)
		if why := ended[f.Entry]; why != "" {
			d := describe(entry).own()
			e.Checkpoints = append(e.Checkpoints, describedCheckpoint{ledger.Checkpoint{Entry: f.Entry, Why: why}, d.Kind, d.line()})
		}
		return false
	})
	slices.Reverse(e.all)
	slices.Reverse(e.Checkpoints)
	e.Entries = len(e.all)
	return err
}

func (e *explainReport) text(rep *report) {
	rep.row("session", "%s", e.File)
	rep.some("model", e.Model)
	rep.some("fails", grouped(e.Failure))
	if e.Plan != nil {
		e.printPlan(rep)
	}
	if s := e.Strategy; s != nil {
		rep.row("strategy", "%s: %s", printable(s.Name), s.Why)
		rep.row("", "%s", s.String())
	}
	e.printMarks(rep)
	rep.row("path", "%s", count(e.Entries, "entry", "entries"))
	fates := make([]compact.Fate, len(e.all))
	for i, f := range e.all {
		fates[i] = f.Fate
	}
	var lines []numberLine
	for _, c := range tui.FateCounts(fates, number) {
		lines = append(lines, numberLine{string(c.Kind), c.N, c.Text})
	}
	rep.numbers(lines)
	if e.inWords {
		printFates(rep, e.all)
	}
}

func (e *explainReport) printPlan(rep *report) {
	pl := e.Plan
	rep.window(pl, e.windowFrom)
	rep.before("now", pl)
	e.printTrigger(rep)
	if e.Waiting > 0 {
		rep.row("waiting", "%s no result yet, so nothing is done before it is there; what follows takes it as interrupted",
			count(e.Waiting, "call has", "calls have"))
	}
	if pl.Act {
		rep.row("next", "before the next request a pass is made: %s", grouped(pl.Why))
		printWould(rep, pl)
		return
	}
	rep.row("next", "nothing is done before the next request: %s", grouped(pl.Why))
	switch m := e.Manual; {
	case m == nil:
	case m.Act:
		rep.row("by hand", "clew compact would make this pass now:")
		printWould(rep, m)
	default:
		rep.row("by hand", "clew compact would do nothing either: %s", grouped(m.Why))
	}
}

// printTrigger says how far it is to a pass, in the size that is compared.
func (e *explainReport) printTrigger(rep *report) {
	guarded, limit := e.Plan.Before.Guarded(), e.Plan.Budget.Limit
	line := "over " + number(limit) + " tokens"
	room := limit - guarded
	if trigger := e.Plan.Threshold(); trigger < limit {
		line += ", or from " + number(trigger) + " on"
		room = min(room, trigger-e.Plan.Before.Tokens)
	}
	if guarded > e.Plan.Before.Tokens {
		line += "; with the usual error of estimates it is at " + number(guarded)
	}
	bytes := e.Plan.Budget.Bytes
	if bytes > 0 {
		line += fmt.Sprintf("; or over %s bytes, it is at about %s", number(bytes), number(e.Plan.Before.Bytes))
	}
	switch {
	case bytes > 0 && e.Plan.Before.Bytes > bytes:
		line += "; reached"
	case e.Plan.Act && !e.Plan.OnlyThinking && room >= 0:
		line += "; reached, as the preset counts"
	case room >= 0:
		line += ": " + number(room) + " to go"
	default:
		line += ": " + number(-room) + " over"
	}
	rep.row("trigger", "%s", line)
}

// printWould says what a plan would do.
func printWould(rep *report, pl *compact.Plan) {
	rep.after("after", pl)
	rep.freed(pl)
	rep.cut(pl.Cut)
	if s := pl.Summary; s != nil {
		rep.row("summary", "%s tokens from %s", number(s.Tokens), count(s.Coverage.Items, "message"))
	}
}

// printMarks lists the newest checkpoints, and the pins.
func (e *explainReport) printMarks(rep *report) {
	const most = 8
	name, list := "checkpoint", e.Checkpoints
	row := func(text string) {
		rep.row(name, "%s", cut(text, rep.columns-reportMargin))
		name = ""
	}
	if n := len(list) - most; n > 0 {
		row(count(n, "earlier one"))
		list = list[n:]
	}
	for _, c := range list {
		row(short(c.Entry, maxID) + " " + c.Why.Words() + ": " + c.Kind + " " + c.Text)
	}
	name = "pins"
	for _, id := range e.Pins {
		text := short(id, maxID)
		if at := slices.IndexFunc(e.all, func(f describedFate) bool { return f.Pinned && f.Entry == id }); at >= 0 {
			text += " " + e.all[at].Kind + " " + e.all[at].Text
		}
		row(text)
	}
	if len(e.Pins) == 0 {
		row("none")
	}
}

// printFates lists the fates, oldest entry first.
func printFates(rep *report, all []describedFate) {
	rep.line()
	n := shortestOf(all, func(f *describedFate) string { return f.Entry })
	for _, f := range all {
		line := pad(short(f.Entry, n), n) + "  " + pad(string(f.Fate.Fate), 10) + "  "
		var by []string
		if f.Pinned {
			by = append(by, "pinned")
		}
		if f.Why != "" {
			by = append(by, printable(f.Why))
		}
		if f.By != "" {
			by = append(by, "by "+short(f.By, n))
		}
		if len(by) > 0 {
			line += "(" + strings.Join(by, ", ") + ") "
		}
		line += f.Kind + ": "
		rep.line(cut(line+fit(f.said.Text, f.said.Tail, max(rep.columns-textWidth(line), 0)), rep.columns))
	}
}
