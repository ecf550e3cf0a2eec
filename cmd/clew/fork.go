package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/hook"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// forkReport is what fork and clone print as JSON.
type forkReport struct {
	File string `json:"file"`
	*clew.Forked
	contextSize

	at string // in words
}

// newFork makes fork, and clone, which takes no target.
func newFork(cmd *cobra.Command) runFunc {
	out := cmd.Flags().StringP("out", "o", "", "the file to write, or a folder (default: beside FILE, named by time and id)")
	return func(args []string) (result, error) {
		switch {
		case args[0] == "-":
			return nil, usagef("%s: a new session records the file it comes from, and standard input has no name; name a file", cmd.Name())
		case *out == "-":
			return nil, usagef("%s: --out -: a session can't be written to standard output; name a file", cmd.Name())
		case *out == "" && cmd.Flags().Changed("out"):
			return nil, usagef("%s: --out is empty; name a file or a folder, or leave it out", cmd.Name())
		case len(args) > 1 && isRoot(args[1]):
			return nil, usagef("%s: nothing comes before the first entry; name an entry; the first message gives an empty session", cmd.Name())
		}
		return withSession(cmd, args[0], true, func(f kept) (result, error) { return runFork(cmd, f, args[1:], *out) })
	}
}

func runFork(cmd *cobra.Command, f kept, target []string, out string) (result, error) {
	ctx := cmd.Context()
	if _, err := onFile(f); err != nil {
		return nil, err
	}
	hooks, err := commandHooks(cmd, hook.SessionBeforeFork)
	if err != nil {
		return nil, err
	}
	opt := clew.ForkOptions{CloseOpenCalls: true, Hooks: hooks}
	if len(target) > 0 {
		if opt.At, _, err = findTarget(ctx, f, target[0]); err != nil {
			return nil, err
		}
	}
	defer working(cmd, "copying the path")()
	done, err := clew.Fork(ctx, f.Path(), out, opt)
	if err != nil {
		return nil, err
	}
	warn(cmd, done.Warnings)
	if done.Path == "" {
		return nil, &session.Error{Op: cmd.Name(), Subject: f.Path(), Err: errors.New(done.Why)}
	}
	r := &forkReport{File: f.Path(), Forked: done}
	if r.at, err = inWords(ctx, f, r.At); err != nil {
		return nil, err
	}
	made, err := jsonl.Open(ctx, done.Path, jsonl.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer made.Close()
	return r, r.measure(ctx, made, r.Leaf)
}

func (r *forkReport) text(rep *report) {
	rep.row("written", "%s", r.Path)
	rep.row("session", "%s, made of %s", r.ID, r.File)
	rep.place("up to", r.at, "before the first entry")
	if r.Before != "" {
		rep.row("", "the target is inside the pass %s, so the copy ends before the pass", short(r.Before, maxID))
	}
	rep.again(r.Text)
	line := count(r.Entries, "entry", "entries") + " copied"
	if marks := r.Added - r.Closed; marks > 0 {
		line += ", and " + count(marks, "more", "more") + " for the labels and the name"
	}
	rep.row("entries", "%s", line)
	if r.Output > 0 {
		rep.row("output", "%s copied from beside the file", count(r.Output, "large output"))
	}
	rep.settled(r.Closed)
	r.write(rep)
}
