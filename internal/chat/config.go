// Package chat makes agents out of the user's settings, for the ways in which one can
// talk to them: the terminal, the JSON lines of package rpc, a single prompt.
//
//	h, err := chat.Open(ctx, chat.Config{Dir: dir, Events: show})
//	_, err = h.Agent().Send(ctx, agent.Input{Text: "fix the flaky test"})
//	err = h.Close()
package chat

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/model"
)

// Config says which conversation is opened, and how. The zero value begins a new one
// in the current folder.
type Config struct {
	// Dir is the project. Default: the current folder.
	Dir string
	// Events is told what the agent in use does, one event at a time, in order. It must
	// not call the Host.
	Events func(agent.Event)
	// Interactive says that somebody answers questions. Without it, what would be asked
	// is refused, and Refused says what would have allowed it.
	Interactive bool

	// Last goes on with the project's newest session, if there is one, File with the
	// session in a file, Fork with a copy of the session in a file. Memory keeps the
	// session in memory. Default: a new session in the data folder.
	Last       bool
	File, Fork string
	Memory     bool
	// Name is given to the session. Default: none.
	Name string

	// Flags are those that the settings know, by name: model, mode, preset, window...
	Flags map[string]string
	// BaseURL and KeyEnv say where the model of the flag is; see provider.Config.
	BaseURL, KeyEnv string
	// Reasoning is one of model.ReasoningNames. Default: what the session or the settings say.
	Reasoning model.Reasoning
	// Allow and Deny are rules beside those of the settings; see package permission.
	Allow, Deny []string
	// NoTools gives the model no tools; Tools are the names of those that it gets.
	// Default: all.
	NoTools bool
	Tools   []string
	// MaxRequests is the most requests for one prompt. Default: what the settings say.
	MaxRequests int
	// System takes the place of the agent's own prompt.
	System string

	// OpenModel opens a model by its name, "" for the one to begin with, in place of the
	// providers: for tests, and to show how it works.
	OpenModel func(name string) (model.Model, error)

	// Version is that of clew, which MCP servers are told.
	Version string
	// UserFile is the user's settings, Home the data folder, Environ the environment.
	// Default: those of the user, os.Environ.
	UserFile string
	Home     home.Home
	Environ  []string
	// Clock, NewID and Sleep are for tests, as in agent.Config.
	Clock func() time.Time
	NewID func() string
	Sleep func(ctx context.Context, d time.Duration) error
}

func (c Config) withDefaults() (_ Config, err error) {
	if c.Dir, err = folder(c.Dir); err != nil {
		return c, &ConfigError{err}
	}
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	if c.UserFile == "" {
		c.UserFile = settings.UserFile()
	}
	if c.Home == (home.Home{}) {
		if c.Home, err = home.Default(); err != nil {
			return c, err
		}
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return c, nil
}

// mode is that of the flag or of the environment, which counts before what a session
// remembers; "" where neither says one.
func (c *Config) mode() permission.Mode {
	return permission.Mode(cmp.Or(c.Flags["mode"], c.getenv("CLEW_MODE")))
}

// ConfigError says that something in a Config can't be.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ConfigError) Unwrap() error { return e.Err }

var _ rpc.Host = (*Host)(nil)
