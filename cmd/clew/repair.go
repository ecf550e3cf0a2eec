package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// repairReport is what repair --json prints.
type repairReport struct {
	File string `json:"file"`
	Out  string `json:"out"`
	ID   string `json:"id"`
	*jsonl.Repaired
	Sound    bool              `json:"sound"`
	Problems []session.Problem `json:"problems"`
}

func newRepair(cmd *cobra.Command) runFunc {
	out := cmd.Flags().StringP("out", "o", "", "the file to write; it must not exist")
	return func(args []string) (_ result, err error) {
		if *out == "" {
			return nil, usagef("repair: it writes to a new file; name it with --out")
		}
		r := &repairReport{Out: *out}
		defer working(cmd, "repairing %s", args[0])()
		if args[0] == "-" {
			r.File = stdinName
			r.Repaired, err = jsonl.RepairFrom(cmd.Context(), stdinName, cmd.InOrStdin(), *out)
		} else if r.File, err = resolveSession(cmd.Context(), args[0]); err == nil {
			r.Repaired, err = jsonl.Repair(cmd.Context(), r.File, *out)
		}
		if err != nil {
			return nil, err
		}
		// What repair says of the copy is not taken on trust.
		f, err := jsonl.Open(cmd.Context(), *out, jsonl.Options{ReadOnly: true})
		if err != nil {
			return nil, err
		}
		defer f.Close()
		problems, err := f.Verify(cmd.Context())
		if err != nil {
			return nil, err
		}
		r.ID, r.Problems = r.Header.ID, append([]session.Problem{}, problems...)
		r.Sound = !slices.ContainsFunc(problems, func(p session.Problem) bool { return p.Severity == session.SevError })
		if !r.Sound {
			err = fmt.Errorf("repair: %s still has errors; clew verify %s lists them", *out, *out)
		}
		return r, err
	}
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
