package settings

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clew-dev/clew/model"
)

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

// The modes, the strictest first.
const (
	ModePlan  = "plan"  // nothing is changed
	ModeAsk   = "ask"   // what changes something is asked for
	ModeEdits = "edits" // files of the project are changed without asking
	ModeAll   = "all"   // all that no rule forbids
)

// Modes returns the modes, the strictest first.
func Modes() []string { return []string{ModePlan, ModeAsk, ModeEdits, ModeAll} }

// freedom orders the modes.
func freedom(mode string) int { return slices.Index(Modes(), mode) }

// The themes.
const (
	ThemeAuto  = "auto"
	ThemeLight = "light"
	ThemeDark  = "dark"
	ThemeNone  = "none" // no colours
)

// Themes returns the themes.
func Themes() []string { return []string{ThemeAuto, ThemeLight, ThemeDark, ThemeNone} }

func defaultAgent() Agent {
	return Agent{Mode: ModeAsk, MaxTurns: 200, Background: 0.8, ToolOutput: 64 << 10, TaskRequests: 50, WebFetch: "off"}
}

// minToolOutput is the least that may stay of a tool result: less says nothing.
const minToolOutput = 1000

var reasoningLevels = []string{
	"default", string(model.ReasoningNone), string(model.ReasoningMinimal), string(model.ReasoningLow), string(model.ReasoningMedium),
	string(model.ReasoningHigh), string(model.ReasoningXHigh), string(model.ReasoningMax),
}

// agentKeys are those about the agent.
func agentKeys() []Key {
	return []Key{
		{
			Name: "model", Env: "CLEW_MODEL", Flag: "model", Default: "by the keys in the environment", Unit: "provider/model, or model",
			Text: "the model that answers in `clew chat`; see [models.md](models.md)", set: setModel,
		},
		{
			Name: "reasoning", Env: "CLEW_REASONING", Default: "default", Unit: "name",
			Text: "how much it reasons: " + strings.Join(reasoningLevels, ", "), set: setReasoning,
		},
		{
			Name: "agent.mode", Env: "CLEW_MODE", Flag: "mode", Default: ModeAsk, Unit: "name",
			Text: "what tools do without asking: ask, edits (change files of the project), plan (nothing but read), all",
			set:  func(s *Settings, v string) error { return setName(&s.Agent.Mode, v, "mode", Modes()) },
		},
		{
			Name: "agent.maxTurns", Env: "CLEW_MAX_TURNS", Default: "200", Unit: "requests",
			Text: "the most requests that are made for one prompt",
			set:  func(s *Settings, v string) error { return setCount(&s.Agent.MaxTurns, v) },
		},
		{
			Name: "agent.background", Env: "CLEW_BACKGROUND", Default: "80%", Unit: "% of the trigger",
			Text: "the size at which a summary is prepared while the work goes on; 0: never", set: setBackground,
		},
		{
			Name: "agent.toolOutput", Env: "CLEW_TOOL_OUTPUT", Default: "65536", Unit: "bytes",
			Text: "the most of a tool result that comes into the context; the rest can be recalled",
			set:  func(s *Settings, v string) error { return setTokens(&s.Agent.ToolOutput, v, minToolOutput) },
		},
		{
			Name: "agent.idle", Env: "CLEW_IDLE", Default: "0", Unit: "minutes",
			Text: "how long a session that is over that size is idle before it is compacted; 0: it is not",
			set:  func(s *Settings, v string) error { return setMinutes(&s.Agent.Idle, v) },
		},
		{
			Name: "agent.taskRequests", Env: "CLEW_TASK_REQUESTS", Default: "50", Unit: "requests",
			Text: "the most requests that are made for a task in a context of its own; 0: there are no tasks",
			set: func(s *Settings, v string) error {
				if s.Agent.TaskRequests = 0; v == "0" {
					return nil
				}
				return setCount(&s.Agent.TaskRequests, v)
			},
		},
		{
			Name: "agent.webFetch", Env: "CLEW_WEB_FETCH", Default: "off", Unit: "name",
			Text: "which servers the tool `web_fetch` may ask, which asks you besides: off (there is no such tool), public (of the internet), all (also of this machine and private networks)",
			set:  func(s *Settings, v string) error { return setName(&s.Agent.WebFetch, v, "choice", WebFetches()) },
		},
		{
			Name: "agent.compactTool", Env: "CLEW_COMPACT_TOOL", Default: "false", Unit: "true or false",
			Text: "whether the model may ask for a compaction, from half of the trigger on",
			set:  func(s *Settings, v string) (err error) { s.Agent.CompactTool, err = parseBool(v); return err },
		},
		{
			Name: "ui.theme", Env: "CLEW_THEME", Default: ThemeAuto, Unit: "name",
			Text: "the colours: " + strings.Join(Themes(), ", "),
			set:  func(s *Settings, v string) error { return setName(&s.UI.Theme, v, "theme", Themes()) },
		},
		{
			Name: "ui.screenReader", Env: "CLEW_SCREEN_READER", Default: "false", Unit: "true or false",
			Text: "whether plain lines are printed, which a screen reader can follow",
			set:  func(s *Settings, v string) (err error) { s.UI.ScreenReader, err = parseBool(v); return err },
		},
		{
			Name: "ui.bell", Env: "CLEW_BELL", Default: "true", Unit: "true or false",
			Text: "whether the terminal's bell is rung when something is asked",
			set:  func(s *Settings, v string) error { return setOff(&s.UI.Silent, v) },
		},
		{
			Name: "ui.compactPreview", Env: "CLEW_COMPACT_PREVIEW", Default: "true", Unit: "true or false",
			Text: "whether `/compact` shows the summary before it counts",
			set:  func(s *Settings, v string) error { return setOff(&s.UI.NoPreview, v) },
		},
		{
			Name: "ui.moveAtOnce", Env: "CLEW_MOVE_AT_ONCE", Default: "false", Unit: "true or false",
			Text:  "whether `/tree` moves without asking for a summary of what is left, and without one",
			Other: []Other{also("branchSummary.skipPrompt")},
			set:   func(s *Settings, v string) (err error) { s.UI.MoveAtOnce, err = parseBool(v); return err },
		},
	}
}

// setOff reads whether something is on, for a field that says that it is off.
func setOff(to *bool, v string) error {
	on, err := parseBool(v)
	*to = !on
	return err
}

func setModel(s *Settings, v string) error {
	s.Model = strings.TrimSpace(v)
	provider, id, ok := strings.Cut(s.Model, "/")
	if s.Model == "" || ok && (provider == "" || id == "") || strings.ContainsFunc(s.Model, func(r rune) bool { return r <= ' ' }) {
		return fmt.Errorf("%q names no model; write it as provider/model, such as anthropic/claude-sonnet-4-5", v)
	}
	return nil
}

func setReasoning(s *Settings, v string) error {
	var level string
	if err := setName(&level, v, "level of reasoning", reasoningLevels); err != nil {
		return err
	}
	if s.Reasoning = model.Reasoning(level); level == "default" {
		s.Reasoning = model.ReasoningDefault
	}
	return nil
}

// setName reads one of several names.
func setName(to *string, v, what string, names []string) error {
	if !slices.Contains(names, v) {
		return fmt.Errorf("there is no %s %q; there are %s", what, v, strings.Join(names, ", "))
	}
	*to = v
	return nil
}

// setBackground reads a share: 80%, 0.8, or 0.
func setBackground(s *Settings, v string) error {
	number, percent := strings.CutSuffix(v, "%")
	f, err := strconv.ParseFloat(number, 64)
	if percent {
		f /= 100
	}
	if err != nil || !(f >= 0 && f <= 1) {
		return fmt.Errorf("%q is no share of the trigger; write it as 80%% or 0.8, or 0 for never", v)
	}
	s.Agent.Background = f
	return nil
}

// maxIdle bounds what is meant for minutes.
const maxIdle = 30 * 24 * time.Hour

// setMinutes reads minutes, or a time such as 90s.
func setMinutes(to *time.Duration, v string) error {
	d, err := time.ParseDuration(v)
	if minutes, numErr := strconv.ParseFloat(v, 64); numErr == nil && minutes >= 0 && minutes <= maxIdle.Minutes() {
		d, err = time.Duration(minutes*float64(time.Minute)), nil
	}
	switch {
	case err != nil, d < 0:
		return fmt.Errorf("%q is no time; write minutes, such as 10, or 0 for never", v)
	case d > maxIdle:
		return errors.New("it is more than 30 days; write 0 for never")
	}
	*to = d
	return nil
}
