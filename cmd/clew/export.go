package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/page"
	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// formatHTML is a page to read: no format of package transcript, for no program
// reads it back.
const formatHTML transcript.Format = "html"

// exportReport is what export --json prints.
type exportReport struct {
	File     string            `json:"file"`
	Format   transcript.Format `json:"format"`
	Out      string            `json:"out"`
	Full     bool              `json:"full"`
	Messages int               `json:"messages"`
	Bytes    int64             `json:"bytes"`
	Notes    []transcript.Note `json:"notes"`
}

type exportFlags struct {
	to, out               string
	full, force, noRedact bool
}

func newExport(cmd *cobra.Command) runFunc {
	var fl exportFlags
	f := cmd.Flags()
	can := formatNames(writableFormats())
	choiceFlag(cmd, &fl.to, "to", "the format to write (also --format)", can)
	f.Var(choice{&fl.to, can}, "format", "as --to")
	_ = f.MarkHidden("format")
	f.StringVarP(&fl.out, "out", "o", "", "the file to write (default: standard output)")
	f.String("leaf", "", "write the path to this entry (an id or the beginning of one)")
	f.BoolVar(&fl.full, "full", false, "write the whole path, not only the context")
	f.BoolVar(&fl.noRedact, "no-redact", false, "keep keys, tokens and passwords")
	f.BoolVar(&fl.force, "force", false, "overwrite an existing file")
	return func(args []string) (result, error) {
		switch toFile := fl.out != "" && fl.out != "-"; {
		case fl.to == "":
			return nil, usagef("export: name the format with --to: %s", strings.Join(can, ", "))
		case wantsJSON(cmd) && !toFile:
			return nil, usagef("export: --json reports on a file; name it with --out")
		case !toFile:
			fl.out = "-"
		}
		return withLeaf(cmd, args[0], "leaf", func(f kept, leaf string) (result, error) { return fl.export(cmd, f, leaf) })
	}
}

func writableFormats() (list []transcript.Format) {
	for _, f := range transcript.Formats() {
		if f.Writable() {
			list = append(list, f)
		}
	}
	return append(list, formatHTML)
}

func (fl *exportFlags) export(cmd *cobra.Command, f kept, leaf string) (result, error) {
	done := working(cmd, "writing %s", fl.to)
	defer done()
	r := &exportReport{File: f.Path(), Format: transcript.Format(fl.to), Out: fl.out, Full: fl.full, Notes: []transcript.Note{}}
	write := func(w io.Writer) error {
		if err := fl.write(cmd.Context(), w, f, leaf, r); err != nil {
			return fmt.Errorf("export %s: %w", f.Path(), err)
		}
		return nil
	}
	if fl.out != "-" {
		if err := writeWhole("export", fl.out, 0o600, fl.force, write); err != nil {
			return nil, err
		}
		info, err := os.Stat(fl.out)
		if err == nil {
			r.Bytes = info.Size()
		}
		return r, err
	}
	// It is made whole before any of it is written, so that an error leaves nothing.
	var buf bytes.Buffer
	if err := write(&buf); err != nil {
		return nil, err
	}
	done()
	_, err := buf.WriteTo(cmd.OutOrStdout())
	cmd.SetOut(cmd.ErrOrStderr()) // the output is the export
	return r, err
}

// write writes the session in the form that was asked for and says what it wrote.
func (fl *exportFlags) write(ctx context.Context, w io.Writer, f session.Store, leaf string, r *exportReport) error {
	if r.Format == formatHTML {
		p, err := page.New(ctx, f, leaf, page.Options{KeepSecrets: fl.noRedact})
		if err != nil {
			return err
		}
		r.Full, r.Messages = true, p.Messages()
		if n := p.Secrets(); n > 0 {
			r.Notes = append(r.Notes, transcript.SecretsNote(n))
		}
		return p.Write(ctx, w)
	}
	s := f
	if !fl.noRedact {
		s = transcript.Redact(f)
	}
	done, err := transcript.Write(ctx, w, s, r.Format, transcript.WriteOptions{Full: fl.full, Leaf: leaf})
	if err != nil {
		return err
	}
	r.Messages, r.Notes = done.Messages, append(r.Notes, done.Report.Notes...)
	return nil
}

// writeWhole writes a file that others read, whole or not at all.
func writeWhole(what, out string, mode fs.FileMode, force bool, write func(io.Writer) error) error {
	path, place := out, vfs.Publish
	if force { // the old one stays until the new one is whole
		path, place = out+".new", vfs.WriteNew
		if err := vfs.RemoveOwn(vfs.OS{}, path); err != nil {
			return fmt.Errorf("%s: write %s: %w", what, out, err)
		}
	}
	var made error
	err := place(vfs.OS{}, path, mode, func(f io.Writer) error {
		w := bufio.NewWriter(f)
		made = write(w)
		return cmp.Or(made, w.Flush())
	})
	if err == nil && force {
		err = os.Rename(path, out)
	}
	pe, failed := errors.AsType[*fs.PathError](err)
	switch {
	case made != nil:
		return made
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s: %s already exists; choose another name or add --force; nothing was written", what, out)
	case failed:
		return fmt.Errorf("%s: write %s: %w", what, out, pe.Err)
	}
	return err
}

func (r *exportReport) text(rep *report) {
	if r.Out != "-" {
		rep.line(printable(r.Out), ": ", string(r.Format), ", ", count(r.Messages, "message"), ", ", size(r.Bytes))
	}
	rep.notes(r.Notes)
}

// notes lists what was lost, made or damaged, a line for each thing that is said of any;
// bookkeeping is counted in one.
func (r *report) notes(notes []transcript.Note) {
	aside := 0
	var told []transcript.Note // each with what is said again
	for _, n := range notes {
		at := slices.IndexFunc(told, func(o transcript.Note) bool { return o.Class == n.Class && o.What == n.What })
		switch {
		case n.Class == transcript.Aside:
			aside += n.Count
		case at < 0:
			told = append(told, n)
		default:
			told[at].Count += n.Count
			told[at].Line = min(told[at].Line, n.Line)
		}
	}
	for _, n := range told {
		text := n.What + " (" + number(int64(n.Count))
		if n.Line > 0 {
			text += ", first at " + number(int64(n.Line))
		}
		r.wrap("  "+string(n.Class)+": ", text+")", r.wide)
	}
	switch {
	case aside == 1:
		r.line("  1 item that is not part of the conversation was left out; --json names it")
	case aside > 1:
		r.line("  ", number(int64(aside)), " items that are not part of the conversation were left out; --json names them")
	}
}
