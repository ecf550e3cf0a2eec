package agent

import (
	"context"
	"os"
	"path/filepath"

	"github.com/clew-dev/clew/agent/files"
	"github.com/clew-dev/clew/agent/tool"
	"github.com/clew-dev/clew/session"
)

// openHistory makes the history of files, where there is a place for their content.
func (a *Agent) openHistory() {
	if a.s.Blobs() == nil {
		return
	}
	dir := a.cfg.Engine.Cwd
	if dir == "" {
		dir, _ = os.Getwd() // without one all paths are kept as they are
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	a.files = files.New(files.Config{Dir: dir, Blobs: a.s.Blobs(), Entries: a.s.Log().Store().All, Append: a.appendOne})
}

// appendOne writes an entry and tells of it where the model sees it.
func (a *Agent) appendOne(ctx context.Context, d session.Draft) (string, error) {
	ctx = context.WithoutCancel(ctx)
	ids, err := a.s.Record(ctx, d)
	if err != nil {
		return "", err
	}
	a.standsAt()
	if e, err := a.s.Log().Store().Get(ctx, ids[0]); err == nil {
		if m, ok := e.CustomMessage(); ok {
			a.entry(ids[0], m)
		}
	}
	return ids[0], nil
}

// recorder keeps what a call changes.
func (a *Agent) recorder(call string) func(context.Context, ...tool.Change) error {
	if a.files == nil {
		return nil
	}
	return func(ctx context.Context, changes ...tool.Change) error {
		return a.files.Record(context.WithoutCancel(ctx), call, changes...)
	}
}

// Turns returns the messages of the user after which tools have changed files, oldest
// first, those of other branches too.
func (a *Agent) Turns(ctx context.Context) ([]files.Turn, error) {
	if a.files == nil {
		return nil, nil
	}
	return a.files.Turns(ctx)
}

// Changes returns what a turn has changed in files; "" stands for the session.
func (a *Agent) Changes(ctx context.Context, turn string) ([]files.Changed, error) {
	if a.files == nil {
		return nil, nil
	}
	return a.files.Changes(ctx, turn)
}

// Restore makes files what they were before an entry, such as the message that began a
// turn, and tells the model. See files.History.Restore. ErrBusy: the agent is at work.
func (a *Agent) Restore(ctx context.Context, to string, force bool) (files.Restored, error) {
	out := files.Restored{Files: []string{}}
	if a.files == nil {
		return out, nil
	}
	err := a.alone(ctx, "restore files", DoingMove, func(ctx context.Context) (err error) {
		if a.openCalls {
			if err := a.closeOpenCalls(ctx); err != nil {
				return err
			}
		}
		out, err = a.files.Restore(ctx, to, force)
		return err
	})
	return out, err
}
