package main

import (
	"bufio"
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
	w, p, path := rep.w, rep.p, printable(v.Path)
	verdict := p.paint(styleGreen, "sound")
	if !v.Sound {
		verdict = p.paint(styleRed, "not sound")
	}
	if v.Format != "" {
		verdict = string(v.Format) + ", " + verdict
	}
	line := p.paint(styleBold, path) + ": " + verdict + ", " + count(v.Entries, "entry", "entries")
	for _, n := range []struct {
		n    int
		word string
	}{{v.Errors, "error"}, {v.Warnings, "warning"}, {v.Infos, "info"}} {
		if n.n > 0 {
			line += ", " + count(n.n, n.word)
		}
	}
	w.WriteString(line + "\n")
	digits := 0
	for _, pr := range v.Problems {
		digits = max(digits, len(strconv.Itoa(pr.Line)))
	}
	for _, pr := range v.Problems {
		printProblem(w, p, path, digits, rep.wide, pr)
	}
}

func printProblem(w *bufio.Writer, p painter, path string, digits, columns int, pr session.Problem) {
	st := map[session.Severity]style{session.SevError: styleRed, session.SevWarning: styleYellow, session.SevInfo: styleBlue}[pr.Severity]
	line := "  line " + padLeft(strconv.Itoa(pr.Line), digits) + "  " + p.paint(st, pad(string(pr.Severity), 7)) + "  "
	margin := 2 + 5 + digits + 2 + 7 + 2
	what := printable(pr.What) + " [" + pr.Code + "]"
	if pr.EntryID != "" {
		what = short(pr.EntryID, maxID) + ": " + what
	}
	wrap(w, line, what, margin, columns)
	if pr.Meaning != "" {
		wrap(w, strings.Repeat(" ", margin), printable(pr.Meaning), margin, columns)
	}
	if pr.Remedy != "" {
		remedy := printable(strings.ReplaceAll(pr.Remedy, "repair FILE", "repair "+path))
		wrap(w, strings.Repeat(" ", margin), "remedy: "+remedy, margin, columns)
	}
}

// wrap writes first and text, broken between words so that no line is longer than
// columns where that is possible; the lines after the first have a margin.
func wrap(w *bufio.Writer, first, text string, margin, columns int) {
	w.WriteString(first)
	at := margin
	for i, word := range strings.Fields(text) {
		n := textWidth(word)
		switch {
		case i == 0:
		case at+1+n > columns && at > margin:
			w.WriteString("\n" + strings.Repeat(" ", margin))
			at = margin
		default:
			w.WriteByte(' ')
			at++
		}
		w.WriteString(word)
		at += n
	}
	w.WriteByte('\n')
}
