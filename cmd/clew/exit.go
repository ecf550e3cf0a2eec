package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/session"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is an error in how clew was called: exit code 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef builds a usageError.
func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// errSilent ends a command with exit code 1 that has said everything already.
var errSilent = errors.New("failed")

// flagError makes cobra's flag errors usage errors that say where to look.
func flagError(cmd *cobra.Command, err error) error {
	return usagef("%w; see %s --help", err, cmd.CommandPath())
}

// argCount returns a check that a command gets from least to most arguments;
// most < 0 means any number.
func argCount(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch n := len(args); {
		case n < least:
			return usagef("%s: missing %s; usage: %s", cmd.Name(), missingArg(cmd, n), cmd.UseLine())
		case most >= 0 && n > most:
			return usagef("%s: unexpected argument %q; usage: %s", cmd.Name(), args[most], cmd.UseLine())
		}
		return nil
	}
}

// missingArg names the argument at index n by the command's Use line.
func missingArg(cmd *cobra.Command, n int) string {
	words := strings.Fields(cmd.Use)[1:]
	if n < len(words) {
		return strings.Trim(words[n], "[].")
	}
	return "an argument"
}

// oneLine keeps what is printed as one line one line, whatever a file name or
// a file's content put into it.
func oneLine(s string) string { return printable(strings.TrimSpace(s)) }

// advise puts the command that helps into an error of the library, which knows none.
func advise(err error) error {
	var e *session.Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case errors.Is(err, session.ErrNotFound) && e.File != "":
		e.Hint = "clew tree " + e.File + " lists the entries"
	case errors.Is(err, session.ErrNothingToUndo):
		e.Hint = "clew tree shows what is there"
	case e.Op == "open" && e.Hint == "check the path":
		e.Hint += "; clew ls lists the sessions in the data folder"
	case e.Hint == "name a session file in it":
		e.Hint += "; clew ls FOLDER lists them"
	}
	return err
}
