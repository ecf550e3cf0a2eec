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
	Unread   []unreadFile    `json:"unread,omitempty"`
	Damaged  []unreadFile    `json:"damaged,omitempty"`
	Again    []string        `json:"again,omitempty"`
	Points   int             `json:"points"`
	Needs    int             `json:"needs"`
	Ceiling  *float64        `json:"ceiling,omitempty"`
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
	Counter     string   `json:"counter"`
	Calls       int      `json:"calls"`
	Raw         *float64 `json:"raw,omitempty"`
	Fixed       *float64 `json:"fixed,omitempty"`
	Anchored    *float64 `json:"anchored,omitempty"`
	Anchored95  *float64 `json:"anchored95,omitempty"`
	Growth      *float64 `json:"growth,omitempty"`
	Calibrated  *float64 `json:"calibrated,omitempty"`
	Results     *float64 `json:"results,omitempty"`
	Slices      *float64 `json:"slices,omitempty"`
	SlicesUnder *float64 `json:"slicesUnder,omitempty"`
}

// keptJSON is what a policy keeps.
type keptJSON struct {
	Policy       string       `json:"policy"`
	About        string       `json:"about"`
	Points       int          `json:"points"`
	Sessions     int          `json:"sessions"`
	Tokens       int          `json:"tokens"`
	CCR          *float64     `json:"cCR,omitempty"`
	CCRLow       *float64     `json:"cCRLow,omitempty"`
	CCRHigh      *float64     `json:"cCRHigh,omitempty"`
	CR           *float64     `json:"cr,omitempty"`
	CRByUse      *float64     `json:"crByUse,omitempty"`
	Precision    *float64     `json:"precision,omitempty"`
	Instructions *float64     `json:"instructions,omitempty"`
	Constraints  *float64     `json:"constraints,omitempty"`
	TrailF1      *float64     `json:"trailF1,omitempty"`
	Modified     *float64     `json:"modified,omitempty"`
	Fresh        *float64     `json:"fresh,omitempty"`
	FreshPoints  int          `json:"freshPoints,omitempty"`
	MadeUp       *float64     `json:"madeUp,omitempty"`
	Plain        *float64     `json:"plain,omitempty"`
	Junk         *float64     `json:"junk,omitempty"`
	Chain        []float64    `json:"chain,omitempty"`
	Decay        *float64     `json:"decay,omitempty"`
	Classes      []classJSON  `json:"classes,omitempty"`
	Formats      []formatJSON `json:"formats,omitempty"`
	// Gates are the requirements that no average may hide.
	Gates replay.Gates `json:"gates"`
}

// classJSON counts the needs of a class over all points.
type classJSON struct {
	Class     string `json:"class"`
	Needs     int    `json:"needs"`
	Found     int    `json:"found"`
	InContext int    `json:"inContext"`
}

// formatJSON is what a policy keeps of the sessions of one format.
type formatJSON struct {
	Format       string   `json:"format"`
	Sessions     int      `json:"sessions"`
	Points       int      `json:"points"`
	CCR          *float64 `json:"cCR,omitempty"`
	CR           *float64 `json:"cr,omitempty"`
	Instructions *float64 `json:"instructions,omitempty"`
}

// replayCostsJSON says what the policies cost.
type replayCostsJSON struct {
	Window    int         `json:"window"`
	Overhead  int         `json:"overhead"`
	MinTokens int         `json:"minTokens"`
	Prices    string      `json:"prices"`
	Gaps      []string    `json:"gaps,omitempty"`
	Unpriced  []string    `json:"unpriced,omitempty"`
	Policies  []priceJSON `json:"policies"`
}

// priceJSON is what a policy costs.
type priceJSON struct {
	Policy      string   `json:"policy"`
	Sessions    int      `json:"sessions"`
	Pooled      float64  `json:"pooled"`
	Median      float64  `json:"median"`
	Untaxed     float64  `json:"untaxed"`
	Rewrites    int      `json:"rewrites"`
	Context     int      `json:"context"`
	Peak        int      `json:"peak"`
	Invalidated int      `json:"invalidated"`
	Recall      *float64 `json:"recall,omitempty"`
	Dollars     float64  `json:"dollars,omitempty"`
}

// replayedJSON is a session and its points.
type replayedJSON struct {
	Name            string            `json:"name"`
	Format          string            `json:"format"`
	Messages        int               `json:"messages"`
	Tokens          int               `json:"tokens"`
	Skipped         string            `json:"skipped,omitempty"`
	SkippedRecorded []string          `json:"skippedRecorded,omitempty"`
	Points          []replayPointJSON `json:"points"`
}

type replayPointJSON struct {
	At       int                `json:"at"`
	Recorded bool               `json:"recorded"`
	Dropped  int                `json:"dropped"`
	Needs    int                `json:"needs"`
	Budget   int                `json:"budget"`
	Scores   []replayScoredJSON `json:"scores"`
}

type replayScoredJSON struct {
	Policy       string   `json:"policy"`
	Tokens       int      `json:"tokens"`
	CCR          *float64 `json:"cCR,omitempty"`
	CR           *float64 `json:"cr,omitempty"`
	Instructions *float64 `json:"instructions,omitempty"`
	TrailF1      *float64 `json:"trailF1,omitempty"`
}

func (p *replayed) json() any {
	r, in := p.Report, p.in
	out := replayJSON{
		Budget: r.Budget, Tail: r.Tail, Files: in.files, Passed: in.passed, Unread: in.unread, Damaged: in.damaged,
		Kept: []keptJSON{}, Sessions: []replayedJSON{}, Curve: p.curve,
	}
	out.Points, _ = countPoints(r, false)
	for _, a := range r.Again {
		out.Again = append(out.Again, a.Name)
	}
	support := r.Support()
	out.Needs, out.Ceiling = support.Needs, meanFigure(support.Ceiling)
	for _, row := range r.Rows(false) {
		kept := newKeptJSON(&row)
		for _, g := range r.Groups(row.Policy) {
			kept.Formats = append(kept.Formats, formatJSON{
				g.Name, g.Sessions, g.Points, meanFigure(g.Contextual), meanFigure(g.Recall), meanFigure(g.Instructions),
			})
		}
		out.Kept = append(out.Kept, kept)
	}
	if n, _ := countPoints(r, true); n > 0 {
		for _, row := range r.Rows(true) {
			out.Recorded = append(out.Recorded, newKeptJSON(&row))
		}
	}
	out.Costs = newReplayCostsJSON(r.Costs)
	for i := range r.Meter {
		e := &r.Meter[i].Errors
		out.Meter = append(out.Meter, meterJSON{
			Counter: r.Meter[i].Name, Calls: e.Calls, Raw: known(e.Raw.Median()), Fixed: known(e.Fixed.Median()),
			Anchored: known(e.Anchored.Median()), Anchored95: known(e.Anchored.Quantile(.95)),
			Growth: known(e.Growth.Median()), Calibrated: known(e.Learned.Median()), Results: known(e.Tools.Median()),
			Slices: known(e.Slices.Median()), SlicesUnder: known(e.Guarded.Under()),
		})
	}
	order := append(slices.Clone(r.Policies), replay.RecordedPolicy, replay.HookPolicy, replay.StartPolicy, replay.LinesPolicy)
	for _, s := range r.Sessions {
		sj := replayedJSON{
			Name: s.Name, Format: s.Group, Messages: s.Messages, Tokens: s.Tokens,
			Skipped: s.Skipped, SkippedRecorded: s.SkippedRecorded, Points: []replayPointJSON{},
		}
		for _, p := range s.Points {
			pj := replayPointJSON{At: p.At, Recorded: p.Recorded, Dropped: p.Dropped, Needs: p.Needs, Budget: p.Budget}
			for _, name := range order {
				if score, ok := p.Scores[name]; ok {
					pj.Scores = append(pj.Scores, replayScoredJSON{
						Policy: name, Tokens: score.Tokens, CCR: figure(score.Contextual), CR: figure(score.Recall),
						Instructions: figure(score.Instructions), TrailF1: figure(score.TrailF1),
					})
				}
			}
			sj.Points = append(sj.Points, pj)
		}
		out.Sessions = append(out.Sessions, sj)
	}
	return out
}

// rounded keeps four digits: the rest is noise.
func rounded(f float64) float64 { return math.Round(f*1e4) / 1e4 }

func figure(m measure.Measured) *float64 {
	if !m.OK {
		return nil
	}
	f := rounded(m.Value)
	return &f
}

// known is a figure, or nil where there was nothing to measure.
func known(f float64) *float64 {
	return figure(measure.Measured{Value: f, OK: !math.IsNaN(f)})
}

func meanFigure(m replay.Mean) *float64 { return figure(measure.Measured{Value: m.Value, OK: m.N > 0}) }

func newKeptJSON(r *replay.Row) keptJSON {
	out := keptJSON{
		Policy: r.Policy, About: r.About, Points: r.Points, Sessions: r.Sessions, Tokens: int(r.Tokens),
		CCR: meanFigure(r.Contextual), CR: meanFigure(r.Recall), CRByUse: meanFigure(r.RecallByUse), Precision: meanFigure(r.Precision),
		Instructions: meanFigure(r.Instructions), Constraints: meanFigure(r.Constraints), TrailF1: meanFigure(r.TrailF1),
		Modified: meanFigure(r.Modified), Fresh: meanFigure(r.Fresh), FreshPoints: r.Fresh.N, MadeUp: meanFigure(r.Foreign), Plain: meanFigure(r.Plain), Junk: meanFigure(r.Junk),
		Gates: r.Gates,
	}
	for i, c := range r.ByClass {
		if c.Needs > 0 {
			out.Classes = append(out.Classes, classJSON{measure.Class(i).String(), c.Needs, c.Found, c.InContext})
		}
	}
	if low, high, ok := r.Interval(); ok {
		out.CCRLow = figure(measure.Measured{Value: low, OK: true})
		out.CCRHigh = figure(measure.Measured{Value: high, OK: true})
	}
	if d, ok := r.Decay(); ok {
		out.Decay = figure(measure.Measured{Value: d, OK: true})
		for _, c := range r.Chain {
			out.Chain = append(out.Chain, rounded(c.Value))
		}
	}
	return out
}

func newReplayCostsJSON(c *replay.Costs) replayCostsJSON {
	out := replayCostsJSON{
		Window: c.Options.Window, Overhead: c.Options.Overhead, MinTokens: c.Options.MinTokens,
		Prices: c.Options.Prices.Name, Gaps: c.Options.Prices.Gaps, Unpriced: c.Unpriced, Policies: []priceJSON{},
	}
	for _, r := range c.Rows {
		p := priceJSON{
			Policy: r.Policy, Sessions: r.Sessions, Pooled: rounded(r.Pooled), Median: rounded(r.Median), Untaxed: rounded(r.Untaxed),
			Rewrites: r.Rewrites, Context: int(r.Mean), Peak: r.Peak, Invalidated: int(r.Invalidated), Dollars: rounded(r.Dollars),
		}
		if r.Recall >= 0 {
			p.Recall = figure(measure.Measured{Value: r.Recall, OK: true})
		}
		out.Policies = append(out.Policies, p)
	}
	return out
}
