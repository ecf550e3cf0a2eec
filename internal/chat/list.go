package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/database"
	"github.com/clew-dev/clew/internal/page"
	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// Sessions implements Host.
func (s *Session) Sessions(ctx context.Context, all bool) ([]sessions.Found, error) {
	dir := s.cfg.Dir
	if all {
		dir = ""
	}
	found, err := sessions.In(ctx, s.cfg.Home, dir)
	if s.db != nil {
		found, err = database.List(ctx, s.db.With(""))
		found = slices.DeleteFunc(found, func(f sessions.Found) bool { return dir != "" && !f.In(dir) })
	}
	known, kerr := s.known()
	if err = errors.Join(err, kerr); err != nil {
		return nil, err
	}
	now := s.Agent().State()
	for i := range found {
		switch f := &found[i]; {
		case f.Window > 0 || f.Model == "":
		case strings.HasSuffix(now.Model, "/"+f.Model):
			f.Window = now.Window
		default:
			info, _ := known.Lookup("", f.Model)
			f.Window = info.Window
		}
	}
	return found, nil
}

// Remove implements Host.
func (s *Session) Remove(ctx context.Context, path string) error {
	s.switching.Lock()
	defer s.switching.Unlock()
	if u := s.use.Load(); path != "" && real(path) == real(u.path) {
		return &agent.Error{Op: "remove", Subject: path, Err: errors.New("the session is in use"), Hint: "go to another one first"}
	}
	if database.Is(path) {
		return &agent.Error{Op: "remove", Subject: path, Err: errors.New("the session is in a database"), Hint: "leave it to clew db"}
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
	if path == "" {
		return &agent.Error{Op: "rename", Err: errors.New("no session is named"), Hint: "name a file"}
	}
	f, err := s.store(ctx, path)
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
	if !slices.Contains(exportFormats(), format) {
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
