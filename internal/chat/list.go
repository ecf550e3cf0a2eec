package chat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/agent/tool"
	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/internal/page"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/transcript"
)

// Sessions implements Host.
func (s *Session) Sessions(ctx context.Context, all bool) ([]jsonl.Info, error) {
	list := func() (home.Listing, error) { return s.cfg.Home.List(ctx, s.cfg.Dir) }
	if all {
		list = func() (home.Listing, error) { return s.cfg.Home.ListAll(ctx) }
	}
	l, err := list()
	return l.Sessions, err
}

// Remove implements Host.
func (s *Session) Remove(ctx context.Context, path string) error {
	s.switching.Lock()
	defer s.switching.Unlock()
	if u := s.use.Load(); path != "" && real(path) == real(u.path) {
		return &agent.Error{Op: "remove", Subject: path, Err: errors.New("the session is in use"), Hint: "go to another one first"}
	}
	_, err := clew.RemoveFile(ctx, path)
	return err
}

// Rename implements Host.
func (s *Session) Rename(ctx context.Context, path, name string) error {
	s.switching.Lock()
	defer s.switching.Unlock()
	if u := s.use.Load(); path != "" && real(path) == real(u.path) {
		return u.Name(ctx, name)
	}
	f, err := jsonl.Open(ctx, path, jsonl.Options{Program: "clew chat"})
	if err != nil {
		return err
	}
	log, err := session.NewLog(ctx, f, session.Options{Clock: s.cfg.Clock, NewID: s.cfg.NewID})
	if err == nil {
		_, err = log.Append(ctx, session.NewSessionInfo(name))
	}
	return errors.Join(err, f.Close())
}

// formatHTML is a page to read; native is the session's own format.
const (
	formatHTML   = "html"
	formatNative = "pi"
)

// Export implements Host. Keys, tokens and passwords are taken out.
func (s *Session) Export(ctx context.Context, format, path string) (string, error) {
	const op = "export"
	a := s.Agent()
	store, leaf := a.Session().Log().Store(), a.Session().Leaf()
	if format == "" {
		switch ext := strings.ToLower(filepath.Ext(path)); ext {
		case "", ".html", ".htm":
			format = formatHTML
		case ".jsonl":
			format = formatNative
		default:
			return "", &agent.Error{Op: op, Subject: path, Err: fmt.Errorf("the ending %s names no form", ext), Hint: "name one: " + strings.Join(exportFormats(), ", ")}
		}
	}
	if !contains(exportFormats(), format) {
		return "", &agent.Error{Op: op, Subject: format, Err: errors.New("there is no such form"), Hint: "there are " + strings.Join(exportFormats(), ", ")}
	}
	if path == "" {
		path = "clew-" + s.cfg.Clock().Format("2006-01-02-150405") + endings(format)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.cfg.Dir, path)
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		if errors.Is(err, os.ErrExist) {
			err = errors.New("the file is there already")
		}
		return "", &agent.Error{Op: op, Subject: path, Err: err, Hint: "take another name"}
	}
	if format == formatHTML {
		err = page.Write(ctx, out, store, leaf, page.Options{})
	} else {
		_, err = transcript.Write(ctx, out, transcript.Redact(store), transcript.Format(format), transcript.WriteOptions{Leaf: leaf})
	}
	if err = errors.Join(err, out.Close()); err != nil {
		_ = os.Remove(path) // what is there is not whole
		return "", &agent.Error{Op: op, Subject: path, Err: err}
	}
	return path, nil
}

func exportFormats() []string {
	list := []string{formatHTML}
	for _, f := range transcript.Formats() {
		if f.Writable() {
			list = append(list, string(f))
		}
	}
	return list
}

func endings(format string) string {
	switch {
	case format == formatHTML:
		return ".html"
	case slices.Contains([]string{"pi", "claude-code", "codex"}, format):
		return ".jsonl"
	}
	return "." + cmp.Or(format, "session") + ".json"
}

// Hooks implements Host.
func (s *Session) Hooks() []string {
	var out []string
	for _, h := range s.settings().Hooks {
		line := "hook " + h.Event + ": " + strings.TrimSpace(h.Command+" "+strings.Join(h.Args, " "))
		if h.Name != "" {
			line += " (" + h.Name + ")"
		}
		out = append(out, line)
	}
	return append(out, s.servers.lines()...)
}

const (
	// maxLines is how many typed lines are kept for a project.
	maxLines = 500
	// maxLine is how long one is at most, in bytes.
	maxLine = 16 << 10
)

// historyFile has what was typed in the project, a JSON string a line.
func (s *Session) historyFile() (string, error) {
	dir, err := s.cfg.Home.Project(s.cfg.Dir)
	return filepath.Join(s.cfg.Home.Dir, "history", filepath.Base(dir)+".jsonl"), err
}

// History implements Host.
func (s *Session) History() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readHistory()
	return slices.Clone(s.lines)
}

func (s *Session) readHistory() {
	if s.haveRead {
		return
	}
	s.haveRead = true
	s.lines = append(s.typed(), s.lines...)
}

// typed reads the file. What can't be read is passed over.
func (s *Session) typed() (lines []string) {
	path, err := s.historyFile()
	if err != nil {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	for raw := range bytes.SplitSeq(data, []byte("\n")) {
		var line string
		if json.Unmarshal(raw, &line) == nil && line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-maxLines):]
}

// Remember implements Host. Several programs may do it at the same time: a line is
// appended. The same line twice in a row is kept once.
func (s *Session) Remember(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readHistory()
	if line == "" || len(line) > maxLine || len(s.lines) > 0 && s.lines[len(s.lines)-1] == line {
		return
	}
	s.lines = append(s.lines, line)
	if err := s.remember(line); err != nil {
		s.warn(fmt.Errorf("can't save the history of prompts: %w", err))
	}
}

func (s *Session) remember(line string) error {
	path, err := s.historyFile()
	if err != nil {
		return err
	}
	if len(s.lines) > maxLines*2 {
		s.lines = slices.Clone(s.lines[len(s.lines)-maxLines:])
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxLines*maxLine/8 {
		if err := s.trimHistory(path); err != nil {
			return err
		}
	}
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// trimHistory leaves the newest lines in the file.
func (s *Session) trimHistory(path string) error {
	var b bytes.Buffer
	lines := s.typed()
	for _, line := range lines[len(lines)/2:] {
		data, err := json.Marshal(line)
		if err != nil {
			return err
		}
		b.Write(append(data, '\n'))
	}
	return settings.WriteFile(path, b.Bytes())
}

const (
	// maxFiles is how many files of a project can be completed.
	maxFiles = 20_000
	// filesAge is how long the list of files counts.
	filesAge = 10 * time.Second
)

// fileIndex are the files of the project that git does not ignore.
type fileIndex struct {
	mu    sync.Mutex
	names []string // folders end with /
	lower []string // the same in small letters
	at    time.Time
}

// Files implements Host. What begins with prefix comes first, then what has a part that
// does, then what has it anywhere.
func (s *Session) Files(ctx context.Context, prefix string, most int) []string {
	names, lower := s.fileNames(ctx)
	prefix = strings.ToLower(strings.TrimPrefix(prefix, "./"))
	var begins, parts, rest []string
	for i, n := range lower {
		switch at := strings.Index(n, prefix); {
		case at == 0:
			begins = append(begins, names[i])
		case at < 0:
		case n[at-1] == '/' || strings.Contains(n, "/"+prefix):
			parts = append(parts, names[i])
		default:
			rest = append(rest, names[i])
		}
		if len(begins) >= most {
			break
		}
	}
	all := slices.Concat(begins, parts, rest)
	return all[:min(len(all), max(most, 0))]
}

// fileNames reads the names with the tool that the model finds files with.
func (s *Session) fileNames(ctx context.Context) (names, lower []string) {
	f := &s.files
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.at.IsZero() && time.Since(f.at) < filesAge {
		return f.names, f.lower
	}
	arguments, err := json.Marshal(map[string]any{"pattern": "**", "limit": maxFiles})
	tools := s.builtin.Tools()
	at := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Spec().Name == "find" })
	if err != nil || at < 0 {
		return nil, nil
	}
	r, err := tools[at].Run(ctx, tool.Call{Arguments: arguments})
	if err != nil || len(r.Content) == 0 {
		return f.names, f.lower
	}
	text, _, _ := strings.Cut(r.Content[0].Text, "\n\n[")
	f.names = strings.Split(text, "\n")
	if len(f.names) == 1 && strings.HasPrefix(text, "Nothing found") {
		f.names = nil
	}
	f.lower = make([]string, len(f.names))
	for i, n := range f.names {
		f.lower[i] = strings.ToLower(n)
	}
	f.at = time.Now()
	return f.names, f.lower
}
