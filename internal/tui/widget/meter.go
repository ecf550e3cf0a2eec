package widget

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/clew-dev/clew/internal/text"
)

// A Meter is what the footer says. Its zero value says that nothing is known.
type Meter struct {
	State   string // what goes on, such as "compacting"; "" when idle
	Mode    string // such as "plan"; "" for the usual one
	Model   string
	Session string // its name
	Queue   int    // messages that wait

	Tokens    Count // of the context
	Measured  bool  // Tokens is what the provider counted, not an estimate
	Window    Count // of the model
	Threshold Count // from where on a pass is due

	Cost     Amount // of the session in US dollars
	CacheHit Amount // share of the last request's input that came from the cache, 0 to 1

	BreakerOpen bool   // passes have failed so often that they are not tried
	BreakerWhy  string // the last failure
}

// A Count is a number of tokens that may be unknown, as the zero value is.
type Count struct {
	N     int64
	Known bool
}

// Known returns the count n; a negative one is unknown.
func Known(n int64) Count { return Count{N: n, Known: n >= 0} }

// An Amount is a number that may be unknown, as the zero value is.
type Amount struct {
	X     float64
	Known bool
}

// KnownAmount returns the amount x; what is negative or no number is unknown.
func KnownAmount(x float64) Amount {
	return Amount{X: x, Known: x >= 0 && !math.IsInf(x, 0)}
}

func (c Count) valid() bool  { return c.Known && c.N >= 0 }
func (a Amount) valid() bool { return a.Known && a.X >= 0 && !math.IsInf(a.X, 0) }

// A segment is a part of the footer, with ever shorter ways to say it.
type segment struct {
	style lipgloss.Style
	ways  []way
	at    int // the way it is said; len(ways): not at all
}

// A way to say something, and how much it is worth more than the next one.
type way struct {
	text  string
	worth int
}

const meterGap = " · "

// Line draws the meter in one line of at most width columns. What finds no room
// is shortened and left out, what is worth the least first. The last to go is that the
// breaker is open, then how full the window is.
func (m Meter) Line(t *Theme, width int) string {
	segs := m.segments(t)
	for lineWidth(segs) > width {
		said, least := 0, -1
		for i, s := range segs {
			if s.at == len(s.ways) {
				continue
			}
			said++
			if least < 0 || s.ways[s.at].worth < segs[least].ways[segs[least].at].worth {
				least = i
			}
		}
		if s := segs[least]; said == 1 && s.at == len(s.ways)-1 {
			break // it is cut
		}
		segs[least].at++
	}
	// The last step may have made room for an earlier one.
	for again := true; again; {
		again = false
		best := -1
		for i, s := range segs {
			if s.at == 0 || best >= 0 && s.ways[s.at-1].worth <= segs[best].ways[segs[best].at-1].worth {
				continue
			}
			segs[i].at--
			if lineWidth(segs) <= width {
				best = i
			}
			segs[i].at++
		}
		if best >= 0 {
			segs[best].at--
			again = true
		}
	}
	var parts []string
	for _, s := range segs {
		if s.at < len(s.ways) {
			parts = append(parts, t.Paint(s.style, s.ways[s.at].text))
		}
	}
	return Cut(strings.Join(parts, t.Paint(t.Dim, meterGap)), width)
}

func lineWidth(segs []segment) int {
	w, said := 0, 0
	for _, s := range segs {
		if s.at < len(s.ways) {
			w += Width(s.ways[s.at].text)
			said++
		}
	}
	return w + max(said-1, 0)*Width(meterGap)
}

func (m Meter) segments(t *Theme) []segment {
	var segs []segment
	add := func(style lipgloss.Style, ways ...way) {
		s := segment{style: style}
		for _, w := range ways {
			if w.text != "" && (len(s.ways) == 0 || s.ways[len(s.ways)-1].text != w.text) {
				s.ways = append(s.ways, w)
			} else if n := len(s.ways); n > 0 {
				s.ways[n-1].worth = max(s.ways[n-1].worth, w.worth)
			}
		}
		if len(s.ways) > 0 {
			segs = append(segs, s)
		}
	}
	if m.BreakerOpen {
		off, why := "! compaction off", OneLine(m.BreakerWhy)
		if why != "" {
			why = ": " + why
		}
		add(t.Error, way{off + Cut(why, 60), 35}, way{off + Cut(why, 26), 65}, way{off, 85}, way{"!off", 100})
	}
	state := OneLine(m.State)
	add(t.Accent, way{Cut(state, 40), 42}, way{Cut(state, 24), 58}, way{Cut(state, 12), 80})
	if mode := OneLine(m.Mode); mode != "" {
		add(t.Warning, way{"[" + Cut(mode, 12) + "]", 75})
	}
	full, short, least := m.fill()
	add(m.fillStyle(t), way{full, 44}, way{short, 62}, way{least, 90})
	if m.Queue > 0 {
		add(t.Accent, way{strconv.Itoa(m.Queue) + " queued", 55}, way{strconv.Itoa(m.Queue) + "q", 60})
	}
	model := OneLine(m.Model)
	add(t.Text, way{model, 32}, way{Cut(afterSlash(model), 24), 46}, way{Cut(afterSlash(model), 14), 50})
	if m.Cost.valid() {
		add(t.Dim, way{Dollars(m.Cost.X), 40})
	}
	session := OneLine(m.Session)
	add(t.Dim, way{Cut(session, 40), 25}, way{Cut(session, 16), 30})
	if m.CacheHit.valid() && m.CacheHit.X <= 1 {
		add(t.Dim, way{"cache " + Percent(m.CacheHit.X), 20})
	}
	return segs
}

func afterSlash(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }

// fill says how full the window is: "~92.3k of 200k (46%), compacts at 168k",
// "~92.3k/200k 46%", "~46%".
func (m Meter) fill() (full, short, least string) {
	tokens, share := "?", "?"
	if m.Tokens.valid() {
		tokens = m.mark() + Tokens(m.Tokens.N)
	}
	window := "?"
	if m.Window.valid() && m.Window.N > 0 {
		window = Tokens(m.Window.N)
		if m.Tokens.valid() {
			share = m.mark() + Percent(float64(m.Tokens.N)/float64(m.Window.N))
		}
	}
	full = tokens + " of " + window
	if share != "?" {
		full += " (" + strings.TrimPrefix(share, "~") + ")"
	}
	if m.Threshold.valid() && m.Threshold.N > 0 {
		full += ", compacts at " + Tokens(m.Threshold.N)
	}
	short = tokens + "/" + window
	if share == "?" {
		return full, short, short
	}
	return full, short + " " + strings.TrimPrefix(share, "~"), share
}

// mark says that a number is an estimate.
func (m Meter) mark() string {
	if m.Measured {
		return ""
	}
	return "~"
}

func (m Meter) fillStyle(t *Theme) lipgloss.Style {
	if !m.Tokens.valid() {
		return t.Dim
	}
	switch n := m.Tokens.N; {
	case m.Window.valid() && m.Window.N > 0 && n >= m.Window.N:
		return t.Error
	case m.Threshold.valid() && m.Threshold.N > 0 && n >= m.Threshold.N:
		return t.Error
	case m.Threshold.valid() && m.Threshold.N > 0 && n >= m.Threshold.N-m.Threshold.N/5:
		return t.Warning
	case !m.Threshold.valid() && m.Window.valid() && n >= m.Window.N/10*8:
		return t.Warning
	}
	return t.Good
}

// Percent writes a share so that it says nothing wrong: something is not 0%, not
// all is not 100%, and too much is more than 100%.
func Percent(x float64) string {
	switch p := x * 100; {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "?"
	case x == 0:
		return "0%"
	case p < 1:
		return "<1%"
	case x < 1:
		return strconv.Itoa(min(int(math.Round(p)), 99)) + "%"
	case x == 1:
		return "100%"
	case p < 10_000:
		return strconv.Itoa(int(math.Ceil(p))) + "%"
	default:
		return ">9999%"
	}
}

// Tokens writes a number of tokens short.
func Tokens(n int64) string { return text.Tokens(n) }

// Dollars writes US dollars.
func Dollars(x float64) string {
	switch {
	case x == 0:
		return "$0"
	case x < 0.01:
		return "<$0.01"
	case x < 1000:
		return fmt.Sprintf("$%.2f", x)
	default:
		return fmt.Sprintf("$%.0f", x)
	}
}

// Bar draws n of total, with a mark at a limit: what is full, and the rest.
func Bar(n, total, limit int64, width int) (full, rest string) {
	at := func(n int64) int { return int(min(max(n, 0), total) * int64(width) / max(total, 1)) }
	filled, mark := at(n), at(limit)
	if n > 0 {
		filled = max(filled, 1)
	}
	empty := []rune(strings.Repeat("░", width-filled))
	if at := mark - filled; limit > 0 && at >= 0 && at < len(empty) {
		empty[at] = '│'
	}
	return strings.Repeat("█", filled), string(empty)
}
