package tui

import (
	"slices"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// meterPart is a part of the line at the bottom, with ever shorter ways to say it. What
// is worth least is said shorter first, and then not at all.
type meterPart struct {
	style widget.Style
	ways  []meterWay
}

type meterWay struct {
	text  string
	worth int
}

// meterLine says what the agent is doing and how full the window is, in one line of at most
// width columns. The last to go is that nothing is compacted any more, then how full the window is.
func meterLine(t *widget.Theme, s *agent.State, width int) string {
	parts := meterParts(t, s)
	most := slices.MaxFunc(parts, func(a, b meterPart) int { return a.ways[len(a.ways)-1].worth - b.ways[len(b.ways)-1].worth })
	at := make([]int, len(parts)) // the way in which each is said
	line := func(paint func(widget.Style, string) string) string {
		var said []string
		for i, p := range parts {
			if at[i] < len(p.ways) && p.ways[at[i]].text != "" {
				said = append(said, paint(p.style, p.ways[at[i]].text))
			}
		}
		return strings.Join(said, paint(t.Dim, widget.Gap))
	}
	fits := func() bool { return widget.Width(line(func(_ widget.Style, s string) string { return s })) <= width }
	for least := 0; !fits() && least < most.ways[len(most.ways)-1].worth; least++ { // what is said last is cut
		for i, p := range parts {
			for at[i] < len(p.ways) && p.ways[at[i]].worth <= least {
				at[i]++
			}
		}
	}
	for i := range at { // the last step may have made room for others
		for now, way := at[i], 0; way <= now; way++ {
			if at[i] = way; fits() {
				break
			}
		}
	}
	return widget.Cut(line(t.Paint), width)
}

func meterParts(t *widget.Theme, s *agent.State) (parts []meterPart) {
	add := func(style widget.Style, ways ...meterWay) { parts = append(parts, meterPart{style, ways}) }
	cut := func(s string, width int) string { return widget.Cut(widget.OneLine(s), width) }
	if s.Breaker != "" {
		add(t.Error, meterWay{"! compaction off: " + cut(s.Breaker, 60), 35}, meterWay{"! compaction off: " + cut(s.Breaker, 26), 65}, meterWay{"! compaction off", 85}, meterWay{"!off", 100})
	}
	doing := string(s.Doing)
	switch {
	case s.Asking > 0:
		doing = "asks"
	case s.Doing == agent.DoingNothing:
		doing = ""
	}
	add(t.Accent, meterWay{cut(doing, 40), 42}, meterWay{cut(doing, 12), 80})
	if s.Mode != permission.ModeAsk && s.Mode != "" {
		add(t.Warning, meterWay{"[" + cut(string(s.Mode), 12) + "]", 75})
	}
	add(fill(t, s))
	if s.Queue > 0 {
		add(t.Accent, meterWay{strconv.Itoa(s.Queue) + " queued", 55}, meterWay{strconv.Itoa(s.Queue) + "q", 60})
	}
	model := widget.OneLine(s.Model + " " + string(s.Reasoning))
	short := model[strings.LastIndexByte(model, '/')+1:]
	add(t.Text, meterWay{model, 32}, meterWay{cut(short, 24), 46}, meterWay{cut(short, 14), 50})
	if s.Totals.Cost > 0 || s.Totals.Requests == 0 {
		add(t.Dim, meterWay{widget.Dollars(max(s.Totals.Cost, 0)), 40})
	}
	add(t.Dim, meterWay{cut(s.Name, 40), 25}, meterWay{cut(s.Name, 16), 30})
	if s.Totals.Requests > 0 && s.CacheHit >= 0 && s.CacheHit <= 1 {
		add(t.Dim, meterWay{"cache " + widget.Percent(s.CacheHit), 20})
	}
	return parts
}

// fill says how full the window is: "~92.3k of 200k (46%), compacts at 168k",
// "~92.3k/200k 46%", "~46%".
func fill(t *widget.Theme, s *agent.State) (widget.Style, meterWay, meterWay, meterWay) {
	n, style, mark, tokens, window, share := s.Tokens, t.Good, "~", "?", "?", ""
	if s.Measured {
		mark = "" // else it is an estimate
	}
	if s.Window > 0 {
		window = text.Tokens(s.Window)
	}
	switch {
	case !s.Known || n <= 0:
		n, style = 0, t.Dim
	case s.Window > 0 && n >= s.Window, s.Threshold > 0 && n >= s.Threshold:
		style = t.Error
	case s.Threshold > 0 && n >= s.Threshold-s.Threshold/5, s.Threshold <= 0 && s.Window > 0 && n >= s.Window/10*8:
		style = t.Warning
	}
	if n > 0 {
		tokens = mark + text.Tokens(n)
		if s.Window > 0 {
			share = widget.Percent(float64(n) / float64(s.Window))
		}
	}
	full, short, least := tokens+" of "+window, tokens+"/"+window, tokens+"/"+window
	if share != "" {
		full, short, least = full+" ("+share+")", short+" "+share, mark+share
	}
	if s.Threshold > 0 {
		full += ", compacts at " + text.Tokens(s.Threshold)
	}
	return style, meterWay{full, 44}, meterWay{short, 62}, meterWay{least, 90}
}
