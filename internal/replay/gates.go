package replay

import (
	"fmt"

	"github.com/clew-dev/clew/internal/replay/measure"
)

// Gates are requirements that no average may hide: each counts the points at which
// a policy does not meet it.
type Gates struct {
	OverBudget int `json:"overBudget"` // the text is larger than the budget, so its end did not count
	Lists      int `json:"lists"`      // less than 35 % of the text is plain words or structure
	MadeUp     int `json:"madeUp"`     // identifiers that were nowhere in what the policy was given
	Unstable   int `json:"unstable"`   // the same input gave another text
}

func (g *Gates) add(s *measure.Score, unstable bool) {
	if s.Cut > 0 {
		g.OverBudget++
	}
	if s.Tokens > 0 && s.Plain < measure.MinPlainShare {
		g.Lists++
	}
	if s.Foreign.OK && s.Foreign.Value > 0 {
		g.MadeUp++
	}
	if unstable {
		g.Unstable++
	}
}

// Passed reports whether there is no point at which a gate was missed.
func (g Gates) Passed() bool { return g == Gates{} }

// Missed says in words which gates were missed, and at how many points.
func (g Gates) Missed() []string {
	var out []string
	for _, gate := range []struct {
		n    int
		what string
	}{
		{g.Lists, fmt.Sprintf("less than %.0f%% plain words or structure", 100*measure.MinPlainShare)},
		{g.MadeUp, "something made up"},
		{g.OverBudget, "over the budget"},
		{g.Unstable, "another text the second time"},
	} {
		switch {
		case gate.n == 1:
			out = append(out, gate.what+" at 1 point")
		case gate.n > 1:
			out = append(out, fmt.Sprintf("%s at %d points", gate.what, gate.n))
		}
	}
	return out
}
