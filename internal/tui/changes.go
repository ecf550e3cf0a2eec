package tui

import (
	"context"
	"errors"
	"strings"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/agent/files"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/session"
)

// showChanges is /diff.
func showChanges(u *ui) {
	a := u.cfg.Host.Agent()
	get(u, "looking at what was changed", "diff", func(ctx context.Context) ([]files.Changed, error) { return a.Changes(ctx, "") }, func(changed []files.Changed) {
		if len(changed) == 0 {
			u.note("the tools have changed no files in this session")
			return
		}
		var b strings.Builder
		for _, c := range changed {
			switch {
			case c.Diff != "":
				b.WriteString(strings.TrimRight(c.Diff, "\n") + "\n")
			case c.After == "":
				b.WriteString(c.Path + " was removed\n")
			default:
				b.WriteString(c.Path + " was changed; it is no text, or too large to be shown\n")
			}
		}
		u.open(&widget.Pager{Theme: u.theme, Title: "changes of " + text.Counted(len(changed), "file"), Text: func(int) string { return b.String() }, Diff: true}, nil)
	})
}

// mostTurns is how many turns /undo looks back for one that changed files.
const mostTurns = 20

// undo is /undo: of the last turn that changed files it takes back these, the conversation, or
// both; otherwise, and when that is wanted, the last compaction.
func undo(u *ui) {
	a := u.cfg.Host.Agent()
	var turn files.Turn
	var paths []string
	u.run("looking at what can be taken back", func(ctx context.Context) error {
		turns, err := a.Turns(ctx)
		for i := len(turns) - 1; i >= max(len(turns)-mostTurns, 0) && err == nil && len(paths) == 0; i-- {
			var changed []files.Changed
			changed, err = a.Changes(ctx, turns[i].ID)
			for _, c := range changed {
				turn, paths = turns[i], append(paths, c.Path)
			}
		}
		return err
	}, func(err error) {
		switch {
		case failed(u, "undo", err):
		case len(paths) == 0:
			undoCompaction(u, session.UndoOptions{})
		default:
			askUndo(u, turn, paths)
		}
	})
}

func askUndo(u *ui, turn files.Turn, paths []string) {
	talk := func() { navigate(u, turn.ID, clew.BranchOptions{}) }
	options := []widget.Option{
		{Key: "f", Text: "its files: they are again as before it", Do: func() { restore(u, turn.ID, false, func() {}) }},
		{Key: "c", Text: "the conversation: it goes on before that message; files stay", Do: talk},
		{Key: "b", Text: "both", Do: func() { restore(u, turn.ID, false, talk) }},
	}
	if u.state.Totals.Passes > 0 {
		options = append(options, widget.Option{Key: "p", Text: "the last compaction", Do: func() { undoCompaction(u, session.UndoOptions{}) }})
	}
	u.choose(widget.Question{
		Title: "take back what?", Text: "The last turn that changed files: " + text.FirstLine(turn.Text) + "\n" + strings.Join(paths, "\n"),
		Safe: len(options), Options: append(options, widget.Option{Key: "n", Text: "nothing"}),
	}, true)
}

// restore makes files what they were before a turn, then goes on.
func restore(u *ui, turn string, force bool, then func()) {
	a := u.cfg.Host.Agent()
	var done files.Restored
	u.run("restoring files", func(ctx context.Context) (err error) {
		done, err = a.Restore(ctx, turn, force)
		return err
	}, func(err error) {
		if errors.Is(err, files.ErrChanged) {
			q := widget.Question{Title: "restore all the same?", Text: err.Error()}
			yesNo(u, q, true, "yes; what stands there now is kept, and /undo brings it back", "no", func() { restore(u, turn, true, then) })
			return
		}
		if failed(u, "undo", err) {
			return
		}
		u.note("restored: " + strings.Join(done.Files, ", "))
		then()
	})
}
