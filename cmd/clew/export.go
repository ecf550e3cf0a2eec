package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

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
	to, out, leaf string
	full, force   bool
}

func newExport() *cobra.Command {
	var fl exportFlags
	can := writableFormats()
	cmd := &cobra.Command{
		Use:   "export FILE",
		Short: "Write a session in the form of another agent or API",
		Long: `export writes the context of a session, what the model would see at the leaf,
in another form: as a session file of another agent, which that can resume,
or as the list of messages that goes to an API. With --full it writes the
whole path instead, as it was said, with the compactions where the form has
a place for them. FILE is not changed.

Forms: ` + joinFormats(can) + `.
What the form has no place for is counted.`,
		Example: `  clew export session.jsonl --to anthropic > body.json
  clew export session.jsonl --to claude-code --out 0199a1b2.jsonl
  clew export --full session.jsonl --to codex --out rollout.jsonl`,
		GroupID: groupChange,
		Args:    argCount(1, 1),
	}
	f := cmd.Flags()
	f.StringVar(&fl.to, "to", "", "the form to write")
	f.StringVarP(&fl.out, "out", "o", "", "the file to write (default: the output)")
	f.StringVar(&fl.leaf, "leaf", "", "write the path to this entry (an id or the beginning of one)")
	f.BoolVar(&fl.full, "full", false, "write the whole path, not the context alone")
	f.BoolVar(&fl.force, "force", false, "write over a file that is there")
	asJSON := jsonFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("to", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return formatNames(can), cobra.ShellCompDirectiveNoFileComp
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := fl.check(can, *asJSON); err != nil {
			return err
		}
		r, err := fl.export(cmd, args[0])
		switch {
		case err != nil:
			return err
		case *asJSON:
			return printJSON(cmd, r)
		case fl.out == "":
			return r.print(cmd, cmd.ErrOrStderr())
		default:
			return r.print(cmd, cmd.OutOrStdout())
		}
	}
	return cmd
}

func writableFormats() (list []transcript.Format) {
	for _, f := range transcript.Formats() {
		if f.Writable() {
			list = append(list, f)
		}
	}
	return list
}

func (fl *exportFlags) check(can []transcript.Format, asJSON bool) error {
	if fl.out == "-" {
		fl.out = ""
	}
	if fl.to == "" {
		return usagef("export: say the form with --to: %s", joinFormats(can))
	}
	f, err := transcript.ParseFormat(fl.to)
	switch {
	case err != nil || !f.Writable():
		return usagef("export: --to %s: there are %s", fl.to, joinFormats(can))
	case asJSON && fl.out == "":
		return usagef("export: --json tells of a file; name it with --out")
	}
	return nil
}

func (fl *exportFlags) export(cmd *cobra.Command, name string) (*exportReport, error) {
	f, err := openSession(cmd, name, true)
	if err != nil {
		if errors.Is(err, session.ErrNotSession) {
			return nil, fmt.Errorf("%w; a file of another agent is read by clew import", err)
		}
		return nil, err
	}
	defer f.Close()
	opt := transcript.WriteOptions{Full: fl.full}
	if opt.Leaf, err = leafOf(cmd, f, fl.leaf); err != nil {
		return nil, err
	}
	bar := newProgress(cmd)
	defer bar.done()
	bar.say("writing %s", fl.to)
	// It is made whole before any of it is written, so that an error leaves nothing.
	var buf bytes.Buffer
	done, err := transcript.Write(cmd.Context(), &buf, f, transcript.Format(fl.to), opt)
	if err != nil {
		return nil, fmt.Errorf("export %s: %w", f.Path(), err)
	}
	r := &exportReport{
		File: f.Path(), Format: done.Format, Out: fl.out, Full: fl.full,
		Messages: done.Messages, Bytes: int64(buf.Len()), Notes: append([]transcript.Note{}, done.Report.Notes...),
	}
	bar.done()
	if fl.out == "" {
		r.Out = "-"
		_, err = buf.WriteTo(cmd.OutOrStdout())
		return r, err
	}
	return r, writeWhole(fl.out, buf.Bytes(), fl.force)
}

// writeWhole writes a file that others read, whole or not at all.
func writeWhole(out string, data []byte, force bool) (err error) {
	if _, err := os.Lstat(out); err == nil && !force {
		return fmt.Errorf("export: %s is there already; choose another name or add --force; nothing was written", out)
	}
	part, err := os.CreateTemp(filepath.Dir(out), "."+filepath.Base(out)+".*")
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return fmt.Errorf("export: write %s: %w", out, err)
	}
	defer func() {
		if err != nil {
			_ = part.Close() // it may be closed already
			_ = os.Remove(part.Name())
		}
	}()
	if _, err = part.Write(data); err != nil {
		return err
	}
	if err = part.Sync(); err != nil {
		return err
	}
	if err = part.Close(); err != nil {
		return err
	}
	if force {
		return os.Rename(part.Name(), out)
	}
	// A link, unlike a rename, fails when a file of that name came meanwhile.
	if err = os.Link(part.Name(), out); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("export: %s is there already; nothing was written", out)
	} else if err != nil {
		return os.Rename(part.Name(), out)
	}
	return os.Remove(part.Name())
}

func (r *exportReport) print(cmd *cobra.Command, to io.Writer) error {
	w := bufio.NewWriter(to)
	if r.Out != "-" {
		w.WriteString(printable(r.Out) + ": " + string(r.Format) + ", " + count(r.Messages, "message") + ", " + size(r.Bytes) + "\n")
	}
	printNotes(w, width(cmd), "  ", r.Notes)
	return w.Flush()
}

// printNotes lists what was lost, made or damaged, a line each; bookkeeping is
// counted in one.
func printNotes(w *bufio.Writer, columns int, margin string, notes []transcript.Note) {
	aside := 0
	for _, n := range notes {
		if n.Class == transcript.Aside {
			aside += n.Count
			continue
		}
		text := printable(n.What) + " (" + number(int64(n.Count))
		if n.Line > 0 {
			text += ", first at " + number(int64(n.Line))
		}
		head := margin + string(n.Class) + ": "
		wrap(w, head, text+")", len(head), columns)
	}
	switch {
	case aside == 1:
		w.WriteString(margin + "1 thing that is no part of the conversation was left out; --json names it\n")
	case aside > 1:
		w.WriteString(margin + number(int64(aside)) + " things that are no part of the conversation were left out; --json names them\n")
	}
}
