package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// repairReport is what repair --json prints.
type repairReport struct {
	File     string            `json:"file"`
	Out      string            `json:"out"`
	ID       string            `json:"id"`
	Entries  int               `json:"entries"`
	Fixes    []jsonl.Fix       `json:"fixes"`
	More     int               `json:"more,omitempty"`
	Sound    bool              `json:"sound"`
	Problems []session.Problem `json:"problems"`
}

func newRepair() *cobra.Command {
	cmd := newCommand("repair", groupChange)
	out := cmd.Flags().StringP("out", "o", "", "the file to write; it must not exist")
	jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *out == "" {
			return usagef("repair: it writes to a new file; name it with --out")
		}
		r, path, err := repairTo(cmd, args[0], *out)
		if err != nil {
			return err
		}
		problems, err := problemsOf(cmd, *out)
		if err != nil {
			return err
		}
		res := repairReport{
			File: path, Out: *out, ID: r.Header.ID, Entries: r.Entries,
			Fixes: append([]jsonl.Fix{}, r.Fixes...), More: r.More, Sound: true, Problems: problems,
		}
		for _, p := range problems {
			res.Sound = res.Sound && p.Severity != session.SevError
		}
		if err = show(cmd, &res); err == nil && !res.Sound {
			return fmt.Errorf("repair: %s still has errors; clew verify %s lists them", *out, *out)
		}
		return err
	}
	return cmd
}

func repairTo(cmd *cobra.Command, name, out string) (*jsonl.Repaired, string, error) {
	bar := newProgress(cmd)
	bar.say("repairing %s", name)
	defer bar.done()
	if name == "-" {
		r, err := jsonl.RepairFrom(cmd.Context(), stdinName, cmd.InOrStdin(), out)
		return r, stdinName, err
	}
	path, err := resolveSession(cmd.Context(), name)
	if err != nil {
		return nil, "", err
	}
	r, err := jsonl.Repair(cmd.Context(), path, out)
	return r, path, err
}

// problemsOf verifies the copy: what repair says of it is not taken on trust.
func problemsOf(cmd *cobra.Command, path string) ([]session.Problem, error) {
	f, err := jsonl.Open(cmd.Context(), path, jsonl.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	problems, err := f.Verify(cmd.Context())
	return append([]session.Problem{}, problems...), err
}

func (r *repairReport) text(rep *report) {
	w, p := rep.w, rep.p
	path := printable(r.File)
	digits := 0
	for _, f := range r.Fixes {
		digits = max(digits, len(strconv.Itoa(f.Line)))
	}
	w.WriteString(p.paint(styleBold, path) + ":")
	if len(r.Fixes) == 0 {
		w.WriteString(" nothing to repair")
	}
	w.WriteString("\n")
	for _, f := range r.Fixes {
		line := "  line " + padLeft(strconv.Itoa(f.Line), digits) + "  "
		done := printable(f.Done) + " [" + f.Code + "]"
		if f.EntryID != "" {
			done = short(f.EntryID, maxID) + ": " + done
		}
		wrap(w, line, done, len(line), rep.wide)
	}
	if r.More > 0 {
		w.WriteString("  and " + number(int64(r.More)) + " more of this, not listed\n")
	}
	verdict := p.paint(styleGreen, "sound")
	if !r.Sound {
		verdict = p.paint(styleRed, "not sound")
	}
	line := p.paint(styleBold, printable(r.Out)) + ": " + verdict + ", " + count(r.Entries, "entry", "entries")
	if n := len(r.Problems); n > 0 {
		line += "; clew verify lists " + count(n, "thing") + " worth knowing"
	}
	w.WriteString(line + "\n")
}
