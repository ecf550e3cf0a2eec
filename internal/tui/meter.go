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

// meterPart is a part of the line at the bottom.
type meterPart struct {
	worth int
	style widget.Style
	text  string
}

// meterLine says what the agent is doing and how full the window is, in one line of at most
// width columns. Where there is no room, the parts that are worth least are left out: the last
// to go is that nothing is compacted any more, then how full the window is.
func meterLine(t *widget.Theme, s *agent.State, width int) string {
	parts := meterParts(t, s, width)
	for {
		var said []string
		for _, p := range parts {
			said = append(said, t.Paint(p.style, p.text))
		}
		line := strings.Join(said, t.Paint(t.Dim, widget.Gap))
		if len(parts) == 1 || widget.Width(line) <= width {
			return widget.Cut(line, width)
		}
		least := slices.MinFunc(parts, func(a, b meterPart) int { return a.worth - b.worth })
		parts = slices.DeleteFunc(parts, func(p meterPart) bool { return p.worth == least.worth })
	}
}

func meterParts(t *widget.Theme, s *agent.State, width int) (parts []meterPart) {
	add := func(worth int, style widget.Style, text string) {
		if text = widget.OneLine(text); text != "" {
			parts = append(parts, meterPart{worth, style, text})
		}
	}
	switch {
	case s.Breaker != "" && width >= 100:
		add(9, t.Error, "! compaction off: "+widget.Cut(widget.OneLine(s.Breaker), 60))
	case s.Breaker != "":
		add(9, t.Error, "! compaction off")
	}
	switch {
	case s.Asking > 0:
		add(7, t.Accent, "asks")
	case s.Doing != agent.DoingNothing:
		add(7, t.Accent, string(s.Doing))
	}
	if s.Mode != permission.ModeAsk && s.Mode != "" {
		add(6, t.Warning, "["+string(s.Mode)+"]")
	}
	style, full := fill(t, s)
	if s.Threshold > 0 && width >= 60 {
		full += ", compacts at " + text.Tokens(s.Threshold)
	}
	add(8, style, full)
	if s.Queue > 0 {
		add(5, t.Accent, strconv.Itoa(s.Queue)+" queued")
	}
	add(4, t.Text, s.Model+" "+string(s.Reasoning))
	if s.Totals.Cost > 0 || s.Totals.Requests == 0 {
		add(3, t.Dim, widget.Dollars(max(s.Totals.Cost, 0)))
	}
	add(2, t.Dim, widget.Cut(widget.OneLine(s.Name), 40))
	if s.Totals.Requests > 0 && s.CacheHit >= 0 && s.CacheHit <= 1 {
		add(1, t.Dim, "cache "+widget.Percent(s.CacheHit))
	}
	return parts
}

// fill says how full the window is: "~92.3k of 200k (46%)"; ~ is for an estimate.
func fill(t *widget.Theme, s *agent.State) (widget.Style, string) {
	n, style, tokens, window, share := s.Tokens, t.Good, "?", "?", ""
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
		tokens = text.Tokens(n)
		if !s.Measured {
			tokens = "~" + tokens
		}
		if s.Window > 0 {
			share = " (" + widget.Percent(float64(n)/float64(s.Window)) + ")"
		}
	}
	return style, tokens + " of " + window + share
}
