package tui

import (
	"fmt"
	"strings"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/token"
)

// What /context and /explain have in common with clew context and clew explain, which print
// numbers in full.

// categoryWords are what a context is made of.
var categoryWords = [token.NumCategories]string{
	token.System: "system prompt", token.Tools: "tool definitions", token.User: "user",
	token.Assistant: "answers", token.Thinking: "thinking", token.ToolCalls: "tool calls",
	token.ToolResults: "tool results", token.Images: "images", token.Summaries: "summaries",
	token.Shell: "shell", token.Custom: "from programs", token.Unattributed: "not in the log",
}

// Categories says in a line each what a context is made of; bar paints what stands for the size.
func Categories(r token.Reading, number func(int64) string, bar func(string) string) (lines []string) {
	names, digits := 0, 0
	for c, n := range r.Categories {
		if n > 0 {
			names, digits = max(names, len(categoryWords[c])), max(digits, len(number(n)))
		}
	}
	for c, n := range r.Categories {
		if n > 0 {
			const most = 20
			size := strings.Repeat("█", int(min(n*most/max(r.Tokens, 1), most)))
			lines = append(lines, fmt.Sprintf("%-*s  %*s  %4s  %s", names, categoryWords[c], digits, number(n), widget.Percent(float64(n)/float64(r.Tokens)), bar(size)))
		}
	}
	return lines
}

// Measured says how the size of a context is known; by is who or what has reported it.
func Measured(r token.Reading, by string, number func(int64) string) string {
	estimated := number(r.Estimated) + " estimated (" + r.Counter + ")"
	switch {
	case r.Anchor < 0 && r.Measured > 0:
		return "nothing: " + estimated + ", " + number(r.Measured) + " shown by the usage before the pass"
	case r.Anchor < 0:
		return "nothing: all is estimated (" + r.Counter + ")"
	case r.Estimated > 0:
		return number(r.Measured) + " reported " + by + ", " + estimated
	}
	return number(r.Measured) + " reported " + by
}

// FateCount says how many entries of a path have met a fate, and why.
type FateCount struct {
	Kind compact.FateKind
	N    int64
	Text string
}

// FateCounts counts fates, those that none has met left out.
func FateCounts(fates []compact.Fate, number func(int64) string) (out []FateCount) {
	for _, c := range []FateCount{
		{Kind: compact.FateVerbatim, Text: "in the context as they were written"},
		{Kind: compact.FateEdited, Text: "in the context with other content"},
		{Kind: compact.FateSummarized, Text: "in the summary"},
		{Kind: compact.FateQuoted, Text: "in the summary, word for word"},
		{Kind: compact.FateExcluded, Text: "not in the context"},
	} {
		var order, parts []string // the reasons as they come first
		times := map[string]int64{}
		for _, f := range fates {
			if f.Fate != c.Kind {
				continue
			}
			c.N++
			if f.Why != "" && times[f.Why] == 0 {
				order = append(order, f.Why)
			}
			times[f.Why]++
		}
		for _, why := range order {
			parts = append(parts, number(times[why])+" "+why)
		}
		if len(parts) > 0 {
			c.Text += ": " + strings.Join(parts, ", ")
		}
		if c.N > 0 {
			out = append(out, c)
		}
	}
	return out
}
