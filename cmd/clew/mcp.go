package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/internal/lost"
	"github.com/clew-dev/clew/internal/mcpserver"
	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/transcript"
)

func newMCP(cmd *cobra.Command) runFunc {
	names, program := formatNames(sessions.Programs()), ""
	flags := cmd.Flags()
	choiceFlag(cmd, &program, "program", "read the sessions of this program alone: "+strings.Join(names, ", "), names)
	file := flags.String("session", "", "read this session file alone")
	dir := flags.String("dir", "", "folder of the project (default: the current one)")
	addr := flags.String("http", "", "answer over HTTP at this address of this machine")
	secrets := flags.Bool("secrets", false, "do not mask keys and passwords in answers")
	return func([]string) (result, error) {
		cfg := mcpserver.Config{File: *file, Secrets: *secrets, Getenv: os.Getenv, Version: readVersion().Version}
		if program != "" {
			cfg.Programs = []transcript.Format{transcript.Format(program)}
		}
		var err error
		if cfg.Dir, err = filepath.Abs(*dir); err != nil {
			return nil, err
		}
		if cfg.UserHome, err = os.UserHomeDir(); err != nil && *file == "" {
			return nil, fmt.Errorf("mcp: %w; name a file with --session", err)
		}
		s, err := mcpserver.New(cfg)
		if err != nil {
			return nil, err
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if *addr == "" {
			return nil, s.Stdio(ctx, cmd.InOrStdin(), cmd.OutOrStdout())
		}
		if err := gateway.CheckListen(*addr); errors.Is(err, gateway.ErrExposed) {
			return nil, usagef("mcp: --http %s: sessions are shown to this machine alone; write 127.0.0.1:PORT", *addr)
		} else if err != nil {
			return nil, usagef("mcp: --http: %w", err)
		}
		l, err := net.Listen("tcp", *addr)
		if err != nil {
			return nil, fmt.Errorf("mcp: %w; take another port", err)
		}
		if _, err := fmt.Fprintf(cmd.ErrOrStderr(), "listening on http://%s\n", l.Addr()); err != nil {
			return nil, err
		}
		if err := serveHTTP(ctx, l, s.Handler(), 0); err != nil {
			return nil, fmt.Errorf("mcp: %w", err)
		}
		return nil, nil
	}
}

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
