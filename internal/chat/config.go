// Package chat makes agents out of the user's settings, for the ways in which one can
// talk to them: the terminal, the JSON lines of package rpc, a single prompt.
//
//	h, err := chat.Open(ctx, chat.Config{Dir: dir, Events: show})
//	_, err = h.Agent().Send(ctx, agent.Input{Text: "fix the flaky test"})
//	err = h.Close()
package chat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/agent/permission"
	"github.com/clew-dev/clew/agent/rpc"
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
	// not call the Session.
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
	// Reasoning is one of agent.Reasonings. Default: what the session or the settings say.
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
	if m := c.Flags["mode"]; m != "" {
		return permission.Mode(m)
	}
	return permission.Mode(c.getenv("CLEW_MODE"))
}

// ConfigError says that something in a Config can't be.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ConfigError) Unwrap() error { return e.Err }

// trustKey is the user's setting that names the projects that are trusted.
const trustKey = "trustProjectHooks"

// Untrusted says what a project wants to run or to allow, and may not unless it is
// trusted: see Trust. It is empty where there is nothing.
func (s *Session) Untrusted() []string {
	return slices.DeleteFunc(slices.Clone(s.Warnings()), func(w string) bool { return !strings.Contains(w, trustKey) })
}

// Trust writes down that the project is trusted. What it may do then counts for the
// sessions that are opened from now on, its servers from the next start on.
func (s *Session) Trust(context.Context) error {
	dir := s.cfg.Dir
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".clew", "settings.json")); err == nil {
			dir = d
			break
		}
		if filepath.Dir(d) == d {
			break
		}
	}
	return s.addToList(trustKey, []string{dir})
}

// askedFile remembers what the user was asked to trust in this project.
func (s *Session) askedFile() (path, sum string, err error) {
	dir, err := s.cfg.Home.Project(s.cfg.Dir)
	h := sha256.Sum256([]byte(strings.Join(s.Untrusted(), "\n")))
	return filepath.Join(s.cfg.Home.Dir, "history", filepath.Base(dir)+".trust"), hex.EncodeToString(h[:]), err
}

// AskTrust reports whether the user is to be asked to trust the project: once for what it
// wants, and again when it wants something else.
func (s *Session) AskTrust() bool {
	if len(s.Untrusted()) == 0 {
		return false
	}
	path, sum, err := s.askedFile()
	if err != nil {
		return false
	}
	data, err := os.ReadFile(path)
	return err != nil || string(data) != sum
}

// DontTrust remembers that the user was asked, and said no.
func (s *Session) DontTrust() error {
	path, sum, err := s.askedFile()
	if err != nil {
		return err
	}
	return settings.WriteFile(path, []byte(sum))
}

// Host is what a Session is for those who talk to it.
type Host = rpc.Host

// ModelChoice is a model that can be chosen.
type ModelChoice = rpc.ModelChoice

// Setting is a thing to set.
type Setting = rpc.Setting

var _ Host = (*Session)(nil)
