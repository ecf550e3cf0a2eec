package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// Config says what is shown, and where. Host, Events, In and Out are required.
type Config struct {
	Host chat.Host
	// Events gets the events of the host's agents: its Send is chat.Config.Events.
	Events *Sink
	In     io.Reader
	Out    io.Writer
	// Theme is the colours. Default: widget.ModeAuto; NO_COLOR turns them off.
	Theme widget.Mode
	// ScreenReader prints plain lines and draws nothing. A terminal that can't be drawn
	// on (TERM=dumb) gets them too.
	ScreenReader bool
	// NoAltScreen draws below what is on the screen, and leaves it there at the end.
	NoAltScreen bool
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
	if c.Theme == "" {
		c.Theme = widget.ModeAuto
	}
	if c.getenv("NO_COLOR") != "" {
		c.Theme = widget.ModeNone
	}
	if c.getenv("TERM") == "dumb" {
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
	if c.ScreenReader {
		return runPlain(ctx, c)
	}
	if !isTerminal(c.In) || !isTerminal(c.Out) {
		return ErrNoTerminal
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	u := newUI(ctx, c)
	p := tea.NewProgram(u, tea.WithContext(ctx), tea.WithInput(c.In), tea.WithOutput(c.Out), tea.WithEnvironment(c.Environ), tea.WithFPS(30))
	_, err = p.Run()
	if !errors.Is(err, tea.ErrProgramPanic) && (errors.Is(err, tea.ErrProgramKilled) || errors.Is(err, tea.ErrInterrupted)) {
		err = nil // it was told to end from outside
	}
	cancel()
	u.tasks.wait()
	// What was typed and is not sent yet is not lost by leaving.
	if serr := u.sendRest(); serr != nil {
		err = errors.Join(err, serr)
	}
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	return nil
}

func isTerminal(x any) bool {
	f, ok := x.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
