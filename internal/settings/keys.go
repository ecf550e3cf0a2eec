package settings

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/summary"
)

// Key is one thing to set.
type Key struct {
	Name string // in files; a dot stands for an object in an object
	Env  string // variable of the environment
	Flag string // of the commands that plan, "" for none
	// Default is what counts when nobody says anything, the preset included.
	Default string
	Unit    string
	Text    string // what it says
	// Other are names that other programs have for it: keys in a file, and variables,
	// which count with their preset alone.
	Other []Other

	set setter
}

func key(name, env, flag, unset, unit string, set setter, text string, other ...Other) Key {
	return Key{name, env, flag, unset, unit, text, other, set}
}

// setter reads a value to where it belongs.
type setter struct {
	to   any
	read func(v string) error
}

func into[T any](to *T, parse func(string) (T, error)) setter {
	return setter{to, func(v string) (err error) { *to, err = parse(v); return err }}
}

// shown is what a key is set to, "" for nothing.
func (k *Key) shown() string {
	v := reflect.ValueOf(k.set.to).Elem()
	if t, ok := v.Interface().(*summary.Template); ok && t != nil {
		return t.Name()
	}
	if v.IsZero() {
		return ""
	}
	return fmt.Sprint(v)
}

// Other is another name of a key.
type Other struct {
	Name   string
	Env    bool
	Preset string // that the variable counts with
}

func also(key string) Other             { return Other{Name: key} }
func synapse(variable string) Other     { return Other{variable, true, compact.PresetSynapse} }
func turnsPreset(variable string) Other { return Other{variable, true, compact.PresetTurns} }

const (
	unitAmount = "tokens or %"
	unitTokens = "tokens"
	// minToolOutput is the least that may stay of a tool result: less says nothing.
	minToolOutput = 1000
)

// Keys returns all there is to set, but for what only files can hold; see onlyInFiles.
func Keys() []Key { return new(Settings).table() }

// table is all keys, which set s.
func (s *Settings) table() []Key {
	p, a := &s.policy, &s.Agent
	return []Key{
		key("preset", "CLEW_PRESET", "preset", compact.PresetClew, "", into(&s.Preset, presetName),
			"the policy: "+strings.Join(compact.PresetNames(), ", ")),
		key("auto", "CLEW_AUTO", "", "true", "", into(&s.Auto, truth),
			"compact automatically", also("compaction.enabled")),
		key("window", "CLEW_WINDOW", "window", "the model's, else 200000", unitTokens, into(&p.Window, atLeast(compact.MinWindow)),
			"the model's context window", synapse("SYNAPSE_MAX_CONTEXT_WINDOW"), turnsPreset("CONTEXT_WINDOW_TOKENS")),
		key("reserve", "CLEW_RESERVE", "reserve", "16384, at most 25%", unitAmount, into(&p.Reserve, compact.ParseAmount),
			"room for the answer", also("compaction.reserveTokens")),
		key("trigger", "CLEW_TRIGGER", "", "the window less the reserve", unitAmount, into(&p.Trigger, share),
			"compact at this size", synapse("SYNAPSE_OFFLOAD_THRESHOLD"), turnsPreset("COMPACT_TRIGGER")),
		key("target", "CLEW_TARGET", "target", "50%, or what keep gives", unitAmount, into(&p.Target, share),
			"size after a compaction", turnsPreset("COMPACT_TARGET")),
		key("keep", "CLEW_KEEP", "keep", "what the target leaves", unitAmount, into(&p.Keep, compact.ParseAmount),
			"the newest part, kept verbatim; at most half of the window", also("compaction.keepRecentTokens")),
		key("keepMessages", "CLEW_KEEP_MESSAGES", "", "the preset's", "messages", into(&p.KeepMessages, count),
			"the same in messages, for preset synapse", synapse("SYNAPSE_COMPACT_PRESERVE_COUNT")),
		key("keepTurns", "CLEW_KEEP_TURNS", "", "the preset's", "turns", into(&p.KeepTurns, count),
			"the same in turns, for preset turns", turnsPreset("KEEP_LAST_TURNS")),
		key("summary", "CLEW_SUMMARY", "", "6.25% of the window, at most 8192", unitAmount, into(&p.Summary, compact.ParseAmount),
			"the largest summary, without the quotes", synapse("SYNAPSE_COMPACT_TARGET_TOKENS")),
		key("maxBytes", "CLEW_MAX_BYTES", "max-bytes", "no limit", "bytes", into(&p.MaxBytes, atLeast(compact.MinBytes)),
			"the largest request"),
		key("cacheTTL", "CLEW_CACHE_TTL", "", "0", "minutes", into(&p.CacheTTL, minutes),
			"lifetime of the provider's cache; after a longer pause, when it is lost anyway, old content is shortened without a summary; 0: never"),
		key("maxPasses", "CLEW_MAX_PASSES", "", "no limit", "passes", into(&p.MaxPasses, count),
			"automatic compactions per user message while the context fits", turnsPreset("MAX_COMPACTION_ATTEMPTS")),
		key("template", "CLEW_TEMPLATE", "template", "the preset's, else briefing", "", into(&p.Template, summary.FindTemplate),
			"the form of a summary"),
		key("strategy", "CLEW_STRATEGY", "strategy", summary.AutoProfile, "", into(&p.Strategy, summary.FindProfile),
			"what a summary keeps and shortens: "+strings.Join(summary.ProfileNames(), ", ")+"; auto guesses from the agent's work"),
		key("instructions", "CLEW_INSTRUCTIONS", "instructions", "none", "", into(&p.Instructions, words),
			"what a summary should focus on"),
		key("summarizer.model", "CLEW_SUMMARY_MODEL", "summarizer", "the chat's; with preset clew none", "provider/model", into(&s.SummaryModel, words),
			"who writes summaries: a model; same: the conversation's; none: rules", synapse("SYNAPSE_COMPACT_MODEL")),
		key("summarizer.tries", "CLEW_SUMMARY_TRIES", "", "4", "calls", into(&p.Tries, count),
			"attempts, if calls fail for a passing reason", synapse("SYNAPSE_COMPACT_RETRY_COUNT")),
		key("offload.min", "CLEW_OFFLOAD_MIN", "", "400", unitTokens, into(&p.Offload.Min, atLeast(1)),
			"smallest tool result whose middle may be removed"),
		key("offload.keep", "CLEW_OFFLOAD_KEEP", "", "1000", "bytes", into(&p.Offload.Keep, count),
			"how much of it stays"),
		key("database", "CLEW_DB", "", "none", "connection string or URL", into(&s.DB, words),
			"PostgreSQL for `clew db` and `clew gateway`; keep passwords in PGPASSFILE"),
		key("offload.dir", "CLEW_OFFLOAD_DIR", "offload-dir", "none", "folder", into(&s.OffloadDir, words),
			"for removed content, in files that notes in the context name"),
		key("blobs", "CLEW_BLOBS", "", "a folder of this machine", "folder or s3://BUCKET/PREFIX?endpoint=URL", into(&s.Blobs, words),
			"large output of sessions in a database"),
		key("synapse.scanRatio", "CLEW_SYNAPSE_SCAN_RATIO", "", "0.5", "share of messages", into(&p.Synapse.Scan, scanShare),
			"the oldest messages, whose results are offloaded", synapse("SYNAPSE_OFFLOAD_SCAN_RATIO")),
		key("synapse.minChars", "CLEW_SYNAPSE_MIN_CHARS", "", "50", "characters", into(&p.Synapse.MinChars, optional[int]),
			"only longer results", synapse("SYNAPSE_OFFLOAD_MIN_CHARS")),
		key("synapse.minFreed", "CLEW_SYNAPSE_MIN_FREED", "", "15000", unitTokens, into(&p.Synapse.MinFreed, optional[int64]),
			"summarize if offloading frees less", synapse("SYNAPSE_COMPACT_TRIGGER_THRESHOLD")),
		key("synapse.cooldown", "CLEW_SYNAPSE_COOLDOWN", "", "5", "answers", into(&p.Synapse.Cooldown, optional[int]),
			"minimum between two summaries", synapse("SYNAPSE_COMPACT_COOLDOWN_STEPS")),
		key("model", "CLEW_MODEL", "model", "by the keys in the environment", "provider/model", into(&s.Model, modelName),
			"the model of `clew chat`; see [models.md](models.md)"),
		key("reasoning", "CLEW_REASONING", "", "default", "", into(&s.Reasoning, model.ParseReasoning),
			"how much it reasons: "+strings.Join(model.ReasoningNames(), ", ")),
		key("agent.mode", "CLEW_MODE", "mode", modeAsk, "", into(&a.Mode, oneOf("mode", Modes())),
			"what needs no permission: ask (reading), edits (also changing project files), plan (reading only), all"),
		key("agent.maxTurns", "CLEW_MAX_TURNS", "", "200", "requests", into(&a.MaxTurns, count),
			"limit for one prompt"),
		key("agent.background", "CLEW_BACKGROUND", "", "80%", "% of the trigger", into(&a.Background, background),
			"prepare a summary in the background from this size; 0: never"),
		key("agent.toolOutput", "CLEW_TOOL_OUTPUT", "", "65536", "bytes", into(&a.ToolOutput, atLeast(minToolOutput)),
			"the largest tool result in the context; the rest can be recalled"),
		key("agent.idle", "CLEW_IDLE", "", "0", "minutes", into(&a.Idle, minutes),
			"compact a session over the size of agent.background after so long without work; 0: never"),
		key("agent.taskRequests", "CLEW_TASK_REQUESTS", "", "50", "requests", into(&a.TaskRequests, taskRequests),
			"limit for a task in a context of its own; 0: no tasks"),
		key("agent.webFetch", "CLEW_WEB_FETCH", "", "off", "", into(&a.WebFetch, oneOf("choice", WebFetches())),
			"servers that the tool `web_fetch` may reach, with permission: off (no such tool), public, all (also private networks and this machine)"),
		key("agent.compactTool", "CLEW_COMPACT_TOOL", "", "false", "", into(&a.CompactTool, truth),
			"the model may request a compaction, from half of the trigger on"),
		key("ui.theme", "CLEW_THEME", "", "auto", "", into(&s.UI.Theme, oneOf("theme", Themes())),
			"colours: "+strings.Join(Themes(), ", ")),
		key("ui.screenReader", "CLEW_SCREEN_READER", "", "false", "", into(&s.UI.ScreenReader, truth),
			"print plain lines for a screen reader"),
		key("ui.bell", "CLEW_BELL", "", "true", "", into(&s.UI.Silent, untruth),
			"ring the bell for questions"),
		key("ui.compactPreview", "CLEW_COMPACT_PREVIEW", "", "true", "", into(&s.UI.NoPreview, untruth),
			"`/compact` shows the summary first"),
		key("ui.moveAtOnce", "CLEW_MOVE_AT_ONCE", "", "false", "", into(&s.UI.MoveAtOnce, truth),
			"`/tree` moves without offering a summary", also("branchSummary.skipPrompt")),
	}
}

func presetName(v string) (string, error) {
	_, err := compact.Preset(v)
	return v, err
}

func words(v string) (string, error) { return v, nil }

func truth(v string) (bool, error) {
	switch strings.ToLower(v) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return false, errors.New("write true or false")
}

func untruth(v string) (bool, error) {
	on, err := truth(v)
	return !on, err
}

// oneOf reads one of several names.
func oneOf(what string, names []string) func(string) (string, error) {
	return func(v string) (string, error) {
		if !slices.Contains(names, v) {
			return "", fmt.Errorf("there is no %s %q; there are %s", what, v, strings.Join(names, ", "))
		}
		return v, nil
	}
}

// share is compact.ParseAmount, but numbers up to 1 are shares of the window: 0.75.
func share(v string) (compact.Amount, error) {
	if f, err := strconv.ParseFloat(v, 64); err == nil && f > 0 && f <= 1 && strings.ContainsAny(v, ".1") {
		return compact.Percent(f * 100), nil
	}
	return compact.ParseAmount(v)
}

// atLeast reads an amount that is no share.
func atLeast(least int64) func(string) (int64, error) {
	return func(v string) (int64, error) {
		a, err := compact.ParseAmount(v)
		if err != nil || strings.Contains(v, "%") {
			return 0, fmt.Errorf("%q is no number; write it as 20000 or 20k", v)
		}
		if n := a.Of(0); n < least {
			return 0, fmt.Errorf("it is %d, and must be at least %d", n, least)
		}
		return a.Of(0), nil
	}
}

// count reads a whole number from 1.
func count(v string) (int, error) {
	n, err := strconv.Atoi(v)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no whole number", v)
	case n < 1:
		return 0, fmt.Errorf("it is %d, and must be at least 1", n)
	}
	return n, nil
}

func taskRequests(v string) (int, error) {
	if v == "0" {
		return 0, nil
	}
	return count(v)
}

// optional reads a number that may be 0, for fields in which 0 means unset and a value
// below it none.
func optional[N int | int64](v string) (N, error) {
	n, err := strconv.ParseInt(v, 10, 32)
	switch {
	case err != nil || n < 0:
		return 0, fmt.Errorf("%q is no whole number from 0", v)
	case n == 0:
		return -1, nil
	}
	return N(n), nil
}

func scanShare(v string) (float64, error) {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f > 0 && f <= 1) {
		return 0, fmt.Errorf("%q is no share of the messages; write a number above 0 and up to 1, such as 0.5", v)
	}
	return f, nil
}

// background reads a share: 80%, 0.8, or 0.
func background(v string) (float64, error) {
	number, percent := strings.CutSuffix(v, "%")
	f, err := strconv.ParseFloat(number, 64)
	if percent {
		f /= 100
	}
	if err != nil || !(f >= 0 && f <= 1) {
		return 0, fmt.Errorf("%q is no share of the trigger; write it as 80%% or 0.8, or 0 for never", v)
	}
	return f, nil
}

func modelName(v string) (string, error) {
	name := strings.TrimSpace(v)
	provider, id, ok := strings.Cut(name, "/")
	if name == "" || ok && (provider == "" || id == "") || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' }) {
		return "", fmt.Errorf("%q names no model; write it as provider/model, such as anthropic/claude-sonnet-4-5", v)
	}
	return name, nil
}

// duration reads a time such as 90s, or a number of units.
func duration(v string, unit time.Duration) (time.Duration, error) {
	if n, err := strconv.ParseFloat(v, 64); err == nil && n >= 0 && n < 1e6 {
		return time.Duration(n * float64(unit)), nil
	}
	return time.ParseDuration(v)
}

// maxIdle bounds what is meant for minutes.
const maxIdle = 30 * 24 * time.Hour

func minutes(v string) (time.Duration, error) {
	d, err := duration(v, time.Minute)
	switch {
	case err != nil, d < 0:
		return 0, fmt.Errorf("%q is no time; write minutes, such as 10, or 0 for never", v)
	case d > maxIdle:
		return 0, errors.New("it is more than 30 days; write 0 for never")
	}
	return d, nil
}

func timeout(v string) (time.Duration, error) {
	d, err := duration(v, time.Second)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf(`it must be a time above 0, such as "10s", and is %s`, v)
	}
	return d, nil
}

// price reads US dollars for a million tokens.
func price(v string) (float64, error) {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= 0 && f < 1e6) {
		return 0, fmt.Errorf("%q is no price; write US dollars for a million tokens", v)
	}
	return f, nil
}
