package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// importedFile is a file in what import --json prints.
type importedFile struct {
	File     string            `json:"file"`
	Format   transcript.Format `json:"format"`
	Why      string            `json:"why,omitempty"`
	Sessions int               `json:"sessions"`
	Out      string            `json:"out"`
	ID       string            `json:"id"`
	Cwd      string            `json:"cwd,omitempty"`
	Entries  int               `json:"entries"`
	Messages int               `json:"messages"`
	Calls    int               `json:"calls"`
	Rewrites []importedRewrite `json:"rewrites"`
	Notes    []transcript.Note `json:"notes"`
}

// importedFiles is what import prints.
type importedFiles []*importedFile

func (all importedFiles) text(rep *report) {
	for _, r := range all {
		r.text(rep)
	}
}

// importedRewrite is a place where the other program shortened its context.
type importedRewrite struct {
	Kind         string `json:"kind"`
	EntryID      string `json:"entryId"`
	Line         int    `json:"line"`
	TokensBefore int64  `json:"tokensBefore,omitempty"`
	Summary      bool   `json:"summary"`
}

type importFlags struct {
	from       string
	out        string
	force      bool
	sidechains bool
	pick       int
}

func newImport(cmd *cobra.Command) runFunc {
	var fl importFlags
	f := cmd.Flags()
	choiceFlag(cmd, &fl.from, "from", "the format of the files (default: recognized by content)", formatNames(transcript.Formats()))
	f.StringVarP(&fl.out, "out", "o", "", "the file or folder to write, or - for standard output (default: NAME.clew.jsonl here)")
	f.BoolVar(&fl.force, "force", false, "overwrite an existing file")
	f.BoolVar(&fl.sidechains, "sidechains", false, "include what sub-agents did, as separate branches")
	f.IntVar(&fl.pick, "session", 1, "which session to read from a file that holds several")
	return func(args []string) (result, error) {
		if err := fl.check(args, wantsJSON(cmd)); err != nil {
			return nil, err
		}
		var done importedFiles
		var failed error
		for _, name := range args {
			r, err := fl.importFile(cmd, name, len(args) > 1)
			switch {
			case err == nil:
				done = append(done, r)
			case cmd.Context().Err() != nil:
				return nil, cmd.Context().Err()
			default:
				complain(cmd, err)
				failed = errSilent
			}
		}
		if len(done) == 0 || fl.out == "-" {
			return nil, failed
		}
		return done, failed
	}
}

func formatNames(list []transcript.Format) (names []string) {
	for _, f := range list {
		names = append(names, string(f))
	}
	return names
}

func (fl *importFlags) check(args []string, asJSON bool) error {
	switch {
	case fl.out == "-" && len(args) > 1:
		return usagef("import: standard output can't hold %d sessions; name a folder with --out", len(args))
	case fl.out == "-" && asJSON:
		return usagef("import: --json and --out - would mix on standard output; drop one of them")
	case fl.out == "" && len(args) == 1 && args[0] == "-":
		return usagef("import: standard input has no name for the session; name a file with --out")
	case fl.pick < 1:
		return usagef("import: --session %d: sessions are counted from 1", fl.pick)
	}
	return nil
}

// importFile reads one file and writes the session.
func (fl *importFlags) importFile(cmd *cobra.Command, name string, several bool) (*importedFile, error) {
	if name != "-" {
		path, err := resolveSession(cmd.Context(), name)
		if err != nil {
			return nil, err
		}
		name = path
	}
	defer working(cmd, "importing %s", name)()
	t, err := fl.read(cmd, name)
	if err != nil {
		return nil, importError("import", name, err)
	}
	out, err := fl.target(name, several)
	if err != nil {
		return nil, err
	}
	if out == "-" {
		err = printSession(cmd.OutOrStdout(), t)
	} else {
		err = writeWhole("import", out, 0o600, fl.force, func(w io.Writer) error { return printSession(w, t) })
	}
	if err != nil {
		return nil, err
	}
	return describeImport(name, out, t), nil
}

func (fl *importFlags) read(cmd *cobra.Command, name string) (*transcript.Transcript, error) {
	opt := transcript.ReadOptions{Format: transcript.Format(fl.from), Sidechains: fl.sidechains, Select: fl.pick - 1}
	in := cmd.InOrStdin()
	if name != "-" {
		f, info, err := openFile(cmd.Context(), name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		opt.Time, in = info.ModTime(), f
	}
	return transcript.Read(in, opt)
}

// importError says what was wrong with a file that was to be read as one of another program.
func importError(op, name string, err error) error {
	if name == "-" {
		name = stdinName
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	switch {
	case errors.Is(err, transcript.ErrUnknown):
		return fmt.Errorf("%s %s: %w; if it is one, say which with --from", op, name, err)
	case errors.Is(err, transcript.ErrFormat):
		return fmt.Errorf("%s %s: %w; leave out --from, or say what it is", op, name, err)
	}
	return fmt.Errorf("%s %s: %w", op, name, err)
}

// target returns where the session of a file goes.
func (fl *importFlags) target(name string, several bool) (string, error) {
	switch info, err := os.Stat(fl.out); {
	case fl.out == "":
		return sessionName(name) + ".clew.jsonl", nil
	case fl.out == "-":
		return "-", nil
	case err == nil && info.IsDir():
	case several && errors.Is(err, fs.ErrNotExist), strings.HasSuffix(fl.out, string(filepath.Separator)), strings.HasSuffix(fl.out, "/"):
		if err := os.MkdirAll(fl.out, 0o700); err != nil {
			return "", err
		}
	case several:
		return "", fmt.Errorf("import %s: there are several sessions to write and %s is a file; name a folder", name, fl.out)
	default:
		return fl.out, nil
	}
	if name == "-" {
		name = "stdin"
	}
	return filepath.Join(fl.out, sessionName(name)+".jsonl"), nil
}

// sessionName is the name of a file without its folder and the endings that
// session files have.
func sessionName(name string) string {
	name = filepath.Base(name)
	for _, end := range []string{".jsonl", ".json", ".traj", ".txt"} {
		name = strings.TrimSuffix(name, end)
	}
	if name == "" || name == "." {
		return "session"
	}
	return name
}

func printSession(w io.Writer, t *transcript.Transcript) error {
	h := session.Header{Version: session.Version, ID: t.Header.ID, Timestamp: t.Header.Timestamp, Cwd: t.Header.Cwd, ParentSession: t.Header.ParentSession}
	if _, err := fmt.Fprintf(w, "%s\n", h.JSON()); err != nil {
		return err
	}
	for _, e := range t.Entries {
		if _, err := fmt.Fprintf(w, "%s\n", e.Raw()); err != nil {
			return err
		}
	}
	return nil
}

func describeImport(name, out string, t *transcript.Transcript) *importedFile {
	if name == "-" {
		name = stdinName
	}
	r := &importedFile{
		File: name, Format: t.Format, Why: t.Why, Sessions: t.Sessions, Out: out, ID: t.Header.ID, Cwd: t.Header.Cwd,
		Entries: len(t.Entries), Rewrites: []importedRewrite{}, Notes: append([]transcript.Note{}, t.Report.Notes...),
	}
	for _, e := range t.Entries {
		if e.Type != session.TypeMessage || e.CopyOf() != "" {
			continue
		}
		r.Messages++
		if m, err := e.Message(); err == nil && m.Role == message.RoleAssistant && m.Usage != nil && m.Usage.Total() > 0 {
			r.Calls++
		}
	}
	for _, rw := range t.Rewrites {
		r.Rewrites = append(r.Rewrites, importedRewrite{
			Kind: rw.Kind, EntryID: rw.EntryID, Line: rw.Line, TokensBefore: rw.TokensBefore, Summary: rw.Summary != "" && !rw.Encrypted,
		})
	}
	return r
}

func (r *importedFile) text(rep *report) {
	first := rep.p.paint(styleBold, printable(r.File)) + ": " + string(r.Format)
	if r.Why != "" {
		first += " (" + printable(r.Why) + ")"
	}
	rep.line(first)
	if r.Sessions > 1 {
		rep.line("  it holds ", count(r.Sessions, "session"), "; --session says which is read")
	}
	rep.notes(r.Notes)
	line := rep.p.paint(styleBold, printable(r.Out)) + ": " + count(r.Messages, "message")
	if r.Calls > 0 {
		line += ", " + count(r.Calls, "call") + " with usage"
	}
	if n := len(r.Rewrites); n > 0 {
		line += ", compacted " + count(n, "time")
	}
	rep.line(line)
}
