package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/hook"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

func newFork() *cobra.Command {
	cmd := forkCommand(newCommand("fork", groupChange))
	cmd.ValidArgsFunction = completeTarget
	return cmd
}

func newClone() *cobra.Command {
	return forkCommand(newCommand("clone", groupChange))
}

// forkReport is what fork and clone print as JSON.
type forkReport struct {
	File    string `json:"file"`
	Out     string `json:"out"`
	ID      string `json:"id"`
	At      string `json:"at,omitempty"`
	Before  string `json:"before,omitempty"`
	Text    string `json:"text,omitempty"`
	Entries int    `json:"entries"`
	Added   int    `json:"added"`
	Closed  int    `json:"settled,omitempty"`
	Output  int    `json:"output,omitempty"`
	Leaf    string `json:"leaf,omitempty"`
	contextSize

	at string // in words
}

func forkCommand(cmd *cobra.Command) *cobra.Command {
	out := cmd.Flags().StringP("out", "o", "", "the file to write, or a folder (default: beside FILE, named by time and id)")
	jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case args[0] == "-":
			return usagef("%s: a new session records the file it comes from, and standard input has no name; name a file", cmd.Name())
		case *out == "-":
			return usagef("%s: --out -: a session can't be written to standard output; name a file", cmd.Name())
		case *out == "" && cmd.Flags().Changed("out"):
			return usagef("%s: --out is empty; name a file or a folder, or leave it out", cmd.Name())
		}
		target := ""
		if len(args) > 1 {
			target = args[1]
			if isRoot(target) {
				return usagef("%s: nothing comes before the first entry; name an entry; the first message gives an empty session", cmd.Name())
			}
		}
		return withSession(cmd, args[0], true, func(f kept) (result, error) {
			return runFork(cmd, f, target, len(args) > 1, *out)
		})
	}
	return cmd
}

func runFork(cmd *cobra.Command, f kept, target string, given bool, out string) (*forkReport, error) {
	ctx := cmd.Context()
	if _, err := onFile(f); err != nil {
		return nil, err
	}
	hooks, err := commandHooks(cmd, hook.SessionBeforeFork)
	if err != nil {
		return nil, err
	}
	opt := clew.ForkOptions{CloseOpenCalls: true, Hooks: hooks}
	if given {
		e, err := findTarget(ctx, f, target)
		if err != nil {
			return nil, err
		}
		opt.At = e.ID
	}
	bar := newProgress(cmd)
	defer bar.done()
	bar.say("copying the path")
	done, err := clew.Fork(ctx, f.Path(), out, opt)
	if err != nil {
		return nil, err
	}
	warn(cmd, done.Warnings)
	if done.Path == "" {
		return nil, &session.Error{Op: cmd.Name(), Subject: f.Path(), Err: errors.New(done.Why)}
	}
	r := &forkReport{
		File: f.Path(), Out: done.Path, ID: done.ID, At: done.At, Before: done.Before, Text: done.Text,
		Entries: done.Entries, Added: done.Added, Closed: done.Closed, Output: done.Output, Leaf: done.Leaf,
	}
	if r.at, err = inWords(ctx, f, r.At); err != nil {
		return nil, err
	}
	return r, r.look(cmd)
}

// look looks at what was written.
func (r *forkReport) look(cmd *cobra.Command) (err error) {
	f, err := jsonl.Open(cmd.Context(), r.Out, jsonl.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return r.measure(cmd.Context(), f, r.Leaf)
}

func (r *forkReport) text(rep *report) {
	rep.row("written", "%s", r.Out)
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
	if r.Closed > 0 {
		rep.row("settled", "%s got a result that says so", count(r.Closed, "interrupted call"))
	}
	r.write(rep)
}
