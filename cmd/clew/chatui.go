package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/internal/demo"
	"github.com/clew-dev/clew/internal/tui"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// runUI shows the conversation on the terminal.
func (fl *chatFlags) runUI(ctx context.Context, cmd *cobra.Command, c chat.Config, words string) error {
	in, out := cmd.InOrStdin(), cmd.OutOrStdout()
	if !fl.screenReader && (!isTerminal(in) || !isTerminal(out)) {
		return usagef("chat: %w", tui.ErrNoTerminal)
	}
	d, err := fl.takeDemo(cmd, &c)
	if err != nil {
		return err
	}
	defer d.end()
	sink := tui.NewSink()
	c.Events = sink.Send
	s, err := openChat(ctx, c)
	if err != nil {
		return err
	}
	if s.AskTrust() {
		yes, err := askTrust(in, out, s.Untrusted())
		if err != nil || yes {
			err = errors.Join(err, s.Close())
		} else {
			err = s.DontTrust()
		}
		if err != nil {
			return err
		}
		if yes {
			if s, err = trusted(ctx, c, s); err != nil {
				return err
			}
		}
	}
	hints := s.Warnings()
	if fl.demo {
		hints = append(hints, demo.Hints()...)
	}
	look := s.UI()
	var host chat.Host = s
	if fl.demo {
		host = demoHost{s}
	}
	err = tui.Run(ctx, tui.Config{
		Host: host, Events: sink, In: in, Out: out, Theme: theme(fl.theme, look.Theme), ScreenReader: fl.screenReader || look.ScreenReader,
		First: words, Choose: fl.resume == pickSession, Hints: hints,
		Silent: look.Silent, NoPreview: look.NoPreview,
	})
	now := s.Agent().State()
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	if _, err := os.Stat(now.File); err == nil && now.File != "" && !fl.demo {
		fmt.Fprintf(cmd.ErrOrStderr(), "clew chat --session %s goes on\n", now.Session)
	}
	return nil
}

// demoHost is a session of the demo, which has one model.
type demoHost struct{ *chat.Session }

// Models implements chat.Host.
func (h demoHost) Models() []chat.ModelChoice {
	s := h.Agent().State()
	return []chat.ModelChoice{{Name: s.Model, Window: s.Window, Ready: true}}
}

// trusted trusts the project of a session that is closed, and opens it again.
func trusted(ctx context.Context, c chat.Config, s *chat.Session) (*chat.Session, error) {
	if err := s.Trust(ctx); err != nil {
		return nil, err
	}
	return openChat(ctx, c)
}

// askTrust asks whether a project is trusted.
func askTrust(in io.Reader, out io.Writer, wants []string) (bool, error) {
	fmt.Fprintln(out, "This project's settings want more than a project may by itself:")
	for _, w := range wants {
		fmt.Fprintln(out, "  "+oneLine(w))
	}
	fmt.Fprint(out, "Trust this project? It can then run programs of its own. [y/N] ")
	var line []byte
	for b := make([]byte, 1); len(line) < 100; {
		n, err := in.Read(b)
		if n == 1 && b[0] != '\n' {
			line = append(line, b[0])
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		break
	}
	word := strings.ToLower(strings.TrimSpace(string(line)))
	return word == "y" || word == "yes", nil
}

func theme(names ...string) widget.Mode {
	for _, name := range names {
		if name != "" {
			return widget.Mode(name)
		}
	}
	return widget.ModeAuto
}
