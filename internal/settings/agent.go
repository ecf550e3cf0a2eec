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

// modeAsk asks for what changes something.
const modeAsk = "ask"

// Modes returns the modes of package permission, the strictest first.
func Modes() []string { return []string{"plan", modeAsk, "edits", "all"} }

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
	return Agent{Mode: modeAsk, MaxTurns: 200, Background: 0.8, ToolOutput: 64 << 10, TaskRequests: 50, WebFetch: "off"}
}

// minToolOutput is the least that may stay of a tool result: less says nothing.
const minToolOutput = 1000

// agentKeys are those about the agent.
func agentKeys() []Key {
	return []Key{
		key("model", "CLEW_MODEL", "model", "by the keys in the environment", "provider/model", setModel,
			"the model of `clew chat`; see [models.md](models.md)"),
		key("reasoning", "CLEW_REASONING", "", "default", "", func(s *Settings, v string) (err error) { s.Reasoning, err = model.ParseReasoning(v); return err },
			"how much it reasons: "+strings.Join(model.ReasoningNames(), ", ")),
		key("agent.mode", "CLEW_MODE", "mode", modeAsk, "", oneOf(func(s *Settings) *string { return &s.Agent.Mode }, "mode", Modes()),
			"what needs no permission: ask (reading), edits (also changing project files), plan (reading only), all"),
		key("agent.maxTurns", "CLEW_MAX_TURNS", "", "200", "requests", count(func(s *Settings) *int { return &s.Agent.MaxTurns }),
			"limit for one prompt"),
		key("agent.background", "CLEW_BACKGROUND", "", "80%", "% of the trigger", setBackground,
			"prepare a summary in the background from this size; 0: never"),
		key("agent.toolOutput", "CLEW_TOOL_OUTPUT", "", "65536", "bytes", number(func(s *Settings) *int64 { return &s.Agent.ToolOutput }, minToolOutput),
			"the largest tool result in the context; the rest can be recalled"),
		key("agent.idle", "CLEW_IDLE", "", "0", "minutes", minutes(func(s *Settings) *time.Duration { return &s.Agent.Idle }),
			"compact a session over the size of agent.background after so long without work; 0: never"),
		key("agent.taskRequests", "CLEW_TASK_REQUESTS", "", "50", "requests", setTaskRequests,
			"limit for a task in a context of its own; 0: no tasks"),
		key("agent.webFetch", "CLEW_WEB_FETCH", "", "off", "", oneOf(func(s *Settings) *string { return &s.Agent.WebFetch }, "choice", WebFetches()),
			"servers that the tool `web_fetch` may reach, with permission: off (no such tool), public, all (also private networks and this machine)"),
		key("agent.compactTool", "CLEW_COMPACT_TOOL", "", "false", "", truth(func(s *Settings, on bool) { s.Agent.CompactTool = on }),
			"the model may request a compaction, from half of the trigger on"),
		key("ui.theme", "CLEW_THEME", "", ThemeAuto, "", oneOf(func(s *Settings) *string { return &s.UI.Theme }, "theme", Themes()),
			"colours: "+strings.Join(Themes(), ", ")),
		key("ui.screenReader", "CLEW_SCREEN_READER", "", "false", "", truth(func(s *Settings, on bool) { s.UI.ScreenReader = on }),
			"print plain lines for a screen reader"),
		key("ui.bell", "CLEW_BELL", "", "true", "", truth(func(s *Settings, on bool) { s.UI.Silent = !on }),
			"ring the bell for questions"),
		key("ui.compactPreview", "CLEW_COMPACT_PREVIEW", "", "true", "", truth(func(s *Settings, on bool) { s.UI.NoPreview = !on }),
			"`/compact` shows the summary first"),
		key("ui.moveAtOnce", "CLEW_MOVE_AT_ONCE", "", "false", "", truth(func(s *Settings, on bool) { s.UI.MoveAtOnce = on }),
			"`/tree` moves without offering a summary", also("branchSummary.skipPrompt")),
	}
}

func setTaskRequests(s *Settings, v string) error {
	if s.Agent.TaskRequests = 0; v == "0" {
		return nil
	}
	return setCount(&s.Agent.TaskRequests, v)
}

func setModel(s *Settings, v string) error {
	s.Model = strings.TrimSpace(v)
	provider, id, ok := strings.Cut(s.Model, "/")
	if s.Model == "" || ok && (provider == "" || id == "") || strings.ContainsFunc(s.Model, func(r rune) bool { return r <= ' ' }) {
		return fmt.Errorf("%q names no model; write it as provider/model, such as anthropic/claude-sonnet-4-5", v)
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
