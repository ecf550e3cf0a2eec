package widget

import (
	"math"
	"strings"
	"testing"
)

func meterCases() []struct {
	name string
	m    Meter
} {
	usual := Meter{
		Model: "anthropic/claude-sonnet-4-5", Session: "fix the parser", Tokens: 92_310, Measured: true, Window: 200_000,
		Threshold: 168_000, Cost: "$1.24", Cache: "93%",
	}
	with := func(change func(*Meter)) Meter {
		m := usual
		change(&m)
		return m
	}
	return []struct {
		name string
		m    Meter
	}{
		{"nothing known", Meter{}},
		{"measured", usual},
		{"estimated", with(func(m *Meter) { m.Measured = false })},
		{"unknown window", with(func(m *Meter) { m.Window = 0 })},
		{"unknown tokens", with(func(m *Meter) { m.Tokens = 0 })},
		{"nearly nothing", with(func(m *Meter) { m.Tokens = 7 })},
		{"nearly full", with(func(m *Meter) { m.Tokens = 199_999 })},
		{"full", with(func(m *Meter) { m.Tokens = 200_000 })},
		{"just over", with(func(m *Meter) { m.Tokens = 200_001 })},
		{"far over", with(func(m *Meter) { m.Tokens, m.Measured = 1_049_000, false })},
		{"absurdly over", with(func(m *Meter) { m.Tokens, m.Window = math.MaxInt64, 1 })},
		{"busy", with(func(m *Meter) { m.State, m.Mode, m.Queue = "compacting, 12s (Esc cancels)", "plan", 3 })},
		{"breaker open", with(func(m *Meter) {
			m.BreakerOpen, m.BreakerWhy = true, "3 passes have failed: the model answered 529\noverloaded"
		})},
		{"breaker open without a reason", with(func(m *Meter) { m.BreakerOpen = true })},
		{"everything", with(func(m *Meter) {
			m.State, m.Mode, m.Queue = "thinking", "plan", 12
			m.BreakerOpen, m.BreakerWhy = true, "the summary was larger than what it replaces"
		})},
		{"hostile", Meter{
			Model: "\x1b]0;x\amodel\x1b[2J", Session: "名前\n二行目\u202e", Tokens: -5, Window: -1, Threshold: -9, Queue: -3,
		}},
		{"cheap", with(func(m *Meter) { m.Cost, m.Cache = Dollars(0.0004), "0%" })},
	}
}

// TestD85Meter, also pi's 71 and 74: the states that the meter lied about elsewhere.
func TestD85MeterPi71Pi74(t *testing.T) {
	golden(t, "meter", func(theme *Theme, width, _ int) (out []string) {
		for _, c := range meterCases() {
			out = append(out, "# "+c.name, c.m.Line(theme, width))
		}
		return out
	})
}

func TestMeterNarrow(t *testing.T) {
	cases := meterCases()
	everything := cases[14].m
	for _, c := range []struct {
		width int
		want  string
	}{
		{60, "! compaction off · thinking · [plan] · 92.3k/200k 46% · 12q"},
		{40, "! compaction off · thinking · 46% · 12q"},
		{24, "! compaction off · 46%"},
		{10, "!off · 46%"},
		{4, "!off"},
		{2, "!…"},
		{0, ""},
	} {
		if got := everything.Line(none(), c.width); got != c.want {
			t.Errorf("%d columns: %q, want %q", c.width, got, c.want)
		}
	}
}

// TestMeterNeverLies: whatever is given, no line is too wide, and the share is 0 %
// only for nothing and 100 % only for just full.
func TestMeterNeverLies(t *testing.T) {
	for _, c := range meterCases() {
		for width := range 120 {
			checkWidth(t, c.name, []string{c.m.Line(none(), width), c.m.Line(NewTheme(ModeDark, true), width)}, width)
		}
	}
	r := newRand(t, 5)
	for range rounds(20_000) {
		tokens, window := 1+r.Int64N(3_000), 1+r.Int64N(1_000)
		line := Meter{Tokens: tokens, Window: window, Measured: r.IntN(2) == 0}.Line(none(), 200)
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
	if m := (Meter{Tokens: 5, Window: 10}); !strings.HasPrefix(m.Line(none(), 4), "~50%") {
		t.Errorf("an estimate without its mark: %q", m.Line(none(), 4))
	}
}

func TestTokenCount(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1k", 9_540: "9.5k", 99_949: "99.9k", 99_950: "100k", 168_000: "168k", 999_499: "999k", 999_500: "1M", 1_048_576: "1.05M", 2_000_000: "2M", 12_340_000: "12.34M",
	} {
		if got := Tokens(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
