package widget

import (
	"fmt"
	"math"
	"slices"
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

	// In tokens; 0 for what is not known.
	Tokens    int64 // of the context
	Window    int64 // of the model
	Threshold int64 // from where on a pass is due
	Measured  bool  // Tokens is what the provider counted, not an estimate

	Cost  string // of the session, such as "$1.24"; "" for what is not known
	Cache string // share of the last request's input that came from the cache

	BreakerOpen bool   // passes have failed so often that they are not tried
	BreakerWhy  string // the last failure
}

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
	type step struct{ seg, worth int } // to the next way of a segment, or to nothing of it
	var steps []step
	for i, s := range segs {
		for _, w := range s.ways {
			steps = append(steps, step{i, w.worth})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return a.worth - b.worth })
	taken := 0
	for ; lineWidth(segs) > width && taken < len(steps)-1; taken++ { // what is said last is cut
		segs[steps[taken].seg].at++
	}
	// The last step may have made room for an earlier one.
	for _, s := range slices.Backward(steps[:taken]) {
		if segs[s.seg].at--; lineWidth(segs) > width {
			segs[s.seg].at++
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
	add(t.Dim, way{m.Cost, 40})
	session := OneLine(m.Session)
	add(t.Dim, way{Cut(session, 40), 25}, way{Cut(session, 16), 30})
	if m.Cache != "" {
		add(t.Dim, way{"cache " + m.Cache, 20})
	}
	return segs
}

func afterSlash(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }

// fill says how full the window is: "~92.3k of 200k (46%), compacts at 168k",
// "~92.3k/200k 46%", "~46%".
func (m Meter) fill() (full, short, least string) {
	tokens, share := "?", "?"
	if m.Tokens > 0 {
		tokens = m.mark() + Tokens(m.Tokens)
	}
	window := "?"
	if m.Window > 0 {
		window = Tokens(m.Window)
		if m.Tokens > 0 {
			share = m.mark() + Percent(float64(m.Tokens)/float64(m.Window))
		}
	}
	full = tokens + " of " + window
	if share != "?" {
		full += " (" + strings.TrimPrefix(share, "~") + ")"
	}
	if m.Threshold > 0 {
		full += ", compacts at " + Tokens(m.Threshold)
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
	if m.Tokens <= 0 {
		return t.Dim
	}
	switch n := m.Tokens; {
	case m.Window > 0 && n >= m.Window, m.Threshold > 0 && n >= m.Threshold:
		return t.Error
	case m.Threshold > 0 && n >= m.Threshold-m.Threshold/5:
		return t.Warning
	case m.Threshold <= 0 && m.Window > 0 && n >= m.Window/10*8:
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
