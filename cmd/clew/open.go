package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// openSession opens the session that a FILE argument names: a path, the id of a
// session in the data folder or the beginning of one, or - for standard input.
// The caller closes it.
func openSession(cmd *cobra.Command, name string, readOnly bool) (*jsonl.File, error) {
	if name == "-" {
		if !readOnly {
			return nil, usagef("%s: standard input can't be changed; name a file", cmd.Name())
		}
		return jsonl.Read(cmd.Context(), stdinName, cmd.InOrStdin())
	}
	path, err := resolveSession(cmd.Context(), name)
	if err != nil {
		return nil, err
	}
	return jsonl.Open(cmd.Context(), path, jsonl.Options{ReadOnly: readOnly, Program: "clew " + cmd.Name()})
}

// stdinName is what errors call standard input.
const stdinName = "standard input"

// minID is how many characters of a session's id are needed to name it, so that
// a short file name with a slip in it is not taken for one.
const minID = 4

// resolveSession returns the path of the file that a FILE argument names.
func resolveSession(ctx context.Context, name string) (string, error) {
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) || len(name) < minID || strings.ContainsAny(name, `/\`) {
		return name, nil // what is wrong with it is for the opener to say
	}
	h, err := home.Default()
	if err != nil {
		return name, nil
	}
	found, err := h.Find(ctx, name)
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 0:
		return name, nil
	case 1:
		return found[0].Path, nil
	}
	return "", &session.Error{
		Op: "open", Subject: name,
		Err:  fmt.Errorf("%d sessions in the data folder have ids that begin so", len(found)),
		Hint: "give more of the id, or the path; clew ls --all lists them",
	}
}
