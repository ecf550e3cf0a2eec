package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// catalogue is the built-in list of models.
var catalogue = sync.OnceValue(func() *model.Catalogue {
	c, err := model.BuiltIn()
	if err != nil { // it is tested that it can be read
		return nil
	}
	return c
})

// modelWindow returns the window of a model; ok is false when it is not known.
func modelWindow(id string) (tokens int64, ok bool) {
	c := catalogue()
	if c == nil {
		return 0, false
	}
	info, ok := c.Lookup("", id)
	return info.Window, ok && info.Window > 0
}

// windowOf returns the window of a model and says, for a report, where the
// number comes from. Where a model takes less input than its window leaves, that is
// what counts.
func windowOf(m session.Model) (tokens int64, from string) {
	if c := catalogue(); c != nil {
		if info, ok := c.Lookup(m.Provider, m.ID); ok && info.Window > 0 {
			tokens = info.Window
			if info.MaxInput > 0 {
				tokens = min(tokens, info.MaxInput+compact.DefaultReserve)
			}
			return tokens, " (of " + printable(m.ID) + ")"
		}
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
	case r.Anchor < 0:
		return fmt.Sprintf("estimated, with %s that the usage before the pass has shown", number(r.Measured))
	}
	return fmt.Sprintf("%s reported, %s estimated", number(r.Measured), number(r.Estimated))
}
