package tui

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// changed shows the session that is in use now, and sends what was kept.
func (u *ui) changed(err error) {
	u.switching = false
	if err == nil {
		a := u.cfg.Host.Agent()
		u.asks, u.passes, u.held, u.retry, u.over = nil, nil, nil, nil, nil
		u.seen = map[string]bool{}
		u.log.clear()
		u.page, u.more = firstPage, false
		u.state, u.queue = a.State(), a.Queue()
		u.load()
		for _, q := range a.Questions() {
			u.asked(q)
		}
	}
	u.next()
}

// switchTo takes another session into use.
func switchTo(u *ui, what string, work func(ctx context.Context) error, then func()) {
	u.switching = true // what is sent is kept until it is known where it goes
	u.run(what, work, func(err error) {
		u.changed(err)
		switch {
		case err == nil:
			if then != nil {
				then()
			}
		case errors.Is(err, agent.ErrBusy):
			u.fault("the agent is at work: wait until it is done, or cancel it with Esc, then try again")
		default:
			failed(u, what, err)
		}
	})
}

func begun(u *ui, _ string) {
	switchTo(u, "beginning a session", u.cfg.Host.New, func() {
		u.note("a new session; the one before stays: /resume goes back to it")
	})
}

func fork(u *ui, id string) {
	id = bareID(id)
	var said string
	switchTo(u, "copying the session", func(ctx context.Context) (err error) {
		said, err = u.cfg.Host.Fork(ctx, id)
		return err
	}, func() {
		u.note("this is a copy; the session it was made of stays as it is: /resume goes back to it")
		u.offer(said)
	})
}

func name(u *ui, args string) {
	a := u.cfg.Host.Agent()
	set := func(name string) {
		name = widget.OneLine(name)
		u.try("", "name", func(ctx context.Context) error { return a.Name(ctx, name) }, func() {
			if name == "" {
				u.note("the session has no name any more")
			} else {
				u.note("the session is now called " + name)
			}
		})
	}
	if args != "" {
		set(args)
		return
	}
	u.edit("name of the session", a.State().Name, set)
}

func export(u *ui, args string) {
	format, path := args, ""
	if strings.ContainsAny(args, "./\\") {
		format, path = "", args
	}
	get(u, "writing the session", "export", func(ctx context.Context) (string, error) { return u.cfg.Host.Export(ctx, format, path) }, func(written string) {
		u.note("written to " + written + "; keys and passwords were taken out")
	})
}

// listSessions lists the sessions, of this project or all.
func listSessions(u *ui, all bool) {
	h := u.cfg.Host
	list := func(ctx context.Context) ([]sessions.Found, error) { return h.Sessions(ctx, all) }
	title := "sessions of this project"
	if all {
		title = "sessions of all projects"
	}
	get(u, "looking for sessions", "resume", list, func(found []sessions.Found) {
		p, o := u.pick(widget.PickerOptions{Title: title, Empty: "there are no sessions", Keys: []widget.PickerKey{
			{Key: "tab", Help: "this project / all"}, {Key: "ctrl+r", Help: "rename"}, {Key: "ctrl+d", Help: "delete"},
		}}, sessionItems(found, h.Agent().State().File), "", func(path string) {
			if path == h.Agent().State().File {
				u.note("that is the session you are in")
				return
			}
			switchTo(u, "opening the session", func(ctx context.Context) error { return h.Resume(ctx, path) }, nil)
		})
		again := func(what string, work func(ctx context.Context) error) {
			get(u, "", what, func(ctx context.Context) ([]sessions.Found, error) {
				if err := work(ctx); err != nil {
					return nil, err
				}
				return list(ctx)
			}, func(now []sessions.Found) {
				found = now
				p.SetItems(sessionItems(found, h.Agent().State().File))
			})
		}
		o.key = func(key, path string) {
			at := slices.IndexFunc(found, func(s sessions.Found) bool { return s.Path == path })
			switch {
			case key == "tab":
				u.close(o)
				listSessions(u, !all)
			case at < 0:
			case key == "ctrl+r":
				u.edit("new name", sessionTitle(&found[at]), func(name string) {
					again("rename", func(ctx context.Context) error { return h.Rename(ctx, path, widget.OneLine(name)) })
				})
			default:
				yesNo(u, widget.Question{Title: "delete this session?", Text: sessionTitle(&found[at]) + "\n" + path}, false, "yes, delete its file", "no, keep it", func() {
					again("delete", func(ctx context.Context) error { return h.Remove(ctx, path) })
				})
			}
		}
	})
}

func sessionTitle(s *sessions.Found) string {
	return cmp.Or(s.Name, text.FirstLine(s.First), "(nothing was said)")
}

func sessionItems(found []sessions.Found, now string) []widget.Item {
	items := make([]widget.Item, 0, len(found))
	for _, s := range found {
		title := sessionTitle(&s)
		if s.Path == now {
			title = "* " + title
		}
		items = append(items, widget.Item{
			ID: s.Path, Cells: []string{title, ago(time.Since(s.Last)), s.Fullness(), kilobytes(int(s.Size))},
			Detail: strings.TrimPrefix(text.FirstLine(s.First)+" · ", " · ") + filepath.Base(s.Cwd) + " · " + s.Path, Search: s.Cwd + " " + s.First,
		})
	}
	return items
}
