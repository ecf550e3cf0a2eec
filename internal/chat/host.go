// Package chat makes agents out of the user's settings, for the ways in which one can
// talk to them: the terminal, the JSON lines of package rpc, a single prompt.
//
//	h, err := chat.Open(ctx, chat.Config{Dir: dir, Events: show})
//	_, err = h.Agent().Send(ctx, agent.Input{Text: "fix the flaky test"})
//	err = h.Close()
package chat

import (
	"context"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/agent/rpc"
	"github.com/clew-dev/clew/session/jsonl"
)

// Host has one agent at a time, and changes it for another when the user goes to
// another session. It may be used from several goroutines.
type Host interface {
	// Agent is the one that is in use. After New, Resume or Fork it is another one, and
	// the one before is closed: nothing can be done with it any more.
	Agent() *agent.Agent
	// New begins a session, Resume goes on with one in a file, Fork makes a new one of the
	// path to an entry, "" for the leaf, and goes there; it returns the text of the
	// entry where that is what the user typed. When one fails, the agent is the one before.
	// agent.ErrBusy: the agent is at work.
	New(ctx context.Context) error
	Resume(ctx context.Context, path string) error
	Fork(ctx context.Context, at string) (text string, err error)
	// Sessions lists those of the project, or all.
	Sessions(ctx context.Context, all bool) ([]jsonl.Info, error)
	// Remove deletes a session that is not in use; Rename gives one a name.
	Remove(ctx context.Context, path string) error
	Rename(ctx context.Context, path, name string) error
	// Models lists what can be answered by, those with a key first.
	Models() []ModelChoice
	// Export writes the session to a file and returns its name. format "" goes by the
	// ending of the name; path "" is a name beside the project.
	Export(ctx context.Context, format, path string) (string, error)
	// Settings lists what is set, by whom. Set changes one for the user, in the file of
	// the user, and where it can for the agent in use; what it can't says the text.
	Settings() []Setting
	Set(ctx context.Context, name, value string) (note string, err error)
	// Allow writes rules into the user's settings, so that they count in every session.
	Allow(ctx context.Context, rules []string) error
	// Hooks describes the hooks and MCP servers that are in use, a line each.
	Hooks() []string
	// Files completes a path of the project.
	Files(ctx context.Context, prefix string, most int) []string
	// History returns what was typed before in this project, oldest first; Remember adds to it.
	History() []string
	Remember(line string)
	// Dir is the project.
	Dir() string
	Close() error
}

// ModelChoice is a model that can be chosen.
type ModelChoice = rpc.ModelChoice

// Setting is a thing to set.
type Setting = rpc.Setting

// Truster is a Host that can be told that the project is trusted: to run programs, to
// allow tools, to name servers. A user is asked once, where Untrusted says something.
type Truster interface {
	// Untrusted says what the project may not do unless it is trusted.
	Untrusted() []string
	// Trust writes down that it is.
	Trust(ctx context.Context) error
}

var (
	_ Host     = (*Session)(nil)
	_ Truster  = (*Session)(nil)
	_ rpc.Host = (*Session)(nil)
)
