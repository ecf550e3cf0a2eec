package tui

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// switchTo takes another session into use.
func switchTo(f front, what string, work func(ctx context.Context) error, then func()) {
	f.changing()
	f.run(what, work, func(err error) {
		f.changed(err)
		switch {
		case err == nil:
			if then != nil {
				then()
			}
		case isBusy(err):
			f.fault("the agent is at work: wait until it is done, or cancel it with Esc, then try again")
		default:
			failed(f, what, err)
		}
	})
}

func begun(f front, _ string) {
	switchTo(f, "beginning a session", f.host().New, func() {
		f.note("a new session; the one before stays: /resume goes back to it")
	})
}

func fork(f front, id string) {
	id = bareID(id)
	var said string
	switchTo(f, "copying the session", func(ctx context.Context) (err error) {
		said, err = f.host().Fork(ctx, id)
		return err
	}, func() {
		f.note("this is a copy; the session it was made of stays as it is: /resume goes back to it")
		if said != "" && !f.offer(said) {
			f.note("the message that stood here was not put into the editor, where you have typed something: " + text.FirstLine(said))
		}
	})
}

func name(f front, args string) {
	a := f.host().Agent()
	set := func(name string) {
		name = widget.OneLine(name)
		f.quietly(func(ctx context.Context) error { return a.Name(ctx, name) }, func(err error) {
			switch {
			case failed(f, "name", err):
			case name == "":
				f.note("the session has no name any more")
			default:
				f.note("the session is now called " + name)
			}
		})
	}
	if args != "" {
		set(args)
		return
	}
	f.edit("name of the session", a.State().Name, true, set)
}

func export(f front, args string) {
	format, path := args, ""
	if strings.ContainsAny(args, "./\\") {
		format, path = "", args
	}
	get(f, "writing the session", "export", func(ctx context.Context) (string, error) { return f.host().Export(ctx, format, path) }, func(written string) {
		f.note("written to " + written + "; keys and passwords were taken out")
	})
}

// listSessions lists the sessions, of this project or all.
func listSessions(f front, all bool) {
	h := f.host()
	var found []sessions.Found
	l := &list{}
	read := func(ctx context.Context) (err error) {
		found, err = h.Sessions(ctx, all)
		return err
	}
	again := func(what string, work func(ctx context.Context) error) {
		f.quietly(func(ctx context.Context) error {
			if err := work(ctx); err != nil {
				return err
			}
			return read(ctx)
		}, func(err error) {
			if !failed(f, what, err) {
				l.set(sessionItems(found, h.Agent().State().File))
			}
		})
	}
	l.PickerOptions = widget.PickerOptions{Empty: "there are no sessions", Keys: []widget.PickerKey{{Key: "tab", Help: "this project / all"}}}
	l.picked = func(path string) {
		if path == h.Agent().State().File {
			f.note("that is the session you are in")
			return
		}
		switchTo(f, "opening the session", func(ctx context.Context) error { return h.Resume(ctx, path) }, nil)
	}
	l.deleted = func(path string) { again("delete", func(ctx context.Context) error { return h.Remove(ctx, path) }) }
	l.renamed = func(path, name string) {
		again("rename", func(ctx context.Context) error { return h.Rename(ctx, path, widget.OneLine(name)) })
	}
	l.key = func(string, string) { l.leave(); listSessions(f, !all) }
	f.run("looking for sessions", read, func(err error) {
		if failed(f, "resume", err) {
			return
		}
		l.Title = "sessions of this project"
		if all {
			l.Title = "sessions of all projects"
		}
		l.items = sessionItems(found, h.Agent().State().File)
		f.soon("the list of sessions", func() { f.pick(l) })
	})
}

func sessionItems(found []sessions.Found, now string) []widget.Item {
	items := make([]widget.Item, 0, len(found))
	for _, s := range found {
		title := cmp.Or(s.Name, text.FirstLine(s.First), "(nothing was said)")
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
