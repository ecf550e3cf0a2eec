// Package tui is the terminal of clew chat: what was said, an editor, and a line that
// says how full the window is.
//
//	queue := agent.NewEventQueue()
//	host, err := chat.Open(ctx, chat.Config{Dir: dir, Interactive: true, Events: queue.Send})
//	err = tui.Run(ctx, tui.Config{Host: host, Events: queue, In: os.Stdin, Out: os.Stdout})
//	err = host.Close()
//
// What is shown is made of the agent's events and of agent.Path, and of nothing else.
// Whatever may take long runs beside the program: typing never waits, and what is
// typed is never overwritten.
//
// On a terminal that can't be drawn on, and for screen readers, the same commands
// work on plain lines that come one after the other; see plain.go.
package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/muesli/cancelreader"
	"golang.org/x/term"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// Config says what is shown, and where. Host, Events, In and Out are required.
type Config struct {
	Host rpc.Host
	// Events gets the events of the host's agents: its Send is chat.Config.Events.
	Events *agent.EventQueue
	In     io.Reader
	Out    io.Writer
	// Theme is the colours. Default: widget.ModeAuto; NO_COLOR turns them off.
	Theme widget.Mode
	// ScreenReader prints plain lines and draws nothing. A terminal that can't be drawn
	// on (TERM=dumb) gets them too.
	ScreenReader bool
	// NoAltScreen draws below what is on the screen, and leaves it there at the end.
	NoAltScreen bool
	// Script is typed line by line, each when nothing goes on, in place of In, and printed as for a screen reader. What
	// the agent asks is allowed. Default: none.
	Script []string
	// First is sent at once.
	First string
	// Choose begins with the list of sessions.
	Choose bool
	// Hints are shown at the start, a line each.
	Hints []string
	// Silent rings no bell when something is asked.
	Silent bool
	// NoPreview has /compact do at once what it would show first.
	NoPreview bool
	// MoveAtOnce has /tree move without a question, and without a summary.
	MoveAtOnce bool
	// Environ is the environment. Default: os.Environ().
	Environ []string
	// Clock is for tests. Default: time.Now.
	Clock func() time.Time
}

// ErrNoTerminal is the error of Run where there is nothing to draw on.
var ErrNoTerminal = errors.New("there is no terminal to talk on; --print answers one prompt, --rpc is for programs")

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Host == nil || c.Events == nil || c.In == nil || c.Out == nil:
		return c, errors.New("tui: Host, Events, In and Out must be set; without them there is nothing to show, or nowhere")
	case c.Environ == nil:
		c.Environ = os.Environ()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	c.Theme = cmp.Or(c.Theme, widget.ModeAuto)
	if c.getenv("NO_COLOR") != "" {
		c.Theme = widget.ModeNone
	}
	if c.getenv("TERM") == "dumb" || c.Script != nil {
		c.ScreenReader = true
	}
	return c, nil
}

// getenv returns a variable of the environment; the last one counts.
func (c *Config) getenv(name string) string {
	for _, v := range slices.Backward(c.Environ) {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			return rest
		}
	}
	return ""
}

// Run shows the conversation until the user leaves it. Closing the host is the
// caller's. It is ErrNoTerminal when In or Out is none and no plain lines are wanted.
func Run(ctx context.Context, c Config) error {
	c, err := c.withDefaults()
	if err != nil {
		return err
	}
	if !c.ScreenReader && (!isTerminal(c.In) || !isTerminal(c.Out)) {
		return ErrNoTerminal
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	u := newUI(ctx, c)
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithEnvironment(c.Environ), tea.WithFPS(30), tea.WithoutSignalHandler()}
	if c.ScreenReader {
		err = runPlain(u, options)
	} else {
		_, err = tea.NewProgram(u, append(options, tea.WithInput(c.In), tea.WithOutput(c.Out))...).Run()
	}
	if !errors.Is(err, tea.ErrProgramPanic) && (errors.Is(err, tea.ErrProgramKilled) || errors.Is(err, tea.ErrInterrupted)) {
		err = nil // it was told to end from outside
	}
	cancel()
	u.tasks.wait()
	// What was typed and is not sent yet is not lost by leaving.
	err = errors.Join(err, u.sendRest(), u.keepDraft())
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	return nil
}

// runPlain shows it in lines; see plain.
func runPlain(u *ui, options []tea.ProgramOption) error {
	options = append(options, tea.WithInput(nil), tea.WithOutput(io.Discard), tea.WithoutRenderer())
	lines := onLines(u)
	if lines.ended {
		_, err := tea.NewProgram(lines, options...).Run()
		return errors.Join(err, lines.err)
	}
	in, err := cancelreader.NewReader(u.cfg.In)
	if err != nil { // a file can't be waited for, and need not be: reading it never blocks
		in, err = cancelreader.NewReader(struct{ io.Reader }{u.cfg.In})
	}
	if err != nil {
		return err
	}
	p := tea.NewProgram(lines, options...)
	go readLines(in, p.Send)
	_, err = p.Run()
	in.Cancel()
	return errors.Join(err, lines.err, in.Close())
}

func isTerminal(x any) bool {
	f, ok := x.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
