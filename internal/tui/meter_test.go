package tui

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/tui/widget"
)

func meterCases() []struct {
	name string
	m    agent.State
} {
	usual := agent.State{
		Model: "anthropic/claude-sonnet-4-5", Name: "fix the parser", Known: true, Tokens: 92_310, Measured: true, Window: 200_000,
		Threshold: 168_000, Totals: agent.Totals{ModelTotals: agent.ModelTotals{Requests: 3, Cost: 1.24}}, CacheHit: 0.93,
	}
	with := func(change func(*agent.State)) agent.State {
		m := usual
		change(&m)
		return m
	}
	return []struct {
		name string
		m    agent.State
	}{
		{"nothing known", agent.State{}},
		{"measured", usual},
		{"estimated", with(func(m *agent.State) { m.Measured = false })},
		{"unknown window", with(func(m *agent.State) { m.Window = 0 })},
		{"unknown tokens", with(func(m *agent.State) { m.Tokens = 0 })},
		{"nearly nothing", with(func(m *agent.State) { m.Tokens = 7 })},
		{"nearly full", with(func(m *agent.State) { m.Tokens = 199_999 })},
		{"full", with(func(m *agent.State) { m.Tokens = 200_000 })},
		{"just over", with(func(m *agent.State) { m.Tokens = 200_001 })},
		{"far over", with(func(m *agent.State) { m.Tokens, m.Measured = 1_049_000, false })},
		{"absurdly over", with(func(m *agent.State) { m.Tokens, m.Window = math.MaxInt64, 1 })},
		{"busy", with(func(m *agent.State) { m.Doing, m.Mode, m.Queue = agent.DoingCompaction, "plan", 3 })},
		{"breaker open", with(func(m *agent.State) {
			m.Breaker = "3 passes have failed: the model answered 529\noverloaded"
		})},
		{"everything", with(func(m *agent.State) {
			m.Doing, m.Mode, m.Queue = "thinking", "plan", 12
			m.Breaker = "the summary was larger than what it replaces"
		})},
		{"hostile", agent.State{
			Model: "\x1b]0;x\amodel\x1b[2J", Known: true, Name: "名前\n二行目\u202e", Tokens: -5, Window: -1, Threshold: -9, Queue: -3,
		}},
		{"cheap", with(func(m *agent.State) { m.Totals.Cost, m.CacheHit = 0.0004, 0 })},
	}
}

// TestD85Meter, also pi's 71 and 74: the states that the meter lied about elsewhere.
func TestD85MeterPi71Pi74(t *testing.T) {
	var b strings.Builder
	for _, width := range []int{80, 200} {
		for _, c := range meterCases() {
			fmt.Fprintf(&b, "# %s, %d columns\n%s\n", c.name, width, meterLine(plainTheme(), &c.m, width))
		}
	}
	compareGolden(t, "meter", b.String())
}

func plainTheme() *widget.Theme { return widget.NewTheme(widget.ModeNone, false) }

func TestMeterNarrow(t *testing.T) {
	cases := meterCases()
	everything := cases[13].m
	for _, c := range []struct {
		width int
		want  string
	}{
		{120, "! compaction off: the summary was larger than what it replaces · thinking · 92.3k of 200k (46%), compacts at 168k"},
		{80, "! compaction off · thinking · [plan] · 92.3k of 200k (46%), compacts at 168k"},
		{60, "! compaction off · 92.3k of 200k (46%), compacts at 168k"},
		{59, "! compaction off · thinking · [plan] · 92.3k of 200k (46%)"},
		{40, "! compaction off · 92.3k of 200k (46%)"},
		{24, "! compaction off"},
		{10, "! compact…"},
		{2, "!…"},
		{0, ""},
	} {
		if got := meterLine(plainTheme(), &everything, c.width); got != c.want {
			t.Errorf("%d columns: %q, want %q", c.width, got, c.want)
		}
	}
}

// TestMeterNeverLies: whatever is given, no line is too wide, and the share is 0 %
// only for nothing and 100 % only for just full.
func TestMeterNeverLies(t *testing.T) {
	for _, c := range meterCases() {
		for width := range 120 {
			for _, theme := range []*widget.Theme{plainTheme(), widget.NewTheme(widget.ModeDark, true)} {
				if line := meterLine(theme, &c.m, width); widget.Width(line) > width {
					t.Fatalf("%s: %d columns in %d: %q", c.name, widget.Width(line), width, line)
				}
			}
		}
	}
	r := rand.New(rand.NewPCG(5, 7))
	n := 20_000
	if testing.Short() {
		n = 2_000
	}
	for range n {
		tokens, window := 1+r.Int64N(3_000), 1+r.Int64N(1_000)
		line := meterLine(plainTheme(), &agent.State{Known: true, Tokens: tokens, Window: window, Measured: r.IntN(2) == 0}, 200)
		if zero := strings.Contains(line, "(0%)"); zero != (tokens == 0) {
			t.Fatalf("%d of %d: %s", tokens, window, line)
		}
		if full := strings.Contains(line, "(100%)"); full != (tokens == window) {
			t.Fatalf("%d of %d: %s", tokens, window, line)
		}
		if strings.Contains(line, "%") != (window > 0) {
			t.Fatalf("%d of %d: %s", tokens, window, line)
		}
	}
	if got := meterLine(plainTheme(), &agent.State{Known: true, Tokens: 5, Window: 10}, 14); got != "~5 of 10 (50%)" {
		t.Errorf("an estimate without its mark: %q", got)
	}
}
