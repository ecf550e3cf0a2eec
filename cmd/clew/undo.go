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
	u, err := log.Undo(ctx, opt)
	var later *session.LaterError
	if errors.As(err, &later) {
		return &session.Error{
			Op: "undo", Subject: f.Path(), Err: later,
			Hint: "clew undo --keep-later appends them again behind the old context",
		}
	}
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd, undoReport{f.Path(), u})
	}
	what := "undone"
	if u.Redo {
		what = "done again"
	}
	c, err := log.Context(ctx)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s: pass %s in %s; the context has %d messages now\n", what, short(u.Pass, 16), oneLine(f.Path()), len(c.Items))
	if u.Kept > 0 {
		fmt.Fprintf(out, "%d entries that came after it were appended again\n", u.Kept)
	}
	return nil
}

// undoReport is what undo --json prints.
type undoReport struct {
	File string `json:"file"`
	session.Undone
}
