package rpc

import (
	"context"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/session/jsonl"
)

// Host has one agent at a time, and changes it for another when another session is taken
// into use. It is used from several goroutines.
type Host interface {
	// Agent is the one in use.
	Agent() *agent.Agent
	// Ready returns when all tools are there, or can't be.
	Ready(ctx context.Context) error
	// New begins a session, Resume goes on with one in a file, Fork makes a new one of
	// the path to an entry, "" for the leaf, and goes there. It returns what the user
	// typed there.
	New(ctx context.Context) error
	Resume(ctx context.Context, path string) error
	Fork(ctx context.Context, at string) (text string, err error)
	// Sessions lists those of the project, or all. Remove deletes one that is not in
	// use, Rename gives one a name.
	Sessions(ctx context.Context, all bool) ([]jsonl.Info, error)
	Remove(ctx context.Context, path string) error
	Rename(ctx context.Context, path, name string) error
	// Models lists what can answer.
	Models() []ModelChoice
	// Export writes the session to a file and returns its name.
	Export(ctx context.Context, format, path string) (string, error)
	// Settings lists what is set, Set changes one for the user, Allow adds rules to the
	// user's settings.
	Settings() []Setting
	Set(ctx context.Context, name, value string) (note string, err error)
	Allow(ctx context.Context, rules []string) error
	// Untrusted says what the project may not do unless it is trusted, Trust trusts it.
	Untrusted() []string
	Trust(ctx context.Context) error
	// Hooks describes the hooks and servers in use.
	Hooks() []string
	// Files completes a path of the project.
	Files(ctx context.Context, prefix string, most int) []string
	// History returns what was typed before in this project, oldest first, Remember adds
	// to it.
	History() []string
	Remember(line string)
	// Dir is the project.
	Dir() string
}

// ModelChoice is a model that can be chosen.
type ModelChoice struct {
	// Name is "provider/id".
	Name string `json:"name"`
	// Window is in tokens, 0 where it is not known.
	Window int64 `json:"window,omitempty"`
	// Input and Output are US dollars for a million tokens; 0 where they are not known.
	Input  float64 `json:"input,omitempty"`
	Output float64 `json:"output,omitempty"`
	// Ready says that there is a key, or that none is needed; Why else what is missing.
	Ready bool   `json:"ready"`
	Why   string `json:"why,omitempty"`
}

// Setting is a thing to set.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value,omitempty"`
	Default string `json:"default,omitempty"`
	// From says where it is set, Text what it does.
	From string `json:"from"`
	Text string `json:"text,omitempty"`
}
