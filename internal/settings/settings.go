// Package settings reads how clew is to work from where users say it: a file of the
// user, a file of the project, the environment and flags.
//
//	s, err := settings.Load(settings.Options{Dir: ".", Environ: os.Environ()})
//	cfg, err := s.Config()
//	session, err := clew.Open(ctx, path, cfg)
//
// What is said in several places counts in this order: flags, environment, the
// project's file, the user's file, the preset, the default. Keys lists all there is to
// set, docs/settings.md shows it as a table.
//
// The files are JSON with comments and trailing commas. The project's is
// .clew/settings.json in the working directory, or in the nearest folder above it up to
// the one with .git. A project can't run programs, can't choose who gets to read the
// conversation, and can't allow what would be asked for, unless the user's file says
// that it may.
package settings

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/hook"
	"github.com/clew-dev/clew/model"
)

// Settings are what counts.
type Settings struct {
	// Preset is the name of the preset, "" for the default.
	Preset string
	// Auto says whether a session is compacted by itself.
	Auto bool
	// DB is the database of clew db and clew gateway, as a connection string or URL; "" for none.
	DB string
	// OffloadDir is clew.Config.Cache.
	OffloadDir string
	// Blobs is a folder or an s3:// address: large output of sessions in a database is kept there; "" for none.
	Blobs string
	// SummaryModel is the model that writes summaries, as provider/model; "" for none.
	SummaryModel string
	// Models are what is different for single models, by "model" or "provider/model".
	Models map[string]clew.Override
	// Prices are those that take the place of the known ones, named likewise.
	Prices map[string]Price
	// Hooks are the programs to run, the user's first.
	Hooks []hook.Config

	// Model is the model that answers, as "provider/id" or "id"; "" for one that the
	// environment has a key for.
	Model string
	// Reasoning says how much it reasons; "" as it does by itself.
	Reasoning model.Reasoning
	// Agent says how the agent works.
	Agent Agent
	// UI says how the terminal looks.
	UI UI
	// Providers are servers of models by their names, beside those that are known.
	Providers map[string]Provider
	// Permissions are rules for calls of tools, the user's first.
	Permissions Permissions
	// MCPServers are the servers that give tools, by their names.
	MCPServers map[string]MCPServer

	// Project is the folder of the project whose file was read, "" for none.
	Project string
	// Warnings say what was passed over.
	Warnings []string

	policy   compact.Policy // the preset's, with what was said instead
	values   map[string]said
	extra    []Setting
	keys     []Key
	trustAll bool
	trust    []string
}

// Agent says how the agent works.
type Agent struct {
	// Mode says what is done without asking: one of Modes.
	Mode string
	// MaxTurns is the most requests that are made for one prompt.
	MaxTurns int
	// Background is the share of the trigger at which a summary is prepared. 0: none is.
	Background float64
	// ToolOutput is how many bytes of a tool result stay in the context at its birth.
	ToolOutput int64
	// Idle is how long a session over its soft threshold is idle before it is compacted.
	// 0: it is not.
	Idle time.Duration
	// TaskRequests is the most requests that are made for one task. 0: there is no tool task.
	TaskRequests int
	// WebFetch says which servers the tool web_fetch may ask: one of WebFetches.
	WebFetch string
	// CompactTool says that the model may ask for a pass.
	CompactTool bool
}

// WebFetches are the values of agent.webFetch: no tool, servers of the internet, and also
// those of this machine and of private networks.
func WebFetches() []string { return []string{"off", "public", "all"} }

// UI says how the terminal looks.
type UI struct {
	// Theme is one of Themes.
	Theme string
	// ScreenReader says that lines are printed one after the other, and nothing is drawn.
	ScreenReader bool
	// Silent says that no bell is rung when something is asked: ui.bell is false.
	Silent bool
	// NoPreview says that a compaction that is asked for is made at once, without being
	// shown before: ui.compactPreview is false.
	NoPreview bool
	// MoveAtOnce has /tree move without asking for a summary of what is left, and without one.
	MoveAtOnce bool
}

// modeAsk asks for what changes something.
const modeAsk = "ask"

// Modes returns the modes of package permission, the strictest first.
func Modes() []string { return []string{"plan", modeAsk, "edits", "all"} }

// Themes returns the themes; with none there are no colours.
func Themes() []string { return []string{"auto", "light", "dark", "none"} }

// Setting is one setting with where it comes from.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"` // empty where the default is no value
	Origin Origin `json:"origin"`
}

// All returns every setting in the order of Keys, then what only files hold, as far as
// there is any.
func (s *Settings) All() []Setting {
	var out []Setting
	of := Settings{}
	of.policy, _ = compact.Preset(s.Preset) // a known one, or Load would have failed
	of.policy.Window = of.policy.MaxWindow
	for _, k := range of.table() {
		one := Setting{k.Name, k.Default, Origin{Source: FromDefault}}
		if v, ok := s.values[k.Name]; ok {
			one.Value, one.Origin = v.text, v.from
		} else if text := k.shown(); text != "" {
			one.Value, one.Origin = text, Origin{FromPreset, of.policy.Name, 0}
		}
		out = append(out, one)
	}
	slices.SortStableFunc(s.extra, func(a, b Setting) int { return group(a.Key) - group(b.Key) })
	return append(out, s.extra...)
}

// group orders what is no key.
func group(key string) int {
	return slices.IndexFunc(onlyInFiles, func(o onlyInFile) bool { return strings.HasPrefix(key, o.name) })
}

// Policy returns the policy: the preset with what was said instead.
func (s *Settings) Policy() (compact.Policy, error) {
	_, _, err := s.policy.Resolve()
	return s.policy, err
}

// Config returns the settings of a session. Where it comes from and what is stored
// are for the caller to add: Provider, Model, Cwd.
func (s *Settings) Config() (clew.Config, error) {
	policy, err := s.Policy()
	if err != nil {
		return clew.Config{}, err
	}
	cfg := clew.Config{Policy: policy, Models: s.Overrides(), Cache: s.OffloadDir, NoAuto: !s.Auto}
	if cfg.Hooks, err = s.SessionHooks(); err != nil {
		return clew.Config{}, err
	}
	if err := cfg.Validate(); err != nil {
		return clew.Config{}, fmt.Errorf("settings: %w", err)
	}
	return cfg, nil
}

// SessionHooks returns the programs as the hooks of a session.
func (s *Settings) SessionHooks() ([]clew.Hooks, error) {
	var out []clew.Hooks
	for _, c := range s.Hooks {
		h, err := hook.New(c)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

// Price returns what a model costs, if the settings say so.
func (s *Settings) Price(provider, model string) (Price, bool) {
	p, ok := s.Prices[provider+"/"+model]
	if !ok {
		p, ok = s.Prices[model]
	}
	return p, ok
}

// Overrides returns Models without what a stronger place says for all models: a window
// from the environment counts before that of a model in a file. The keys in said were
// said in the strongest place.
func (s *Settings) Overrides(said ...string) map[string]clew.Override {
	if len(s.Models) == 0 {
		return nil
	}
	out := make(map[string]clew.Override, len(s.Models))
	for name, o := range s.Models {
		counts := func(key string) bool {
			i := s.noted("models." + name + "." + key)
			// In one place, what is said for a model counts before what is said for all.
			return !slices.Contains(said, key) && (i < 0 || strength(s.extra[i].Origin.Source) >= strength(s.values[key].from.Source))
		}
		if !counts("window") {
			o.Window = 0
		}
		for key, amount := range map[string]*compact.Amount{"reserve": &o.Reserve, "trigger": &o.Trigger, "target": &o.Target, "keep": &o.Keep} {
			if !counts(key) {
				*amount = compact.Amount{}
			}
		}
		out[name] = o
	}
	return out
}

// noted returns the index of what is remembered of a key that is none, -1 for none.
func (s *Settings) noted(key string) int {
	return slices.IndexFunc(s.extra, func(v Setting) bool { return v.Key == key })
}

// strength orders the sources.
func strength(s Source) int {
	return slices.Index([]Source{FromUser, FromProject, FromEnv, FromFlag}, s)
}

// Error says what is wrong with a setting, where it stands, and what to do.
type Error struct {
	// File is where it stands, "" for a variable or a flag; Line counts from 1, 0 where
	// it is the file as a whole.
	File string
	Line int
	// Var is a variable of the environment, Flag the name of a flag.
	Var, Flag string
	// Key is the setting, "" where it is none alone.
	Key     string
	Problem string
	Hint    string // may be empty
}

func (e *Error) Error() string {
	at, key := e.File, e.Key
	switch {
	case e.File != "" && e.Line > 0:
		at = fmt.Sprintf("%s:%d", e.File, e.Line)
	case e.Var != "":
		at = "environment variable " + e.Var
	case e.Flag != "":
		at, key = "--"+e.Flag, ""
	}
	said := strings.Join(slices.DeleteFunc([]string{at, key, e.Problem}, func(s string) bool { return s == "" }), ": ")
	if e.Hint != "" {
		said += "; " + e.Hint
	}
	return said
}
