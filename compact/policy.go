package compact

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/wire"
)

// Policy says when to compact and how far. The zero value of a field means its default; Resolve fills them in.
type Policy struct {
	Name   string // the preset's; see Preset. Default: "clew".
	Window int64  // the model's context window in tokens. Default: MaxWindow, else 200,000.
	// MaxWindow is how much of a model's window a preset uses where Window is not given. Default: all of it.
	MaxWindow int64
	Reserve   Amount // what stays free for the answer. Default: 16,384 tokens; at most a quarter of the window.
	// Trigger is the size at which a context is compacted, at most Window less Reserve, which is the default.
	Trigger Amount
	// KeepMessages and KeepTurns are the tail of presets that count those.
	KeepMessages, KeepTurns int
	Keep                    Amount // the tail that stays, at most half the window. Default: what Target leaves.
	// FirstKept is the entry that the kept part begins with, for one pass. The cut is moved to where it parts no call
	// from its result; where what is kept would not fit, the ladder cuts. Default: the cut is looked for.
	FirstKept string
	Target    Amount // the size after a pass. Default: half of the window; when Keep is set, what Keep asks for.
	// Summary is the most a summary may take, the user's quoted words included. Default: a sixteenth of the window,
	// at most 8,192 tokens, for the facts, and a tenth of the window, at most 20,000 tokens, for the words.
	Summary Amount
	// SummaryGoal takes a longer summary that fits and is smaller than what it replaces. Default: Summary is the most.
	SummaryGoal bool
	Synapse     SynapsePolicy // settings of that preset
	// MaxPasses is the most passes that are made by themselves between two messages of the user, as long as the context
	// fits. Default: no limit.
	MaxPasses int
	// Tries is how often a model is called for one summary when calls fail for a passing reason. Default: as often as
	// its transport does.
	Tries int
	// MaxBytes is the most that a request may take, in bytes of its JSON: images reach
	// such a limit before the window. Default: 0, no limit.
	MaxBytes int64
	// CacheTTL is after how long without a request a provider has forgotten what it cached: then what needs no summary
	// is shortened, for it costs nothing. The agent keeps the time. Default: 0, never.
	CacheTTL     time.Duration
	Offload      OffloadPolicy      // says which tool results the first stage takes
	Summarizer   summary.Summarizer // makes the summary. Default: summary.Deterministic.
	Template     *summary.Template  // gives the summary its form. Default: summary.Briefing.
	Form         *wire.Form         // how the summary stands in the context: role and wrapper. Default: wire's.
	Strategy     *summary.Profile   // what a summary keeps and what it shortens. Default: guessed from what the agent did.
	Instructions string             // what the user asked the summary to pay attention to
}

// The defaults and limits of a Policy.
const (
	DefaultWindow  = 200_000
	DefaultReserve = 16_384

	MinWindow     = 1_000  // below it no prompt and answer fit
	MinBytes      = 10_000 // the same for Policy.MaxBytes
	maxReservePct = 25
	maxKeepPct    = 50
	targetPct     = 50
	factsPct      = 6.25
	maxFacts      = 8_192
	quotesPct     = 10
	maxQuotes     = 20_000
)

// Budget is a Policy in numbers for one window, in tokens.
type Budget struct {
	Window  int64 `json:"window"`
	Reserve int64 `json:"reserve"`
	Limit   int64 `json:"limit"` // Window less Reserve: what a context may take
	Target  int64 `json:"target"`
	Keep    int64 `json:"keep"` // 0: what Target leaves
	Summary int64 `json:"summary"`
	Quotes  int64 `json:"quotes"`          // part of Summary that the user's words may take
	Bytes   int64 `json:"bytes,omitempty"` // the most that a request may take, 0 for no limit
}

// Clamp says that a setting was not taken as it was given.
type Clamp struct {
	Setting string `json:"setting"`
	Asked   int64  `json:"asked"`
	Got     int64  `json:"got"`
	Why     string `json:"why"`
}

// Resolve turns a policy into numbers and says which settings it had to change.
func (p Policy) Resolve() (Budget, []Clamp, error) {
	var clamps []Clamp
	b := Budget{Window: cmp.Or(p.Window, p.MaxWindow, DefaultWindow), Bytes: p.MaxBytes}
	for _, a := range []struct {
		name   string
		amount Amount
		then   string
	}{
		{"reserve", p.Reserve, "requests would be larger than the window"},
		{"trigger", p.Trigger, "every request would be compacted"},
		{"target", p.Target, "no pass could reach it"},
		{"keep", p.Keep, "nothing is shorter than no tail"},
		{"summary", p.Summary, "no summary is that short"},
	} {
		if a.amount.Of(DefaultWindow) < 0 {
			return b, nil, fmt.Errorf("the %s is %s: %s; give tokens, or a share of the window, of at least 0", a.name, a.amount, a.then)
		}
	}
	if b.Bytes != 0 && b.Bytes < MinBytes {
		return b, nil, fmt.Errorf("requests of at most %d bytes can't hold a prompt and an answer; it must be at least %d, or 0 for no limit", p.MaxBytes, MinBytes)
	}
	if b.Window < MinWindow {
		return b, nil, fmt.Errorf("a window of %d tokens can't hold a prompt and an answer; it must be at least %d", b.Window, MinWindow)
	}
	if p.MaxPasses < 0 || p.Tries < 0 {
		return b, nil, fmt.Errorf("at most %d passes and %d calls for a summary make no sense; "+
			"use 0 for no limit of passes, and for as many calls as usual", p.MaxPasses, p.Tries)
	}
	limit := func(setting string, asked, most int64, why string) int64 {
		if asked <= most {
			return asked
		}
		clamps = append(clamps, Clamp{setting, asked, most, why})
		return most
	}
	b.Reserve = cmp.Or(p.Reserve, Tokens(DefaultReserve)).Of(b.Window)
	b.Reserve = limit("reserve", b.Reserve, Percent(maxReservePct).Of(b.Window), "the reserve may take a quarter of the window at most")
	b.Limit = b.Window - b.Reserve

	facts := min(Percent(factsPct).Of(b.Window), maxFacts)
	b.Quotes = min(Percent(quotesPct).Of(b.Window), maxQuotes)
	b.Summary = facts + b.Quotes
	if p.Summary.IsSet() {
		b.Summary = limit("summary", p.Summary.Of(b.Window), b.Limit/2, "the summary may take half of the budget at most")
		b.Quotes = min(b.Quotes, b.Summary/2)
	}
	if p.KeepMessages < 0 || p.KeepTurns < 0 {
		return b, nil, fmt.Errorf("a tail of %d messages or %d turns makes no sense; it must not be negative", p.KeepMessages, p.KeepTurns)
	}
	if p.Keep.IsSet() {
		b.Keep = limit("keep", p.Keep.Of(b.Window), Percent(maxKeepPct).Of(b.Window), "the tail may take half of the window at most")
	}
	switch {
	case p.Target.IsSet():
		b.Target = limit("target", p.Target.Of(b.Window), b.Limit, "the target must leave the reserve free")
	case p.Keep.IsSet() || p.KeepMessages > 0:
		b.Target = b.Limit // the tail decides
	default:
		b.Target = min(Percent(targetPct).Of(b.Window), b.Limit)
	}
	return b, clamps, nil
}

// Amount is a number of tokens or a share of the window. The zero value is unset, other than Tokens(0).
type Amount struct {
	n              float64
	isSet, percent bool
}

// Tokens is an amount in tokens.
func Tokens(n int64) Amount { return Amount{float64(n), true, false} }

// Percent is an amount as a share of the window: Percent(25) is a quarter.
func Percent(p float64) Amount { return Amount{p, true, true} }

// IsSet reports whether the amount was supplied.
func (a Amount) IsSet() bool { return a.isSet }

// Of returns the amount in tokens for a window, or 0 when it is unset.
func (a Amount) Of(window int64) int64 {
	if a.percent {
		return int64(a.n / 100 * float64(window))
	}
	return int64(a.n)
}

// String writes the amount as ParseAmount reads it.
func (a Amount) String() string {
	switch {
	case a.percent:
		return strconv.FormatFloat(a.n, 'f', -1, 64) + "%"
	case a.isSet:
		return strconv.FormatInt(int64(a.n), 10)
	}
	return ""
}

// ParseAmount reads an amount: 20000, 20k, 1.5M, 25%.
func ParseAmount(s string) (Amount, error) {
	t := strings.TrimSpace(strings.ReplaceAll(s, "_", ""))
	bad := fmt.Errorf("%q is no amount: write tokens as 20000 or 20k, a share of the window as 25%%", s)
	if p, ok := strings.CutSuffix(t, "%"); ok {
		f, err := strconv.ParseFloat(p, 64)
		if err != nil || !(f >= 0 && f <= 100) {
			return Amount{}, bad
		}
		return Percent(f), nil
	}
	unit := 1.0
	if k := len(t) - 1; k >= 0 && strings.Contains("kKmM", t[k:]) {
		unit = map[string]float64{"k": 1e3, "m": 1e6}[strings.ToLower(t[k:])]
		t = t[:k]
	}
	f, err := strconv.ParseFloat(t, 64)
	if err != nil || !(f >= 0 && f*unit <= 1e12) {
		return Amount{}, bad
	}
	return Tokens(int64(f * unit)), nil
}
