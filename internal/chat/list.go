package chat

import (
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

// Sessions implements rpc.Host.
func (h *Host) Sessions(ctx context.Context, all bool) ([]sessions.Found, error) {
	dir := h.cfg.Dir
	if all {
		dir = ""
	}
	found, err := sessions.In(ctx, h.cfg.Home, dir)
	if h.db != nil {
		found, err = database.List(ctx, h.db.With(""))
		found = slices.DeleteFunc(found, func(f sessions.Found) bool { return dir != "" && !f.In(dir) })
	}
	known, kerr := h.known()
	if err = errors.Join(err, kerr); err != nil {
		return nil, err
	}
	now := h.Agent().State()
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

// Remove implements rpc.Host.
func (h *Host) Remove(ctx context.Context, path string) error {
	h.switching.Lock()
	defer h.switching.Unlock()
	if u := h.use.Load(); u.isAt(path) {
		return &agent.Error{Op: "remove", Subject: path, Err: errors.New("the session is in use"), Hint: "go to another one first"}
	}
	if database.Is(path) {
		return &agent.Error{Op: "remove", Subject: path, Err: errors.New("the session is in a database"), Hint: "leave it to clew db"}
	}
	_, err := clew.RemoveFile(ctx, path)
	return err
}

// Rename implements rpc.Host.
func (h *Host) Rename(ctx context.Context, path, name string) error {
	h.switching.Lock()
	defer h.switching.Unlock()
	if u := h.use.Load(); u.isAt(path) {
		return u.Name(ctx, name)
	}
	if path == "" {
		return &agent.Error{Op: "rename", Err: errors.New("no session is named"), Hint: "name a file"}
	}
	f, err := h.store(ctx, path)
	if err != nil {
		return err
	}
	log, err := session.NewLog(ctx, f, session.Options{Clock: h.cfg.Clock, NewID: h.cfg.NewID})
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

// Export implements rpc.Host. Keys, tokens and passwords are taken out.
func (h *Host) Export(ctx context.Context, format, path string) (string, error) {
	fail := func(subject string, err error, hint string) (string, error) {
		return "", &agent.Error{Op: "export", Subject: subject, Err: err, Hint: hint}
	}
	formats := []string{formatHTML}
	for _, f := range transcript.Formats() {
		if f.Writable() {
			formats = append(formats, string(f))
		}
	}
	if format == "" {
		ext := strings.ToLower(filepath.Ext(path))
		if format = map[string]string{"": formatHTML, ".html": formatHTML, ".htm": formatHTML, ".jsonl": formatNative}[ext]; format == "" {
			return fail(path, fmt.Errorf("the ending %s names no form", ext), "name one: "+strings.Join(formats, ", "))
		}
	}
	if !slices.Contains(formats, format) {
		return fail(format, errors.New("there is no such form"), "there are "+strings.Join(formats, ", "))
	}
	if path == "" {
		ending := "." + format + ".json"
		switch format {
		case formatHTML:
			ending = ".html"
		case formatNative, "claude-code", "codex":
			ending = ".jsonl"
		}
		path = "clew-" + h.cfg.Clock().Format("2006-01-02-150405") + ending
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(h.cfg.Dir, path)
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		err = errors.New("the file is there already")
	}
	if err != nil {
		return fail(path, err, "take another name")
	}
	store, leaf := h.Agent().Session().Log().Store(), h.Agent().Session().Leaf()
	if format == formatHTML {
		err = page.Write(ctx, out, store, leaf, page.Options{})
	} else {
		_, err = transcript.Write(ctx, out, transcript.Redact(store), transcript.Format(format), transcript.WriteOptions{Leaf: leaf})
	}
	if err = errors.Join(err, out.Close()); err != nil {
		_ = os.Remove(path) // what is there is not whole
		return fail(path, err, "")
	}
	return path, nil
}

// Hooks implements rpc.Host.
func (h *Host) Hooks() []string {
	var out []string
	for _, h := range h.settings().Hooks {
		line := "hook " + h.Event + ": " + strings.TrimSpace(h.Command+" "+strings.Join(h.Args, " "))
		if h.Name != "" {
			line += " (" + h.Name + ")"
		}
		out = append(out, line)
	}
	return append(out, h.serverLines()...)
}
