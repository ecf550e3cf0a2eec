package main

import (
	"math"
	"slices"

	"github.com/clew-dev/clew/internal/replay"
	"github.com/clew-dev/clew/internal/replay/measure"
)

// replayJSON is what replay --json prints.
type replayJSON struct {
	Budget   int             `json:"budget"`
	Tail     int             `json:"tail"`
	Files    int             `json:"files"`
	Passed   int             `json:"otherFiles"`
	Unread   []replay.Note   `json:"unread,omitempty"`
	Damaged  []replay.Note   `json:"damaged,omitempty"`
	Again    []string        `json:"again,omitempty"`
	Points   int             `json:"points"`
	Needs    int             `json:"needs"`
	Ceiling  replay.Mean     `json:"ceiling,omitzero"`
	Kept     []keptJSON      `json:"kept"`
	Recorded []keptJSON      `json:"recorded,omitempty"`
	Costs    replayCostsJSON `json:"costs"`
	Meter    []meterJSON     `json:"meter,omitempty"`
	Sessions []replayedJSON  `json:"sessions"`
	Curve    []curvePoint    `json:"curve,omitempty"`
}

// curvePoint is the contextual recall of the policies at a budget.
type curvePoint struct {
	Budget int                `json:"budget"`
	CCR    map[string]float64 `json:"cCR"`
}

// meterJSON is how far the estimates of a counter are from what was reported.
type meterJSON struct {
	Counter     string           `json:"counter"`
	Calls       int              `json:"calls"`
	Raw         measure.Measured `json:"raw,omitzero"`
	Fixed       measure.Measured `json:"fixed,omitzero"`
	Anchored    measure.Measured `json:"anchored,omitzero"`
	Anchored95  measure.Measured `json:"anchored95,omitzero"`
	Growth      measure.Measured `json:"growth,omitzero"`
	Calibrated  measure.Measured `json:"calibrated,omitzero"`
	Results     measure.Measured `json:"results,omitzero"`
	Slices      measure.Measured `json:"slices,omitzero"`
	SlicesUnder measure.Measured `json:"slicesUnder,omitzero"`
}

// keptJSON is what a policy keeps.
type keptJSON struct {
	replay.Row
	CCRLow      measure.Measured `json:"cCRLow,omitzero"`
	CCRHigh     measure.Measured `json:"cCRHigh,omitzero"`
	FreshPoints int              `json:"freshPoints,omitempty"`
	Chain       []replay.Mean    `json:"chain,omitempty"`
	Decay       measure.Measured `json:"decay,omitzero"`
	Classes     []classJSON      `json:"classes,omitempty"`
	Formats     []replay.Group   `json:"formats,omitempty"`
}

// classJSON counts the needs of a class over all points.
type classJSON struct {
	Class string `json:"class"`
	measure.ClassScore
}

// replayCostsJSON says what the policies cost.
type replayCostsJSON struct {
	Window    int              `json:"window"`
	Overhead  int              `json:"overhead"`
	MinTokens int              `json:"minTokens"`
	Prices    string           `json:"prices"`
	Gaps      []string         `json:"gaps,omitempty"`
	Unpriced  []string         `json:"unpriced,omitempty"`
	Policies  []replay.CostRow `json:"policies"`
}

// replayedJSON is a session and its points.
type replayedJSON struct {
	replay.SessionResult
	Points []replayPointJSON `json:"points"`
}

type replayPointJSON struct {
	replay.PointResult
	Scores []replayScoredJSON `json:"scores"`
}

type replayScoredJSON struct {
	Policy string `json:"policy"`
	measure.Score
}

func (p *replayed) json() any {
	r, in := p.Report, p.in
	out := replayJSON{
		Budget: r.Budget, Tail: r.Tail, Files: in.files, Passed: in.passed, Unread: in.unread, Damaged: in.damaged,
		Kept: []keptJSON{}, Sessions: []replayedJSON{}, Curve: p.curve,
	}
	out.Points, _ = r.Count(false)
	for _, a := range r.Again {
		out.Again = append(out.Again, a.Name)
	}
	support := r.Support()
	out.Needs, out.Ceiling = support.Needs, support.Ceiling
	for _, row := range r.Rows(false) {
		kept := newKeptJSON(row)
		kept.Formats = r.Groups(row.Policy)
		out.Kept = append(out.Kept, kept)
	}
	if n, _ := r.Count(true); n > 0 {
		for _, row := range r.Rows(true) {
			out.Recorded = append(out.Recorded, newKeptJSON(row))
		}
	}
	c := r.Costs
	out.Costs = replayCostsJSON{
		c.Options.Window, c.Options.Overhead, c.Options.MinTokens, c.Options.Prices.Name, c.Options.Prices.Gaps, c.Unpriced, append([]replay.CostRow{}, c.Rows...),
	}
	for i := range r.Meter {
		e := &r.Meter[i].Errors
		out.Meter = append(out.Meter, meterJSON{
			r.Meter[i].Name, e.Calls, known(e.Raw.Median()), known(e.Fixed.Median()), known(e.Anchored.Median()), known(e.Anchored.Quantile(.95)),
			known(e.Growth.Median()), known(e.Learned.Median()), known(e.Tools.Median()), known(e.Slices.Median()), known(e.Guarded.Under()),
		})
	}
	order := append(slices.Clone(r.Policies), replay.RecordedPolicy, replay.HookPolicy, replay.StartPolicy, replay.LinesPolicy)
	for _, s := range r.Sessions {
		sj := replayedJSON{s, []replayPointJSON{}}
		for _, p := range s.Points {
			pj := replayPointJSON{PointResult: p}
			for _, name := range order {
				if score, ok := p.Scores[name]; ok {
					pj.Scores = append(pj.Scores, replayScoredJSON{name, score})
				}
			}
			sj.Points = append(sj.Points, pj)
		}
		out.Sessions = append(out.Sessions, sj)
	}
	return out
}

// known is a figure, or none where there was nothing to measure.
func known(f float64) measure.Measured { return measure.Measured{Value: f, OK: !math.IsNaN(f)} }

func newKeptJSON(r replay.Row) keptJSON {
	out := keptJSON{Row: r, FreshPoints: r.Fresh.N}
	for i, c := range r.ByClass {
		if c.Needs > 0 {
			out.Classes = append(out.Classes, classJSON{measure.Class(i).String(), c})
		}
	}
	low, high, ok := r.Interval()
	out.CCRLow, out.CCRHigh = measure.Measured{Value: low, OK: ok}, measure.Measured{Value: high, OK: ok}
	if d, ok := r.Decay(); ok {
		out.Decay, out.Chain = measure.Measured{Value: d, OK: true}, r.Chain[:]
	}
	return out
}
