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
	const op = "export"
	a := h.Agent()
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
		path = "clew-" + h.cfg.Clock().Format("2006-01-02-150405") + endings(format)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(h.cfg.Dir, path)
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
	return append(out, h.servers.lines()...)
}
