package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/syntax"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
	"github.com/clew-dev/clew/wire"
)

// resumeReport is what resume --json prints.
type resumeReport struct {
	File    string            `json:"file"`
	Program transcript.Format `json:"program"` // that goes on
	Out     string            `json:"out"`
	ID      string            `json:"id"`
	Before  int64             `json:"tokensBefore"`
	After   int64             `json:"tokensAfter"`
	Command string            `json:"command"`
}

// resumable are the programs in which a session can be carried on.
var resumable = []transcript.Format{transcript.ClaudeCode, transcript.Codex, transcript.GeminiCLI, transcript.OpenCode, transcript.Pi, sessions.Clew}

func newResume(cmd *cobra.Command) runFunc {
	names := formatNames(resumable)
	in := ""
	choiceFlag(cmd, &in, "in", "the program that goes on (default: the one whose session it is): "+strings.Join(names, ", "), names)
	keep := cmd.Flags().String("keep", "20k", "how much of its end stays as it is, in tokens or percent of the window")
	return func(args []string) (result, error) {
		cwd, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		if len(args) == 0 {
			newest, err := newestOf(cmd.Context(), cwd)
			if err != nil {
				return nil, err
			}
			args = []string{newest}
		}
		tail, err := compact.ParseAmount(*keep)
		if err != nil {
			return nil, usagef("resume: --keep %w", err)
		}
		return resume(cmd, args[0], transcript.Format(in), cwd, tail)
	}
}

// newestOf returns the file of the session of a project that was written to last.
func newestOf(ctx context.Context, cwd string) (string, error) {
	all, _, err := everywhere(ctx)
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(all, func(f sessions.Found) bool { return !f.In(cwd) })
	if len(all) == 0 {
		return "", errors.New("resume: no session of this folder; name one, clew ls --all lists them")
	}
	return all[0].Path, nil
}

// resume compacts a copy of a session and puts it where the program finds it.
func resume(cmd *cobra.Command, name string, in transcript.Format, cwd string, keep compact.Amount) (result, error) {
	ctx := cmd.Context()
	f, t, err := openAny(cmd, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch {
	case in != "":
	case t == nil:
		in = sessions.Clew
	case slices.Contains(resumable, t.Format):
		in = t.Format
	default:
		return nil, usagef("resume: sessions of %s can't be written; say with --in which program goes on", t.Format)
	}
	h := home.NewHeader(cwd, nil, uuid.NewString)
	if in == transcript.OpenCode {
		h.ID = "ses_" + strings.ReplaceAll(h.ID, "-", "")[:26]
	}
	leaf, err := leafOf(cmd, f, "leaf")
	if err != nil {
		return nil, err
	}
	path, err := session.Path(ctx, f, leaf)
	if err != nil {
		return nil, err
	}
	if t != nil {
		path = asSaid(path)
	}
	small := session.NewMemory(h, path...)
	s, err := clew.OpenStore(ctx, small, clew.Config{Cwd: cwd})
	if err == nil {
		_, err = s.CloseOpenCalls(ctx)
	}
	if err != nil {
		return nil, err
	}
	defer working(cmd, "compacting a copy of %s", f.Path())()
	done, err := s.Compact(ctx, clew.CompactOptions{Keep: keep})
	if err != nil {
		return nil, err
	}
	note := message.User(fmt.Sprintf("This conversation goes on from a compacted copy. What the summary names with [#...] stands whole in the log: `clew recall %s ID` prints it.", cmp.Or(source(f.Path(), f.Header().ID), f.Path())), time.Now())
	note.Origin = message.OriginInjected
	if _, err := s.Append(ctx, note); err != nil {
		return nil, err
	}
	r := &resumeReport{File: f.Path(), Program: in, ID: h.ID, Before: done.Plan.Before.Tokens, After: done.Plan.After.Tokens}
	if r.Out, r.Command, err = resumePlace(in, &h); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(r.Out), 0o700); err != nil {
		return nil, err
	}
	if in == transcript.GeminiCLI {
		if err := sessions.MarkGemini(filepath.Dir(filepath.Dir(r.Out)), cwd); err != nil {
			return nil, err
		}
	}
	format, full := in, false
	if in == sessions.Clew {
		format, full = transcript.Pi, true
	} else if small, err = keptUnsized(ctx, small); err != nil {
		return nil, err
	}
	// It is made whole before any of it is written.
	var buf bytes.Buffer
	if _, err := transcript.Write(ctx, &buf, small, format, transcript.WriteOptions{Full: full}); err != nil {
		return nil, fmt.Errorf("resume %s: %w", f.Path(), err)
	}
	if err := writeWhole("resume", r.Out, 0o600, false, func(w io.Writer) error { _, err := buf.WriteTo(w); return err }); err != nil {
		return nil, err
	}
	return r, nil
}

// asSaid returns a path without the compactions that another program made, where what these
// took out is there: clew makes its own summary of all that was said, which has what theirs
// lacks. Copies of what they kept go with them, and the sizes of contexts that no longer are.
func asSaid(path []*session.Entry) (out []*session.Entry) {
	parent, said, dropped := "", false, false
	for _, e := range path {
		if c, ok := e.Compaction(); ok && said {
			of := message.Message{Role: message.RoleCompactionSummary, Details: c.Details}
			if wire.SummaryForm(&of).Open == "" { // as it stood in the other program
				dropped = true
				continue
			}
		}
		if dropped && e.CopyOf() != "" {
			continue
		}
		if e.Type == session.TypeMessage {
			said = true
			if dropped {
				e = unsized(e)
			}
		}
		out = append(out, e.WithIdentity(e.ID, parent))
		parent = e.ID
	}
	return out
}

// unsized returns an answer without its usage, which is of a context that is no more.
func unsized(e *session.Entry) *session.Entry {
	raw := e.Field("message")
	if jsonx.Get(raw, "usage") == nil {
		return e
	}
	none := (&message.Usage{}).JSON() // pi expects one of every answer
	if u, err := session.ParseEntry(jsonx.Set(e.Raw(), "message", jsonx.Set(raw, "usage", none))); err == nil {
		return u
	}
	return e
}

// keptUnsized returns a copy in which the answers before the compaction, or before what was shortened, have no usage. A
// program would take what they report for the size of the context, and compact at once.
func keptUnsized(ctx context.Context, s *session.Memory) (*session.Memory, error) {
	last, err := s.Last(ctx)
	if err != nil {
		return nil, err
	}
	path, err := session.Path(ctx, s, last.ID)
	if err != nil {
		return nil, err
	}
	cut := len(path)
	for cut > 0 && path[cut-1].Type != session.TypeCompaction && path[cut-1].Type != session.TypeContextEdit {
		cut--
	}
	for i, e := range path[:cut] {
		path[i] = unsized(e)
	}
	return session.NewMemory(s.Header(), path...), nil
}

// source is how the session that was copied is named for recall: by its id where that finds it.
func source(path, id string) string {
	if found, err := resolveSession(context.Background(), short(id, 8)); err == nil && found == path {
		return short(id, 8)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}

var notAlnum = text.Pattern(`[^A-Za-z0-9]`)

// resumePlace returns the file in which a program looks for a session, and the command that
// makes it go on.
func resumePlace(in transcript.Format, h *session.Header) (path, command string, err error) {
	user, err := os.UserHomeDir()
	if err != nil {
		return "", "", fmt.Errorf("resume: %w", err)
	}
	at := h.Timestamp.UTC()
	dir := sessions.ProgramDir(in, os.Getenv, user)
	switch in {
	case transcript.ClaudeCode:
		path = filepath.Join(dir, "projects", notAlnum().ReplaceAllString(h.Cwd, "-"), h.ID+".jsonl")
		return path, "claude --resume " + h.ID, nil
	case transcript.Codex:
		path = filepath.Join(dir, "sessions", at.Format("2006/01/02"), "rollout-"+at.Format("2006-01-02T15-04-05")+"-"+h.ID+".jsonl")
		return path, "codex resume " + h.ID, nil
	case transcript.GeminiCLI:
		name := "session-" + at.Format("2006-01-02T15-04") + "-" + h.ID[:8] + ".jsonl"
		return filepath.Join(dir, "tmp", sessions.GeminiProject(dir, h.Cwd), "chats", name), "gemini --resume " + h.ID, nil
	case transcript.OpenCode: // which keeps its sessions in a database
		path = filepath.Join(os.TempDir(), "clew-"+h.ID+".json")
		return path, "opencode import " + shellWord(path) + " && opencode --session " + h.ID, nil
	case transcript.Pi:
		folder := "--" + strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimLeft(h.Cwd, `/\`)) + "--"
		path = filepath.Join(dir, "sessions", folder, home.FileName(at, h.ID))
		return path, "pi --session " + shellWord(path), nil
	default: // clew
	}
	data, err := home.Default()
	if err != nil {
		return "", "", err
	}
	project, err := data.Project(h.Cwd)
	return filepath.Join(project, home.FileName(at, h.ID)), "clew chat --resume=" + short(h.ID, 8), err
}

// shellWord is a word as a shell takes it.
func shellWord(word string) string {
	if runtime.GOOS == "windows" {
		return `"` + word + `"` // which no name there has in it
	}
	if quoted, err := syntax.Quote(word, syntax.LangPOSIX); err == nil { // else no shell can be given it
		return quoted
	}
	return word
}

func (r *resumeReport) text(rep *report) {
	rep.row("session", "%s", r.File)
	rep.row("written", "%s", r.Out)
	rep.row("context", "%s tokens, %s before", number(r.After), number(r.Before))
	// On one line of any length, so that it can be copied.
	rep.w.WriteString("go on with " + printable(r.Command) + "\n")
}
