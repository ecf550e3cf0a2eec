package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/replay"
)

// view is what the template draws.
type view struct {
	Points, Sessions, Budget, Tail int
	Recorded, RecordedSessions     int
	Columns                        []replay.Column
	Rows, RecordedRows             []row
	Missed                         []row // gates
	Recall, Cost                   []bar
	Dots                           []dot
	Across, Up                     []tick // of the dots
	Window, Overhead, MinTokens    int
	Prices                         string
	Gaps                           []string
	Charts                         []chart
	More                           int // sessions without a chart
	Meter                          []row
	MeterCalls                     int
	Skipped                        []replay.Note
	Passed                         int
}

// row is a line of the table; figures that were not measured are "".
type row struct {
	Policy, About string
	Figures       []string
}

// bar is a policy with one or two figures, drawn from left to right.
type bar struct {
	Policy, Text      string
	Width, Mark       float64 // percent
	From, To          float64 // percent, of the interval
	HasMark, HasRange bool
	Class             string
}

// dot is a policy by cost and recall, in percent of the plot.
type dot struct {
	Policy string
	X, Y   float64
	Left   bool // the name goes to the left
	Below  bool // it stands below, not above
	Class  string
}

type tick struct {
	At   float64
	Text string
}

func newView(r *replay.Report, notes Notes) *view {
	v := &view{Budget: r.Budget, Tail: r.Tail, Passed: notes.Passed}
	free := r.Rows(false)
	v.Points, v.Sessions = r.Count(false)
	v.Recorded, v.RecordedSessions = r.Count(true)
	v.Columns = replay.Columns()
	v.Rows = v.rows(r, false)
	for _, k := range free {
		if missed := k.Gates.Missed(); len(missed) > 0 && !slices.Contains(replay.BaselineNames(), k.Policy) {
			v.Missed = append(v.Missed, row{Policy: k.Policy, About: strings.Join(missed, ", ")})
		}
	}
	if v.Recorded > 0 {
		v.RecordedRows = v.rows(r, true)
	}
	v.recall(free)
	v.cost(r.Costs)
	v.scatter(free, r.Costs)
	if c := r.Costs; c != nil {
		v.Window, v.Overhead, v.MinTokens = c.Options.Window, c.Options.Overhead, c.Options.MinTokens
		v.Prices, v.Gaps = c.Options.Prices.Name, c.Options.Prices.Gaps
		v.Charts, v.More = charts(c)
	}
	v.meter(r)
	v.Skipped = slices.Concat(notes.Unread, notes.Damaged, r.Notes())
	return v
}

func (v *view) rows(r *replay.Report, recorded bool) (rows []row) {
	for _, l := range r.Lines(recorded) {
		of := row{Policy: l.Policy, About: l.About}
		for _, c := range v.Columns {
			if !recorded || !c.OfCost() {
				of.Figures = append(of.Figures, l.Figure(c, "–", number))
			}
		}
		rows = append(rows, of)
	}
	return rows
}

func (v *view) meter(r *replay.Report) {
	percent := func(f float64) string {
		if math.IsNaN(f) {
			return "–"
		}
		return fmt.Sprintf("%.2g %%", 100*f)
	}
	for i := range r.Meter {
		e := &r.Meter[i].Errors
		v.MeterCalls = e.Calls
		v.Meter = append(v.Meter, row{Policy: r.Meter[i].Name, Figures: []string{
			percent(e.Anchored.Median()), percent(e.Anchored.Quantile(.95)), percent(e.Growth.Median()),
			percent(e.Learned.Median()), percent(e.Tools.Median()), percent(e.Slices.Median()),
		}})
	}
}

// class gives a policy its colour.
func class(policy string) string {
	switch policy {
	case "append", "tail":
		return "c0"
	case "clew":
		return "c1"
	case "clew+offload":
		return "c2"
	case "pi", "synapse", "turns":
		return "c3"
	case "model", replay.RecordedPolicy:
		return "c4"
	}
	return "c5"
}

func (v *view) recall(rows []replay.Row) {
	for _, k := range rows {
		if k.Contextual.N == 0 {
			continue
		}
		b := bar{
			Policy: k.Policy, Text: fmt.Sprintf("cCR %s, CR %s", replay.Share(k.Contextual.Value), replay.Share(k.Recall.Value)),
			Width: 100 * k.Contextual.Value, Mark: 100 * k.Recall.Value, HasMark: true, Class: class(k.Policy),
		}
		if low, high, ok := k.Interval(); ok {
			b.From, b.To, b.HasRange = 100*low, 100*(high-low), true
			b.Text += fmt.Sprintf(" (95 %%: %s to %s)", replay.Share(low), replay.Share(high))
		}
		v.Recall = append(v.Recall, b)
	}
}

func (v *view) cost(c *replay.Costs) {
	if c == nil || len(c.Sessions) == 0 {
		return
	}
	most := 1.0
	for _, r := range c.Rows {
		most = max(most, r.Pooled, r.Median)
	}
	for _, r := range c.Rows {
		v.Cost = append(v.Cost, bar{
			Policy: r.Policy, Text: fmt.Sprintf("%s, median session %s, %d rewrites", replay.Share(r.Pooled), replay.Share(r.Median), r.Rewrites),
			Width: 100 * r.Pooled / most, Mark: 100 * r.Median / most, HasMark: true, Class: class(r.Policy),
		})
	}
}

// scatter places the policies by cost and recall, in the part of the plane where
// they are. Those that lie together share a name.
func (v *view) scatter(rows []replay.Row, c *replay.Costs) {
	if c == nil || len(c.Sessions) == 0 {
		return
	}
	const together = .012
	type place struct {
		cost, recall float64
		names        []string
	}
	var places []*place
	for _, k := range rows {
		i := slices.IndexFunc(c.Rows, func(r replay.CostRow) bool { return r.Policy == k.Policy })
		if i < 0 || k.Contextual.N == 0 {
			continue
		}
		cost, recall := c.Rows[i].Pooled, k.Contextual.Value
		near := slices.IndexFunc(places, func(p *place) bool { return abs(p.cost-cost) < together && abs(p.recall-recall) < together })
		if near >= 0 {
			places[near].names = append(places[near].names, k.Policy)
		} else {
			places = append(places, &place{cost, recall, []string{k.Policy}})
		}
	}
	if len(places) < 2 {
		return
	}
	x, y := newScale(places[0].cost), newScale(places[0].recall)
	for _, p := range places {
		x.take(p.cost)
		y.take(p.recall)
	}
	x.widen()
	y.widen()
	for _, p := range places {
		d := dot{Policy: strings.Join(p.names, ", "), X: x.at(p.cost), Y: 100 - y.at(p.recall), Class: class(p.names[0])}
		d.Left = d.X > 55
		v.Dots = append(v.Dots, d)
	}
	// Names of dots side by side would cover each other on a narrow screen.
	slices.SortStableFunc(v.Dots, func(a, b dot) int { return cmp.Compare(a.X, b.X) })
	for i := range v.Dots {
		d := &v.Dots[i]
		for j := range i {
			if b := v.Dots[j]; abs(b.Y-d.Y) < 10 && d.X-b.X < 30 {
				d.Below = !b.Below
			}
		}
	}
	v.Across, v.Up = x.ticks(), y.ticks()
}

// scale is the part of an axis that is drawn.
type scale struct{ from, to float64 }

func newScale(f float64) scale { return scale{f, f} }

func (s *scale) take(f float64) { s.from, s.to = min(s.from, f), max(s.to, f) }

// widen goes to the next round numbers.
func (s *scale) widen() {
	const step = .1
	s.from = math.Floor(s.from/step-.2) * step
	s.to = math.Ceil(s.to/step+.2) * step
	s.from = max(s.from, 0)
}

func (s *scale) at(f float64) float64 { return 100 * (f - s.from) / (s.to - s.from) }

func (s *scale) ticks() []tick {
	var out []tick
	for i := math.Round(10 * s.from); i <= math.Round(10*s.to); i++ {
		out = append(out, tick{s.at(i / 10), replay.Share(i / 10)})
	}
	return out
}

func abs(f float64) float64 { return max(f, -f) }
