package settings

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

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

	set setter
}

func key(name, env, flag, unset, unit string, set setter, text string, other ...Other) Key {
	return Key{name, env, flag, unset, unit, text, other, set}
}

// setter reads a value into the settings.
type setter = func(s *Settings, v string) error

// into makes a setter of where the value goes and how it is read. Those below it are for what several keys have.
func into[T any](field func(*Settings) *T, read func(*T, string) error) setter {
	return func(s *Settings, v string) error { return read(field(s), v) }
}

func count(field func(*Settings) *int) setter             { return into(field, setCount) }
func amount(field func(*Settings) *compact.Amount) setter { return into(field, setAmount) }
func share(field func(*Settings) *compact.Amount) setter  { return into(field, setShare) }
func minutes(field func(*Settings) *time.Duration) setter { return into(field, setMinutes) }

func number(field func(*Settings) *int64, least int64) setter {
	return into(field, func(to *int64, v string) error { return setTokens(to, v, least) })
}

func words(field func(*Settings) *string) setter {
	return into(field, func(to *string, v string) error { *to = v; return nil })
}

func oneOf(field func(*Settings) *string, what string, names []string) setter {
	return into(field, func(to *string, v string) error { return setName(to, v, what, names) })
}

func truth(set func(s *Settings, on bool)) setter {
	return func(s *Settings, v string) error {
		on, err := parseBool(v)
		set(s, on)
		return err
	}
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
)

// Keys returns all there is to set, but for what only files can hold; see onlyInFiles.
func Keys() []Key { return append(sessionKeys(), agentKeys()...) }

// onlyInFiles are objects and lists, for which a variable is no place.
var onlyInFiles = []string{"models", "prices", "hooks", "providers", "permissions", "mcpServers", "trustProjectHooks"}

// sessionKeys are those about compaction.
func sessionKeys() []Key {
	return []Key{
		key("preset", "CLEW_PRESET", "preset", compact.PresetClew, "", setPreset,
			"the policy: "+strings.Join(compact.PresetNames(), ", ")),
		key("auto", "CLEW_AUTO", "", "true", "", truth(func(s *Settings, on bool) { s.Auto = on }),
			"compact automatically", also("compaction.enabled")),
		key("window", "CLEW_WINDOW", "window", "the model's, else 200000", unitTokens, number(func(s *Settings) *int64 { return &s.policy.Window }, compact.MinWindow),
			"the model's context window", synapse("SYNAPSE_MAX_CONTEXT_WINDOW"), turnsPreset("CONTEXT_WINDOW_TOKENS")),
		key("reserve", "CLEW_RESERVE", "reserve", "16384, at most 25%", unitAmount, amount(func(s *Settings) *compact.Amount { return &s.policy.Reserve }),
			"room for the answer", also("compaction.reserveTokens")),
		key("trigger", "CLEW_TRIGGER", "", "the window less the reserve", unitAmount, share(func(s *Settings) *compact.Amount { return &s.policy.Trigger }),
			"compact at this size", synapse("SYNAPSE_OFFLOAD_THRESHOLD"), turnsPreset("COMPACT_TRIGGER")),
		key("target", "CLEW_TARGET", "target", "50%, or what keep gives", unitAmount, share(func(s *Settings) *compact.Amount { return &s.policy.Target }),
			"size after a compaction", turnsPreset("COMPACT_TARGET")),
		key("keep", "CLEW_KEEP", "keep", "what the target leaves", unitAmount, amount(func(s *Settings) *compact.Amount { return &s.policy.Keep }),
			"the newest part, kept verbatim; at most half of the window", also("compaction.keepRecentTokens")),
		key("keepMessages", "CLEW_KEEP_MESSAGES", "", "the preset's", "messages", count(func(s *Settings) *int { return &s.policy.KeepMessages }),
			"the same in messages, for preset synapse", synapse("SYNAPSE_COMPACT_PRESERVE_COUNT")),
		key("keepTurns", "CLEW_KEEP_TURNS", "", "the preset's", "turns", count(func(s *Settings) *int { return &s.policy.KeepTurns }),
			"the same in turns, for preset turns", turnsPreset("KEEP_LAST_TURNS")),
		key("summary", "CLEW_SUMMARY", "", "6.25% of the window, at most 8192", unitAmount, amount(func(s *Settings) *compact.Amount { return &s.policy.Summary }),
			"the largest summary, without the quotes", synapse("SYNAPSE_COMPACT_TARGET_TOKENS")),
		key("maxBytes", "CLEW_MAX_BYTES", "max-bytes", "no limit", "bytes", number(func(s *Settings) *int64 { return &s.policy.MaxBytes }, compact.MinBytes),
			"the largest request"),
		key("cacheTTL", "CLEW_CACHE_TTL", "", "0", "minutes", minutes(func(s *Settings) *time.Duration { return &s.policy.CacheTTL }),
			"lifetime of the provider's cache; after a longer pause, when it is lost anyway, old content is shortened without a summary; 0: never"),
		key("maxPasses", "CLEW_MAX_PASSES", "", "no limit", "passes", count(func(s *Settings) *int { return &s.policy.MaxPasses }),
			"automatic compactions per user message while the context fits", turnsPreset("MAX_COMPACTION_ATTEMPTS")),
		key("template", "CLEW_TEMPLATE", "template", "the preset's, else briefing", "", setTemplate,
			"the form of a summary"),
		key("strategy", "CLEW_STRATEGY", "strategy", summary.AutoProfile, "", func(s *Settings, v string) (err error) { s.policy.Strategy, err = summary.FindProfile(v); return err },
			"what a summary keeps and shortens: "+strings.Join(summary.ProfileNames(), ", ")+
				"; auto guesses from the agent's work"),
		key("instructions", "CLEW_INSTRUCTIONS", "instructions", "none", "", words(func(s *Settings) *string { return &s.policy.Instructions }),
			"what a summary should focus on"),
		key("summarizer.model", "CLEW_SUMMARY_MODEL", "summarizer", "the chat's; with preset clew none", "provider/model", words(func(s *Settings) *string { return &s.SummaryModel }),
			"who writes summaries: a model; same: the conversation's; none: rules", synapse("SYNAPSE_COMPACT_MODEL")),
		key("summarizer.tries", "CLEW_SUMMARY_TRIES", "", "4", "calls", count(func(s *Settings) *int { return &s.policy.Tries }),
			"attempts, if calls fail for a passing reason", synapse("SYNAPSE_COMPACT_RETRY_COUNT")),
		key("offload.min", "CLEW_OFFLOAD_MIN", "", "400", unitTokens, number(func(s *Settings) *int64 { return &s.policy.Offload.Min }, 1),
			"smallest tool result whose middle may be removed"),
		key("offload.keep", "CLEW_OFFLOAD_KEEP", "", "1000", "bytes", count(func(s *Settings) *int { return &s.policy.Offload.Keep }),
			"how much of it stays"),
		key("database", "CLEW_DB", "", "none", "connection string or URL", words(func(s *Settings) *string { return &s.DB }),
			"PostgreSQL for `clew db` and `clew gateway`; keep passwords in PGPASSFILE"),
		key("offload.dir", "CLEW_OFFLOAD_DIR", "offload-dir", "none", "folder", words(func(s *Settings) *string { return &s.OffloadDir }),
			"for removed content, in files that notes in the context name"),
		key("blobs", "CLEW_BLOBS", "", "a folder of this machine", "folder or s3://BUCKET/PREFIX?endpoint=URL", words(func(s *Settings) *string { return &s.Blobs }),
			"large output of sessions in a database"),
		key("synapse.scanRatio", "CLEW_SYNAPSE_SCAN_RATIO", "", "0.5", "share of messages", setScanShare,
			"the oldest messages, whose results are offloaded", synapse("SYNAPSE_OFFLOAD_SCAN_RATIO")),
		key("synapse.minChars", "CLEW_SYNAPSE_MIN_CHARS", "", "50", "characters", func(s *Settings, v string) error { return setOptional(&s.policy.Synapse.MinChars, v) },
			"only longer results", synapse("SYNAPSE_OFFLOAD_MIN_CHARS")),
		key("synapse.minFreed", "CLEW_SYNAPSE_MIN_FREED", "", "15000", unitTokens, func(s *Settings, v string) error { return setOptional(&s.policy.Synapse.MinFreed, v) },
			"summarize if offloading frees less", synapse("SYNAPSE_COMPACT_TRIGGER_THRESHOLD")),
		key("synapse.cooldown", "CLEW_SYNAPSE_COOLDOWN", "", "5", "answers", func(s *Settings, v string) error { return setOptional(&s.policy.Synapse.Cooldown, v) },
			"minimum between two summaries", synapse("SYNAPSE_COMPACT_COOLDOWN_STEPS")),
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
