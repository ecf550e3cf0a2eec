package settings

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/compact"
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

	set func(*Settings, string) error
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
	unitAmount = "tokens, or % of the window"
	unitTokens = "tokens"
)

// Keys returns all there is to set, but for what only files can hold; see onlyInFiles.
func Keys() []Key { return append(sessionKeys(), agentKeys()...) }

// onlyInFiles are objects and lists, for which a variable is no place.
var onlyInFiles = []string{"models", "prices", "hooks", "providers", "permissions", "mcpServers", "trustProjectHooks"}

// sessionKeys are those about compaction.
func sessionKeys() []Key {
	return []Key{
		{
			Name: "preset", Env: "CLEW_PRESET", Flag: "preset", Default: compact.PresetClew, Unit: "name",
			Text: "the policy: " + strings.Join(compact.PresetNames(), ", "), set: setPreset,
		},
		{
			Name: "auto", Env: "CLEW_AUTO", Default: "true", Unit: "true or false",
			Text:  "whether a session is compacted by itself; by hand it always can be",
			Other: []Other{also("compaction.enabled")},
			set:   func(s *Settings, v string) (err error) { s.Auto, err = parseBool(v); return err },
		},
		{
			Name: "window", Env: "CLEW_WINDOW", Flag: "window", Default: "that of the model, else 200000", Unit: unitTokens,
			Text:  "the model's context window",
			Other: []Other{synapse("SYNAPSE_MAX_CONTEXT_WINDOW"), turnsPreset("CONTEXT_WINDOW_TOKENS")},
			set:   func(s *Settings, v string) error { return setTokens(&s.policy.Window, v, compact.MinWindow) },
		},
		{
			Name: "reserve", Env: "CLEW_RESERVE", Flag: "reserve", Default: "16384, at most 25%", Unit: unitAmount,
			Text:  "what stays free for the answer",
			Other: []Other{also("compaction.reserveTokens")},
			set:   func(s *Settings, v string) error { return setAmount(&s.policy.Reserve, v) },
		},
		{
			Name: "trigger", Env: "CLEW_TRIGGER", Default: "the window less the reserve", Unit: unitAmount,
			Text:  "the size at which a session is compacted",
			Other: []Other{synapse("SYNAPSE_OFFLOAD_THRESHOLD"), turnsPreset("COMPACT_TRIGGER")},
			set:   func(s *Settings, v string) error { return setShare(&s.policy.Trigger, v) },
		},
		{
			Name: "target", Env: "CLEW_TARGET", Flag: "target", Default: "50%, or what keep gives", Unit: unitAmount,
			Text:  "the size afterwards",
			Other: []Other{turnsPreset("COMPACT_TARGET")},
			set:   func(s *Settings, v string) error { return setShare(&s.policy.Target, v) },
		},
		{
			Name: "keep", Env: "CLEW_KEEP", Flag: "keep", Default: "what the target leaves", Unit: unitAmount,
			Text:  "the newest part, which stays as it is; at most half of the window",
			Other: []Other{also("compaction.keepRecentTokens")},
			set:   func(s *Settings, v string) error { return setAmount(&s.policy.Keep, v) },
		},
		{
			Name: "keepMessages", Env: "CLEW_KEEP_MESSAGES", Default: "the preset's", Unit: "messages",
			Text:  "the same, counted in messages: preset synapse",
			Other: []Other{synapse("SYNAPSE_COMPACT_PRESERVE_COUNT")},
			set:   func(s *Settings, v string) error { return setCount(&s.policy.KeepMessages, v) },
		},
		{
			Name: "keepTurns", Env: "CLEW_KEEP_TURNS", Default: "the preset's", Unit: "turns",
			Text:  "the same, counted in turns: preset turns",
			Other: []Other{turnsPreset("KEEP_LAST_TURNS")},
			set:   func(s *Settings, v string) error { return setCount(&s.policy.KeepTurns, v) },
		},
		{
			Name: "summary", Env: "CLEW_SUMMARY", Default: "by the window", Unit: unitAmount,
			Text:  "the most that a summary may take",
			Other: []Other{synapse("SYNAPSE_COMPACT_TARGET_TOKENS")},
			set:   func(s *Settings, v string) error { return setAmount(&s.policy.Summary, v) },
		},
		{
			Name: "maxBytes", Env: "CLEW_MAX_BYTES", Flag: "max-bytes", Default: "no limit", Unit: "bytes",
			Text: "the most that a request may take",
			set:  func(s *Settings, v string) error { return setTokens(&s.policy.MaxBytes, v, compact.MinBytes) },
		},
		{
			Name: "cacheTTL", Env: "CLEW_CACHE_TTL", Default: "0", Unit: "minutes",
			Text: "how long the provider keeps what it has cached: after so long without a request, what needs no summary is shortened, for it costs nothing then; 0: it is not",
			set:  func(s *Settings, v string) error { return setMinutes(&s.policy.CacheTTL, v) },
		},
		{
			Name: "maxPasses", Env: "CLEW_MAX_PASSES", Default: "no limit", Unit: "passes",
			Text:  "the most passes that are made by themselves for one message of the user, as long as the context fits",
			Other: []Other{turnsPreset("MAX_COMPACTION_ATTEMPTS")},
			set:   func(s *Settings, v string) error { return setCount(&s.policy.MaxPasses, v) },
		},
		{
			Name: "template", Env: "CLEW_TEMPLATE", Flag: "template", Default: "the preset's, else briefing", Unit: "name",
			Text: "the form of a summary", set: setTemplate,
		},
		{
			Name: "strategy", Env: "CLEW_STRATEGY", Flag: "strategy", Default: summary.AutoProfile, Unit: "name",
			Text: "what a summary keeps and what it shortens: " + strings.Join(summary.ProfileNames(), ", ") +
				"; auto guesses from what the agent did",
			set: func(s *Settings, v string) (err error) { s.policy.Strategy, err = summary.FindProfile(v); return err },
		},
		{
			Name: "instructions", Env: "CLEW_INSTRUCTIONS", Flag: "instructions", Default: "none", Unit: "text",
			Text: "what a summary is to pay attention to",
			set:  func(s *Settings, v string) error { s.policy.Instructions = v; return nil },
		},
		{
			Name: "summarizer.model", Env: "CLEW_SUMMARY_MODEL", Flag: "summarizer", Default: "that of the chat, with preset clew none: by rules", Unit: "provider/model",
			Text:  "the model that writes summaries; same: the model of the conversation; none: rules",
			Other: []Other{synapse("SYNAPSE_COMPACT_MODEL")},
			set:   func(s *Settings, v string) error { s.SummaryModel = v; return nil },
		},
		{
			Name: "summarizer.tries", Env: "CLEW_SUMMARY_TRIES", Default: "4", Unit: "calls",
			Text:  "how often it is called when a call fails for a passing reason",
			Other: []Other{synapse("SYNAPSE_COMPACT_RETRY_COUNT")},
			set:   func(s *Settings, v string) error { return setCount(&s.policy.Tries, v) },
		},
		{
			Name: "offload.min", Env: "CLEW_OFFLOAD_MIN", Default: "400", Unit: unitTokens,
			Text: "the least that a tool result takes for its middle to leave the context",
			set:  func(s *Settings, v string) error { return setTokens(&s.policy.Offload.Min, v, 1) },
		},
		{
			Name: "offload.keep", Env: "CLEW_OFFLOAD_KEEP", Default: "1000", Unit: "bytes",
			Text: "what stays of it",
			set:  func(s *Settings, v string) error { return setCount(&s.policy.Offload.Keep, v) },
		},
		{
			Name: "offload.dir", Env: "CLEW_OFFLOAD_DIR", Flag: "offload-dir", Default: "none", Unit: "folder",
			Text: "where what leaves the context is also kept as files, which the notes in its place name",
			set:  func(s *Settings, v string) error { s.OffloadDir = v; return nil },
		},
		{
			Name: "synapse.scanRatio", Env: "CLEW_SYNAPSE_SCAN_RATIO", Default: "0.5", Unit: "share of the messages",
			Text:  "preset synapse: the oldest messages, whose tool results are offloaded",
			Other: []Other{synapse("SYNAPSE_OFFLOAD_SCAN_RATIO")}, set: setScanShare,
		},
		{
			Name: "synapse.minChars", Env: "CLEW_SYNAPSE_MIN_CHARS", Default: "50", Unit: "characters",
			Text:  "preset synapse: only results that are longer",
			Other: []Other{synapse("SYNAPSE_OFFLOAD_MIN_CHARS")},
			set:   func(s *Settings, v string) error { return setOptional(&s.policy.Synapse.MinChars, v) },
		},
		{
			Name: "synapse.minFreed", Env: "CLEW_SYNAPSE_MIN_FREED", Default: "15000", Unit: unitTokens,
			Text:  "preset synapse: offloading that frees less is followed by a summary",
			Other: []Other{synapse("SYNAPSE_COMPACT_TRIGGER_THRESHOLD")},
			set:   func(s *Settings, v string) error { return setOptional(&s.policy.Synapse.MinFreed, v) },
		},
		{
			Name: "synapse.cooldown", Env: "CLEW_SYNAPSE_COOLDOWN", Default: "5", Unit: "answers",
			Text:  "preset synapse: the least between two summaries",
			Other: []Other{synapse("SYNAPSE_COMPACT_COOLDOWN_STEPS")},
			set:   func(s *Settings, v string) error { return setOptional(&s.policy.Synapse.Cooldown, v) },
		},
	}
}

func setPreset(s *Settings, v string) error {
	_, err := compact.Preset(v)
	s.Preset = v
	return err
}

func setTemplate(s *Settings, v string) (err error) {
	s.policy.Template, err = summary.FindTemplate(v)
	return err
}

func setAmount(to *compact.Amount, v string) (err error) {
	*to, err = compact.ParseAmount(v)
	return err
}

// setShare is setAmount, but numbers up to 1 are shares of the window: 0.75.
func setShare(to *compact.Amount, v string) error {
	if f, err := strconv.ParseFloat(v, 64); err == nil && f > 0 && f <= 1 && strings.ContainsAny(v, ".1") {
		*to = compact.Percent(f * 100)
		return nil
	}
	return setAmount(to, v)
}

// setTokens reads an amount that is no share, of at least least.
func setTokens(to *int64, v string, least int64) error {
	a, err := compact.ParseAmount(v)
	if err != nil || strings.Contains(v, "%") {
		return fmt.Errorf("%q is no number; write it as 20000 or 20k", v)
	}
	if *to = a.Of(0); *to < least {
		return fmt.Errorf("it is %d, and must be at least %d", *to, least)
	}
	return nil
}

// setCount reads a whole number from 1.
func setCount(to *int, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil {
		return fmt.Errorf("%q is no whole number", v)
	}
	if *to = n; n < 1 {
		return fmt.Errorf("it is %d, and must be at least 1", n)
	}
	return nil
}

// setOptional reads a number that may be 0, for fields in which 0 means unset and a
// value below it none.
func setOptional[N int | int64](to *N, v string) error {
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is no whole number from 0", v)
	}
	if *to = N(n); n == 0 {
		*to = -1
	}
	return nil
}

func setScanShare(s *Settings, v string) error {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f > 0 && f <= 1) {
		return fmt.Errorf("%q is no share of the messages; write a number above 0 and up to 1, such as 0.5", v)
	}
	s.policy.Synapse.Scan = f
	return nil
}

func parseBool(v string) (bool, error) {
	switch strings.ToLower(v) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return false, errors.New("write true or false")
}
