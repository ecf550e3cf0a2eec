package main

import (
	"fmt"
	"strings"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// windows are the context windows of model families, in tokens, the longest
// prefix counting. They are the sizes that the makers document for use without
// special terms; --window overrides them.
var windows = []struct {
	prefix string
	tokens int64
}{
	{"claude-", 200_000},
	{"gpt-4-turbo", 128_000},
	{"gpt-4.1", 1_047_576},
	{"gpt-4o", 128_000},
	{"gpt-5", 400_000},
	{"o1", 200_000},
	{"o3", 200_000},
	{"o4-mini", 200_000},
	{"gemini-", 1_048_576},
	{"gemini-1.5-pro", 2_097_152},
	{"deepseek-", 128_000},
}

// modelWindow returns the window of a model; ok is false when it is not known.
// What a reseller puts before an id ("us.anthropic.claude-...") does not count.
func modelWindow(id string) (tokens int64, ok bool) {
	id = strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
	if k := strings.Index(id, "claude-"); k > 0 {
		id = id[k:]
	}
	best := 0
	for _, w := range windows {
		if strings.HasPrefix(id, w.prefix) && len(w.prefix) > best {
			best, tokens = len(w.prefix), w.tokens
		}
	}
	return tokens, best > 0
}

// windowOf returns the window of a model and says, for a report, where the
// number comes from.
func windowOf(m session.Model) (tokens int64, from string) {
	if n, ok := modelWindow(m.ID); ok {
		return n, " (of " + printable(m.ID) + ")"
	}
	return compact.DefaultWindow, " (assumed: the model is not known)"
}

// barCells is how long a usage bar is.
const barCells = 20

// usageBar shows how much of a window a number of tokens takes.
func usageBar(p painter, tokens, window int64) string {
	share := float64(tokens) / float64(max(window, 1))
	full := min(int(share*barCells+0.5), barCells)
	color := styleGreen
	switch {
	case share > 0.9:
		color = styleRed
	case share > 0.7:
		color = styleYellow
	}
	return p.paint(color, strings.Repeat("█", full)) + p.paint(styleDim, strings.Repeat("░", barCells-full)) +
		fmt.Sprintf(" %s tokens, %.0f %% of the window", number(tokens), share*100)
}

// howMeasured says where a reading comes from.
func howMeasured(r token.Reading) string {
	switch {
	case r.Estimated == 0:
		return "as the provider reported"
	case r.Measured == 0:
		return "estimated"
	}
	return fmt.Sprintf("%s reported, %s estimated", number(r.Measured), number(r.Estimated))
}
