package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// verifiedFile is a file in what verify --json prints.
type verifiedFile struct {
	Path     string            `json:"path"`
	Sound    bool              `json:"sound"`
	Error    string            `json:"error,omitempty"`
	ID       string            `json:"id,omitempty"`
	Format   transcript.Format `json:"format,omitempty"` // of a session of another program
	Version  int               `json:"version,omitempty"`
	Entries  int               `json:"entries"`
	Errors   int               `json:"errors"`
	Warnings int               `json:"warnings"`
	Infos    int               `json:"infos"`
	Problems []session.Problem `json:"problems"`
}

// verifiedFiles is what verify prints.
type verifiedFiles []verifiedFile

func (all verifiedFiles) text(rep *report) {
	for i := range all {
		if all[i].Error == "" { // else it has been said
			all[i].text(rep)
		}
	}
}

func newVerify(cmd *cobra.Command) runFunc {
	return func(args []string) (result, error) {
		bar := newProgress(cmd)
		defer bar.done()
		files := verifiedFiles{}
		var failed error
		for i, name := range args {
			bar.say("verifying %d of %d: %s", i+1, len(args), name)
			v := verifyFile(cmd, name)
			if err := cmd.Context().Err(); err != nil {
				return nil, err
			}
			if files = append(files, v); !v.Sound {
				failed = errSilent
			}
			if v.Error != "" && !wantsJSON(cmd) {
				bar.done()
				fmt.Fprintf(cmd.ErrOrStderr(), "clew: %s\n", v.Error)
			}
		}
		return files, failed
	}
}

func verifyFile(cmd *cobra.Command, name string) verifiedFile {
	v := verifiedFile{Path: name, Problems: []session.Problem{}}
	err := func() error {
		s, t, err := openAny(cmd, name)
		if err != nil {
			return err
		}
		defer s.Close()
		v.Path, v.ID, v.Version = s.Path(), s.Header().ID, s.Version()
		if t != nil { // the session that was made of it is sound; the file may not be
			v.Format, v.Version, v.Entries = t.Format, 0, len(t.Entries)
			v.Problems = append(v.Problems, damageOf(t)...)
			return nil
		}
		problems, err := s.Verify(cmd.Context())
		if err != nil {
			return err
		}
		if name != "-" {
			lost, err := clew.VerifySpilled(cmd.Context(), s, s.Path())
			if err != nil {
				return err
			}
			problems = append(problems, lost...)
		}
		offsets, err := s.Offsets(cmd.Context())
		v.Entries = len(offsets)
		v.Problems = append(v.Problems, problems...)
		return err
	}()
	if err != nil {
		v.Error = printable(advise(err).Error())
		return v
	}
	for i, p := range v.Problems {
		v.Problems[i].Remedy = withCommand(p.Remedy)
		switch p.Severity {
		case session.SevError:
			v.Errors++
		case session.SevWarning:
			v.Warnings++
		case session.SevInfo:
			v.Infos++
		}
	}
	v.Sound = v.Errors == 0
	return v
}

func (v *verifiedFile) text(rep *report) {
	verdict := rep.verdict(v.Sound)
	if v.Format != "" {
		verdict = string(v.Format) + ", " + verdict
	}
	line := verdict + ", " + count(v.Entries, "entry", "entries")
	for i, word := range []string{"error", "warning", "info"} {
		if n := []int{v.Errors, v.Warnings, v.Infos}[i]; n > 0 {
			line += ", " + count(n, word)
		}
	}
	rep.line(rep.p.paint(styleBold, printable(v.Path)), ": ", line)
	digits := 0
	for _, pr := range v.Problems {
		digits = max(digits, len(strconv.Itoa(pr.Line)))
	}
	for _, pr := range v.Problems {
		st := map[session.Severity]style{session.SevError: styleRed, session.SevWarning: styleYellow, session.SevInfo: styleBlue}[pr.Severity]
		first := "  line " + padLeft(strconv.Itoa(pr.Line), digits) + "  " + rep.p.paint(st, pad(string(pr.Severity), 7)) + "  "
		margin := strings.Repeat(" ", textWidth(first))
		what := printable(pr.What) + " [" + pr.Code + "]"
		if pr.EntryID != "" {
			what = short(pr.EntryID, maxID) + ": " + what
		}
		rep.wrap(first, what, rep.wide)
		if pr.Meaning != "" {
			rep.wrap(margin, pr.Meaning, rep.wide)
		}
		if pr.Remedy != "" {
			rep.wrap(margin, "remedy: "+strings.ReplaceAll(pr.Remedy, "repair FILE", "repair "+v.Path), rep.wide)
		}
	}
}
