// Package page writes a replay report as one HTML file: it needs no network, no
// scripts and no other file, and every text in it is escaped.
//
//	err := page.Write(file, report, page.Notes{})
package page

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/clew-dev/clew/internal/replay"
	"github.com/clew-dev/clew/internal/text"
)

// Notes are what the report itself does not know.
type Notes struct {
	// Unread and Damaged are files with what is wrong with them.
	Unread, Damaged []replay.Note
	// Passed counts files of folders that are no sessions.
	Passed int
}

//go:embed page.html
var source string

// Write writes the report. The same report gives the same bytes.
func Write(w io.Writer, r *replay.Report, notes Notes) error {
	t, err := template.New("page").Funcs(template.FuncMap{"share": replay.Share, "number": number}).Parse(source)
	if err != nil {
		return err
	}
	return t.Execute(w, newView(r, notes))
}

// number writes a whole number.
func number(n int) string { return text.Digits(n, text.Thin) }
