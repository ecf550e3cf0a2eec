package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/lost"
	"github.com/clew-dev/clew/internal/setup"
)

// setupReport is what setup --json prints.
type setupReport struct {
	Program string      `json:"program"`
	Done    bool        `json:"done"` // nothing has to change any more
	Changes []setupFile `json:"changes"`
	Runs    []lost.Run  `json:"runs,omitempty"` // of hooks, with --check
	check   bool
}

// setupFile is a file that was changed, or has to be.
type setupFile struct {
	Path string `json:"path"`
	Diff string `json:"diff"`
}

func newSetup(cmd *cobra.Command) runFunc {
	cmd.ValidArgs = setup.Programs()
	f := cmd.Flags()
	undo := f.Bool("undo", false, "take clew out again")
	check := f.Bool("check", false, "say whether it is set up, and what its hooks did last; change nothing")
	yes := f.BoolP("yes", "y", false, "do not ask")
	return func(args []string) (result, error) {
		if !slices.Contains(setup.Programs(), args[0]) {
			return nil, usagef("setup: %s: there are %s", args[0], strings.Join(setup.Programs(), ", "))
		}
		user, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("setup: %w", err)
		}
		changes, err := setup.Plan(args[0], setup.Options{Getenv: os.Getenv, UserHome: user, Command: ownCommand(), Undo: *undo})
		if err != nil {
			return nil, fmt.Errorf("setup: %w", err)
		}
		r := &setupReport{Program: args[0], Done: len(changes) == 0, Changes: []setupFile{}, check: *check}
		for _, c := range changes {
			r.Changes = append(r.Changes, setupFile{c.Path, udiff.Unified(c.Path, c.Path, string(c.Before), string(c.After))})
		}
		if *check {
			r.Runs, err = lost.Runs(hookLog())
			r.Runs = slices.DeleteFunc(r.Runs, func(run lost.Run) bool { return run.Program != args[0] })
			r.Runs = r.Runs[max(0, len(r.Runs)-shownRuns):]
			return r, err
		}
		if !r.Done {
			if !wantsJSON(cmd) {
				for _, c := range r.Changes {
					fmt.Fprint(cmd.ErrOrStderr(), printableLines(c.Diff))
				}
			}
			if !*yes {
				if err := confirm(cmd, "changes anything", "--yes", "Change "+count(len(changes), "file")+"?", "nothing changed", nil); err != nil {
					return nil, err
				}
			}
			for _, c := range changes {
				if err := c.Write(); err != nil {
					return nil, fmt.Errorf("setup: %w", err)
				}
			}
			r.Done = true
		}
		return r, nil
	}
}

// ownCommand is how this program is started again: by its name where that finds it, else by
// its path.
func ownCommand() string {
	own, err := os.Executable()
	if err != nil {
		return "clew"
	}
	if found, err := exec.LookPath("clew"); err == nil {
		a, aerr := os.Stat(found)
		b, berr := os.Stat(own)
		if aerr == nil && berr == nil && os.SameFile(a, b) {
			return "clew"
		}
	}
	return filepath.ToSlash(own)
}

// shownRuns is how many runs of hooks --check tells, the last.
const shownRuns = 8

// printableLines keeps lines lines, and makes each safe to print.
func printableLines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t+-"))]
		b.WriteString(indent + printable(line[len(indent):]) + "\n")
	}
	return b.String()
}

func (r *setupReport) text(rep *report) {
	switch {
	case !r.check && len(r.Changes) > 0:
		for _, c := range r.Changes {
			rep.row("written", "%s", c.Path)
		}
		rep.row("", "start %s anew", r.Program)
		if r.Program == "codex" {
			rep.row("", "Codex asks then whether it may run the hooks")
		}
	case r.Done:
		rep.row("set up", "nothing to change")
	default:
		for _, c := range r.Changes {
			rep.row("to change", "%s", c.Path)
		}
		rep.row("", "clew setup %s makes the changes", r.Program)
	}
	for _, run := range r.Runs {
		what := run.Event
		if run.Source != "" {
			what += " (" + run.Source + ")"
		}
		switch {
		case run.Error != "":
			what += ": failed: " + run.Error
		case run.Chars == 0:
			what += ": silent: " + run.Why
		default:
			what += ": " + count(run.Chars, "character") + " given"
		}
		rep.row("hook", "%s  %s, %d ms", clock(run.Time), what, run.Millis)
	}
	if r.check && len(r.Runs) == 0 && slices.Contains(hookPrograms, r.Program) {
		rep.row("hook", "no run yet")
	}
}
