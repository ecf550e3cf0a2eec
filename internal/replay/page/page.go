// Package page writes a replay report as one HTML file: it needs no network, no
// scripts and no other file, and every text in it is escaped.
//
//	err := page.Write(file, report, page.Notes{})
package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/clew-dev/clew/internal/replay"
)

// Notes are what the report itself does not know.
type Notes struct {
	// Unread and Damaged are files with what is wrong with them.
	Unread, Damaged []File
	// Passed counts files of folders that are no sessions.
	Passed int
}

// File is a file and what is wrong with it.
type File struct{ Path, Why string }

//go:embed page.html
var source string

// Write writes the report. The same report gives the same bytes.
func Write(w io.Writer, r *replay.Report, notes Notes) error {
	t, err := template.New("page").Funcs(template.FuncMap{"share": share, "number": number[int]}).Parse(source)
	if err != nil {
		return err
	}
	return t.Execute(w, newView(r, notes))
}

// share writes a figure between 0 and 1.
func share(f float64) string { return strings.TrimPrefix(fmt.Sprintf("%.2f", f), "0") }

// number writes a whole number with a space between groups of three digits.
func number[T int | float64](n T) string {
	s := fmt.Sprintf("%.0f", float64(n))
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}
