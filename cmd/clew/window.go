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
	{"gpt-4.1", 1_047_576},
	{"gpt-4o", 128_000},
	{"gpt-5", 400_000},
	{"gemini-", 1_048_576},
	{"deepseek-", 128_000},
}

// windowOf returns the window of a model and says, for a report, where the
// number comes from.
func windowOf(m session.Model) (tokens int64, from string) {
	id := m.ID[strings.LastIndexByte(m.ID, '/')+1:]
	best := 0
	for _, w := range windows {
		if strings.HasPrefix(id, w.prefix) && len(w.prefix) > best {
			best, tokens = len(w.prefix), w.tokens
		}
	}
	if best == 0 {
		return compact.DefaultWindow, " (assumed: the model is not known)"
	}
	return tokens, " (of " + printable(id) + ")"
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
