package replay

import "github.com/clew-dev/clew/replay/measure"

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
