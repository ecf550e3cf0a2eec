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
	digits, nothing := 0, ""
	for _, f := range r.Fixes {
		digits = max(digits, len(strconv.Itoa(f.Line)))
	}
	if digits == 0 {
		nothing = " nothing to repair"
	}
	rep.line(rep.p.paint(styleBold, printable(r.File)), ":", nothing)
	for _, f := range r.Fixes {
		done := f.Done + " [" + f.Code + "]"
		if f.EntryID != "" {
			done = short(f.EntryID, maxID) + ": " + done
		}
		rep.wrap("  line "+padLeft(strconv.Itoa(f.Line), digits)+"  ", done, rep.wide)
	}
	if r.More > 0 {
		rep.line("  and ", number(int64(r.More)), " more of this, not listed")
	}
	more := ""
	if n := len(r.Problems); n > 0 {
		more = "; clew verify lists " + count(n, "thing") + " worth knowing"
	}
	rep.line(rep.p.paint(styleBold, printable(r.Out)), ": ", rep.verdict(r.Sound), ", ", count(r.Entries, "entry", "entries"), more)
}
