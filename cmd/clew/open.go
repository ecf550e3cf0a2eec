package main

import (
	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/session/jsonl"
)

// openSession opens the session that a FILE argument names: a path, or - for
// standard input. The caller closes it.
func openSession(cmd *cobra.Command, name string, readOnly bool) (*jsonl.File, error) {
	if name == "-" {
		if !readOnly {
			return nil, usagef("%s: standard input can't be changed; name a file", cmd.Name())
		}
		return jsonl.Read(cmd.Context(), "standard input", cmd.InOrStdin())
	}
	return jsonl.Open(cmd.Context(), name, jsonl.Options{ReadOnly: readOnly, Program: "clew " + cmd.Name()})
}
