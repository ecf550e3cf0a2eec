package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/hook"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

type compactFlags struct {
	policyFlags
	summarizerFlags
	out, reason string
	dryRun      bool
	showSummary bool
}

func newCompact(cmd *cobra.Command) runFunc {
	var fl compactFlags
	fl.policyFlags.add(cmd)
	fl.summarizerFlags.add(cmd)
	f := cmd.Flags()
	f.StringVarP(&fl.out, "out", "o", "", "write to this new file and leave FILE as it is")
	f.String("offload-dir", "", "folder that keeps what is offloaded as files, which the context names (default: the setting, else none)")
	fl.reason = string(compact.Manual)
	choiceFlag(cmd, &fl.reason, "reason", "why: manual does it in any case; threshold only what would be done before the next request",
		[]string{string(compact.Manual), string(compact.Threshold)})
	f.BoolVar(&fl.dryRun, "dry-run", false, "show what would be done, and do nothing")
	f.BoolVar(&fl.showSummary, "show-summary", false, "print the whole summary, not its beginning alone")
	return func(args []string) (result, error) { return runCompact(cmd, args[0], fl) }
}

// compactReport is what compact says, and its JSON.
type compactReport struct {
	File    string        `json:"file"`
	Out     string        `json:"out,omitempty"`
	DryRun  bool          `json:"dryRun"`
	Closed  int           `json:"settled,omitempty"`
	Model   string        `json:"model,omitempty"`
	Plan    *compact.Plan `json:"plan"`
	Summary string        `json:"summary,omitempty"`
	// Summarizer made it, Rejected says why answers of a model were not taken, and
	// Usage what its calls cost.
	Summarizer string        `json:"summarizer,omitempty"`
	Rejected   []string      `json:"rejected,omitempty"`
	Usage      *summaryUsage `json:"usage,omitempty"`
	Entries    []string      `json:"entries,omitempty"`
	// Success is always true: where something fails no report is printed and the exit code
	// is 1. Freed are tokens, Deleted offloaded files that nothing names any more.
	Success  bool     `json:"success"`
	Freed    int64    `json:"freed"`
	Deleted  []string `json:"deletedFiles"`
	Duration int64    `json:"durationMs"`

	reason     compact.Reason
	windowFrom string
	pass       clew.Config
	whole      bool // the summary is printed whole
}

func runCompact(cmd *cobra.Command, name string, fl compactFlags) (result, error) {
	policy, err := fl.policy(cmd)
	if err != nil {
		return nil, err
	}
	f, err := openSession(cmd, name, fl.dryRun || fl.out != "")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if policy.Summarizer, err = fl.summarizer(cmd, policy.settings, f); err != nil {
		return nil, err
	}
	r := &compactReport{File: f.Path(), DryRun: fl.dryRun, Deleted: []string{}, reason: compact.Reason(fl.reason), whole: fl.showSummary}
	began := time.Now()
	r.pass.Cache, r.pass.KeepFiles = policy.settings.OffloadDir, fl.out != ""
	defer working(cmd, "compacting %s", r.File)()
	if fl.dryRun {
		err = r.plan(cmd, f, policy, fl.counter)
	} else if err = r.config(cmd, f, policy, fl.counter); err == nil && fl.out == "" {
		err = r.apply(cmd, f)
	} else if err == nil {
		err = r.writeCopy(cmd, f, fl.out)
	}
	if err != nil {
		return nil, err
	}
	r.Success, r.Freed, r.Duration = true, r.Plan.Before.Tokens-r.Plan.After.Tokens, time.Since(began).Milliseconds()
	return r, nil
}

// plan computes the plan without writing anything.
func (r *compactReport) plan(cmd *cobra.Command, s session.Store, policy modelPolicy, counter counterFlag) error {
	pl, err := newPlanning(cmd, s, policy, counter)
	if err != nil {
		return err
	}
	r.Model, r.windowFrom, r.Closed = modelName(pl.Model), windowFrom(pl.windowBy, pl.Model), len(pl.closing)
	plan, err := compact.Make(cmd.Context(), pl.Snapshot, compact.Request{Reason: r.reason})
	if err != nil {
		return &session.Error{Op: "compact", Subject: r.File, Err: err}
	}
	r.take(plan)
	return nil
}

// config says how the pass is made. It reads no more than the end of the session.
func (r *compactReport) config(cmd *cobra.Command, s session.Store, policy modelPolicy, counter counterFlag) error {
	ctx, leaf := cmd.Context(), ""
	last, err := s.Last(ctx)
	if err == nil && last != nil {
		leaf = last.ID
	}
	var m session.Model
	if err == nil {
		m, err = session.ModelAt(ctx, s, leaf)
	}
	if err != nil {
		return err
	}
	of, by := policy.at(last, m)
	r.Model, r.windowFrom = modelName(m), windowFrom(by, m)
	r.pass.Policy, r.pass.Provider, r.pass.Model = of, m.Provider, m.ID
	if counter != counterHeuristic {
		r.pass.Counter = counter.of(m)
	}
	r.pass.Hooks, err = hooksFor(policy.settings, hook.SessionBeforeCompact, hook.SessionCompact, hook.SessionCompactFailed)
	return err
}

// take takes over what a plan says.
func (r *compactReport) take(plan *compact.Plan) {
	r.Plan = plan
	if s := plan.Summary; s != nil {
		r.Summary, r.Summarizer, r.Rejected, r.Usage = s.Text, s.Summarizer, s.Rejected, (*summaryUsage)(s.Usage)
	}
}

// writeCopy copies the session and appends the pass to the copy. A copy without
// its pass is of no use: when something fails there is none.
func (r *compactReport) writeCopy(cmd *cobra.Command, s kept, out string) (err error) {
	f, err := onFile(s)
	if err == nil {
		err = f.CopyTo(cmd.Context(), out)
	}
	if err != nil {
		return err
	}
	r.Out = out
	defer func() {
		if err != nil {
			if _, rerr := clew.RemoveFile(context.WithoutCancel(cmd.Context()), out); rerr != nil {
				err = fmt.Errorf("%w; and %s, a copy without a pass, can't be removed", err, out)
			}
		}
	}()
	if _, err := clew.CopySpilled(cmd.Context(), f.Path(), out); err != nil {
		return err
	}
	copied, err := jsonl.Open(cmd.Context(), out, jsonl.Options{Program: "clew " + cmd.Name()})
	if err != nil {
		return err
	}
	return errors.Join(r.apply(cmd, copied), copied.Close())
}

// apply makes the pass as a session in use does.
func (r *compactReport) apply(cmd *cobra.Command, f kept) error {
	s, err := engineOn(cmd.Context(), f, r.pass) // the file is closed by who opened it
	if err != nil {
		return err
	}
	done, err := s.Compact(cmd.Context(), clew.CompactOptions{Reason: r.reason, CloseOpenCalls: true})
	if err != nil {
		if rich, ok := errors.AsType[*clew.Error](err); ok && rich.Subject == "" {
			rich.Subject = r.File
		}
		return err
	}
	warn(cmd, done.Warnings)
	r.take(done.Plan)
	r.Closed, r.Entries, r.Deleted = done.Closed, done.Entries, append(r.Deleted, done.Deleted...)
	return nil
}

func (r *compactReport) text(rep *report) {
	pl := r.Plan
	rep.row("session", "%s", r.File)
	rep.some("model", r.Model)
	rep.window(pl, r.windowFrom)
	rep.settled(r.Closed)
	rep.before("before", pl)
	if pl.Act {
		rep.after("after", pl)
		if pl.Before.Guarded() > pl.Budget.Limit {
			rep.row("why", "%s", grouped(pl.Why))
		}
		rep.freed(pl)
		if n := len(r.Deleted); n > 0 {
			rep.row("deleted", "%s of what was offloaded: nothing names them any more", count(n, "file"))
		}
		rep.cut(pl.Cut)
		if s := pl.Summary; s != nil {
			rep.fileLists(pl.ReadFiles, pl.ModifiedFiles)
			rep.row("summary", "%s tokens, made by the %s summarizer from %s", number(s.Tokens), s.Summarizer, count(s.Coverage.Items, "message"))
			for _, why := range s.Rejected {
				rep.row("not taken", "%s", printable(why))
			}
			if u := r.Usage; u != nil {
				rep.row("model", "%s tokens in, %s out%s", number(u.Input+u.CacheRead+u.CacheWrite), number(u.Output), dollars(u.Cost))
			}
			if r.whole {
				rep.text(s.Text)
			} else {
				rep.text(beginning(s.Text))
				rep.row("more", "the whole summary: --show-summary")
			}
		}
	} else {
		rep.row("nothing", "to compact: %s", grouped(pl.Why))
	}
	switch {
	case r.DryRun:
		rep.row("written", "nothing: this was a dry run")
	case r.Out != "" && !pl.Act:
		rep.row("written", "%s, a copy without a pass", r.Out)
	case r.Out != "":
		rep.row("written", "%s; clew undo %s takes the pass back", r.Out, r.Out)
	case pl.Act:
		rep.row("written", "%s; clew undo %s takes the pass back", count(len(r.Entries), "entry", "entries"), r.File)
	}
}

// beginning is what a person wants to see of a summary: the first lines of each section
// of its briefing.
func beginning(text string) string {
	const most, ofPart = 5, 3 // lines of a section, and of each part of one
	var out []string
	left := most
	skipped := 0
	flush := func() {
		if skipped > 0 {
			out = append(out, fmt.Sprintf("  (%s more)", count(skipped, "line")))
		}
		skipped = 0
	}
	for line := range strings.SplitSeq(text, "\n") {
		heading, isHeading := strings.CutPrefix(line, "## ")
		switch {
		case isHeading && slices.Contains([]string{"Files", "Sources", "Code Changes", "Technical Context", "Critical Context", "Snippets", "User Messages", "Recall"}, heading):
			left = -1
			flush()
		case isHeading:
			flush()
			left = most
			out = append(out, line)
		case left < 0 || line == "":
		case strings.HasPrefix(line, "### "):
			flush()
			left = ofPart
			out = append(out, line)
		case left == 0:
			skipped++
		default:
			left--
			out = append(out, line)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

// summaryUsage is what the calls for a summary took, in tokens and US dollars: a message.Usage as JSON.
type summaryUsage struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Reasoning  int64   `json:"-"`
	TotalCount int64   `json:"-"`
	Cost       float64 `json:"cost,omitempty"`
}

// dollars says what something cost, where that is known.
func dollars(cost float64) string {
	if cost == 0 {
		return ""
	}
	return fmt.Sprintf(", $%.4f", cost)
}
