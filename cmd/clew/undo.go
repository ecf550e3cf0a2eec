package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/session"
)

func newUndo() *cobra.Command {
	var opt session.UndoOptions
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "undo FILE",
		Short: "Take the latest compaction back",
		Long: `undo moves the leaf to before the latest pass, so that the context is what
it was before it. Nothing is removed: the pass stays in the file as a
branch, and undo right after undo brings it back.

When messages came after the pass, undo does nothing unless --keep-later
says that they are to be appended again behind the old context.`,
		Example: `  clew undo session.jsonl
  clew undo --keep-later session.jsonl`,
		GroupID: groupChange,
		Args:    argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runUndo(cmd, args[0], opt, *asJSON)
		},
	}
	cmd.Flags().BoolVar(&opt.KeepLater, "keep-later", false, "append what came after the pass again")
	asJSON = jsonFlag(cmd)
	return cmd
}

// undoReport is what undo --json prints.
type undoReport struct {
	File string `json:"file"`
	session.Undone
	Tokens   int64 `json:"tokens"`
	Messages int   `json:"messages"`
}

func runUndo(cmd *cobra.Command, name string, opt session.UndoOptions, asJSON bool) error {
	ctx := cmd.Context()
	f, err := openSession(cmd, name, false)
	if err != nil {
		return err
	}
	defer f.Close()
	log, err := session.NewLog(ctx, f, session.Options{})
	if err != nil {
		return err
	}
	r := undoReport{File: f.Path()}
	if r.Undone, err = log.Undo(ctx, opt); err != nil {
		return undoError(f.Path(), err)
	}
	v, err := viewContext(ctx, f, log.Leaf(), modelFlag{}, 0, counterHeuristic)
	if err != nil {
		return err
	}
	r.Tokens, r.Messages = v.reading.Tokens, len(v.Items)
	if asJSON {
		return printJSON(cmd, r)
	}
	return r.print(cmd)
}

// undoError says what to do about an undo that did not happen.
func undoError(path string, err error) error {
	var later *session.LaterError
	switch {
	case errors.Is(err, session.ErrNothingToUndo):
		return &session.Error{
			Op: "undo", Subject: path, Err: errors.New("there is nothing to undo: no pass on the path to the leaf"),
			Hint: "clew tree shows what is there",
		}
	case errors.As(err, &later):
		came := count(later.Messages, "message")
		if later.Messages == 0 {
			came = count(later.Edits, "edit")
		} else if later.Edits > 0 {
			came += " and " + count(later.Edits, "edit")
		}
		return &session.Error{
			Op: "undo", Subject: path,
			Err:  fmt.Errorf("%s came after the pass %s and would be left behind", came, later.Pass),
			Hint: "clew undo --keep-later appends them again behind the old context",
		}
	}
	return err
}

func (r *undoReport) print(cmd *cobra.Command) error {
	rep := newReport(cmd)
	what := "undone"
	if r.Redo {
		what = "done again"
	}
	rep.row(what, "pass %s in %s", short(r.Pass, maxID), r.File)
	if r.Kept > 0 {
		rep.row("kept", "%s that came after it, appended again", count(r.Kept, "entry", "entries"))
	}
	rep.row("context", "%s, %s tokens", count(r.Messages, "message"), number(r.Tokens))
	if !r.Redo && r.Kept == 0 {
		rep.row("again", "clew undo %s brings the pass back", r.File)
	}
	return rep.w.Flush()
}
