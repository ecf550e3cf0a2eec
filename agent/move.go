package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Undo takes the latest pass back: the context is what it was before it. Right after an
// undo it is a redo. When turns came after the pass the error is a
// *session.LaterError, unless opt.KeepLater. ErrBusy: the agent is at work.
func (a *Agent) Undo(ctx context.Context, opt session.UndoOptions) (session.Undone, error) {
	var u session.Undone
	err := a.ops.alone(ctx, "undo", DoingMove, func(ctx context.Context) (err error) {
		if u, err = a.s.Undo(ctx, opt); err != nil {
			return err
		}
		return a.moved(ctx, "an undo")
	})
	return u, err
}

// Navigate moves the conversation to another place of the tree, "" for before the first
// entry; before it where it is a message of the user, whose text is given back. See
// clew.Session.Branch. ErrBusy: the agent is at work.
func (a *Agent) Navigate(ctx context.Context, target string, opt clew.BranchOptions) (*clew.Branched, error) {
	var b *clew.Branched
	err := a.ops.alone(ctx, "move", DoingMove, func(ctx context.Context) (err error) {
		from := a.s.Leaf()
		if b, err = a.s.Branch(ctx, target, opt); err == nil {
			a.journal.warn(b.Warnings...)
			if opt.DryRun && b.Summary != nil {
				a.journal.spent(ctx, "summary", session.Model{}, b.Summary.Usage)
				return nil
			}
		}
		if a.s.Leaf() != from { // it has moved, even where a label could not be written
			err = errors.Join(err, a.moved(ctx, "a move"))
		}
		return err
	})
	return b, err
}

// moved brings everything up to date after the leaf has moved.
func (a *Agent) moved(ctx context.Context, why string) error {
	ctx = context.WithoutCancel(ctx) // it has moved
	a.prefetch.drop(ctx)
	// A call that waits for its result on this branch will never get it.
	if err := a.journal.closeCalls(ctx); err != nil {
		return err
	}
	if err := a.prompts.restore(ctx); err != nil {
		return err
	}
	// Another model may have answered on this branch.
	if err := a.models.use(ctx, a.models.now); err != nil {
		return err
	}
	a.events.send(Event{Kind: KindMoved, Why: why})
	if a.desk.granted.Load() {
		a.desk.keep(ctx) // it is the session's, not the branch's
	}
	return nil
}

const hintID = "take an id from the tree"

// find returns the entry that an id, or the beginning of one, names.
func (a *Agent) find(ctx context.Context, op, id string) (*session.Entry, error) {
	e, err := recall.Find(ctx, a.s.Log().Store(), a.s.Leaf(), id)
	if errors.Is(err, session.ErrNotFound) {
		err = session.ErrNotFound // what recall says beside it is for those who search
	}
	if err != nil {
		return nil, &Error{Op: op, Subject: id, Err: err, Hint: hintID}
	}
	return e, nil
}

// Pin keeps an entry word for word through every pass; with on false no longer.
func (a *Agent) Pin(ctx context.Context, id string, on bool) error {
	e, err := a.find(ctx, map[bool]string{true: "pin", false: "unpin"}[on], id)
	if err != nil {
		return err
	}
	defer a.settle(ctx)
	defer a.journal.standsAt()
	if on {
		return a.s.Pin(ctx, e.ID)
	}
	return a.s.Unpin(ctx, e.ID)
}

// Omit takes messages of the path out of the context: from one to another, or, with to "", one alone. An answer goes with
// its calls and their results. It is a pass: Undo brings them back. The user's last message stays, and what is pinned.
func (a *Agent) Omit(ctx context.Context, from, to string) (*CompactReport, error) {
	const op = "omit"
	var out *CompactReport
	err := a.ops.do(ctx, op, DoingCompaction, func(ctx context.Context) error {
		items, err := a.s.Context(ctx)
		if err != nil {
			return err
		}
		var ends [2]int
		for i, id := range []string{from, cmp.Or(to, from)} {
			e, err := a.find(ctx, op, id)
			if err != nil {
				return err
			}
			if ends[i] = slices.IndexFunc(items, func(it session.Item) bool { return it.Entry.ID == e.ID }); ends[i] < 0 {
				return &Error{Op: op, Subject: id, Err: errors.New("it is not in the context"), Hint: hintID}
			}
		}
		var ids []string
		for _, it := range items[min(ends[0], ends[1]) : max(ends[0], ends[1])+1] {
			ids = append(ids, it.Entry.ID)
		}
		res, err := a.passes.compact(ctx, clew.CompactOptions{Omit: ids})
		if err == nil {
			out = reportOf(res)
		}
		return err
	})
	return out, err
}

// Label gives an entry a name of its own, "" for none.
func (a *Agent) Label(ctx context.Context, id, label string) error {
	e, err := a.find(ctx, "label", id)
	if err != nil {
		return err
	}
	defer a.settle(ctx)
	return a.journal.record(ctx, session.NewLabel(e.ID, label))
}

// Name gives the session a name, "" for none.
func (a *Agent) Name(ctx context.Context, name string) error {
	defer a.settle(ctx)
	if err := a.journal.record(ctx, session.NewSessionInfo(name)); err != nil {
		return err
	}
	a.status.change(func(s *State) { s.Name = name })
	return nil
}

// Fork makes a new session file of the path to an entry, "" for the leaf, and leaves
// this session as it is. to is the new file, or a folder; "" for that of the session.
func (a *Agent) Fork(ctx context.Context, to, at string) (*clew.Forked, error) {
	if a.cfg.File == "" {
		return nil, &Error{Op: "fork", Err: fmt.Errorf("the session is in memory alone"), Hint: "begin one in a file"}
	}
	var f *clew.Forked
	err := a.ops.do(ctx, "fork", DoingMove, func(ctx context.Context) (err error) {
		f, err = clew.Fork(ctx, a.cfg.File, to, clew.ForkOptions{At: at, CloseOpenCalls: true, Hooks: a.cfg.Engine.Hooks})
		return err
	})
	return f, err
}

// Shell runs a command for the user and puts it with its output into the conversation,
// for the model to see; with hidden, for the user alone. Nobody is asked: the user has
// typed it. ErrBusy: the agent is at work.
func (a *Agent) Shell(ctx context.Context, command string, hidden bool) error {
	if a.cfg.Shell == nil {
		return &Error{Op: "run a command", Subject: command, Err: fmt.Errorf("there is no shell here"), Hint: "let the model run it"}
	}
	return a.ops.alone(ctx, "run a command", DoingShell, func(ctx context.Context) error {
		if err := a.journal.closeLost(ctx); err != nil {
			return err
		}
		call := &ToolCall{ID: a.cfg.NewID(), Name: "shell", Line: command}
		a.events.send(Event{Kind: KindToolStart, Tool: call})
		text, exit, err := a.cfg.Shell(ctx, command, func(piece string) {
			a.events.send(Event{Kind: KindToolOutput, Tool: call, Text: piece})
		})
		ended := *call
		ended.IsError = err != nil
		a.events.send(Event{Kind: KindToolEnd, Tool: &ended})
		if err != nil && ctx.Err() == nil {
			return err
		}
		_, err = a.journal.append(ctx, &message.Message{
			Role: message.RoleBashExecution, Command: command, Output: text, ExitCode: &exit, Timestamp: a.cfg.Clock().UnixMilli(),
			Cancelled: ctx.Err() != nil, ExcludeFromContext: hidden,
		})
		return err
	})
}
