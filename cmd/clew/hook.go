package main

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/internal/lost"
)

// hookTime is how long a hook may take. The agent waits for it.
const hookTime = 10 * time.Second

// hookPrograms are those that run hooks and put what these print into the context.
var hookPrograms = []string{"claude-code", "codex"}

func newHook(cmd *cobra.Command) runFunc {
	cmd.ValidArgs = hookPrograms
	return func(args []string) (result, error) {
		if !slices.Contains(hookPrograms, args[0]) {
			return nil, usagef("hook: %s: there are %s", args[0], strings.Join(hookPrograms, ", "))
		}
		ctx, stop := context.WithTimeout(cmd.Context(), hookTime)
		defer stop()
		h := lost.Hook{Program: args[0], Log: hookLog(), Now: time.Now}
		// The agent must not be held up by what fails here: the log has it.
		_, _ = io.WriteString(cmd.OutOrStdout(), h.Answer(ctx, cmd.InOrStdin()))
		return nil, nil
	}
}

// hookLog is the file in which runs of hooks are noted, empty where there is no place for it.
func hookLog() string {
	h, err := home.Default()
	if err != nil {
		return ""
	}
	return filepath.Join(h.Dir, "hooks.log")
}
