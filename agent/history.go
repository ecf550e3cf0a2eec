package agent

import (
	"context"
	"os"

	"github.com/clew-dev/clew/internal/agent/files"
	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
)

// openHistory makes the history of files; nil where there is no place for their content.
func (a *Agent) openHistory() *files.History {
	if a.s.Blobs() == nil {
		return nil
	}
	dir := a.cfg.Engine.Cwd
	if dir == "" {
		dir, _ = os.Getwd() // without one all paths are kept as they are
	}
	return files.New(files.Config{Dir: vfs.Real(dir), Blobs: a.s.Blobs(), Entries: a.s.Log().Store().All, Append: func(ctx context.Context, d session.Draft) (string, error) {
		id, err := a.journal.appendOne(ctx, d)
		if err == nil {
			err = a.s.Sync(context.WithoutCancel(ctx)) // before a file is changed
		}
		return id, err
	}})
}

// Turns returns the messages of the user after which tools have changed files, oldest
// first, those of other branches too.
func (a *Agent) Turns(ctx context.Context) ([]files.Turn, error) {
	if a.runner.history == nil {
		return nil, nil
	}
	return a.runner.history.Turns(ctx)
}

// Changes returns what a turn has changed in files; "" stands for the session.
func (a *Agent) Changes(ctx context.Context, turn string) ([]files.Changed, error) {
	if a.runner.history == nil {
		return nil, nil
	}
	return a.runner.history.Changes(ctx, turn)
}

// Restore makes files what they were before an entry, such as the message that began a
// turn, and tells the model. See files.History.Restore. ErrBusy: the agent is at work.
func (a *Agent) Restore(ctx context.Context, to string, force bool) (files.Restored, error) {
	out := files.Restored{Files: []string{}}
	if a.runner.history == nil {
		return out, nil
	}
	err := a.ops.alone(ctx, "restore files", DoingMove, func(ctx context.Context) (err error) {
		if err := a.journal.closeLost(ctx); err != nil {
			return err
		}
		out, err = a.runner.history.Restore(ctx, to, force)
		return err
	})
	return out, err
}
