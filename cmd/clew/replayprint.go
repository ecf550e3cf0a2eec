package main

import (
	"bufio"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/replay"
	"github.com/clew-dev/clew/internal/replay/measure"
)

func measuredText(m measure.Measured) string {
	if !m.OK {
		return "-"
	}
	return replay.Share(m.Value)
}

// replayed is what replay prints.
type replayed struct {
	*replay.Report
	curve []curvePoint
	in    *replayInput
}

// text is the table, and what was not measured and why.
func (played *replayed) text(rep *report) {
	w, r := rep.w, played.Report
	free := r.Rows(false)
	points, sessions := r.Count(false)
	fmt.Fprintf(w, "%s in %s; %s tokens a text, a tail of %s.\n", count(points, "point"), count(sessions, "session"), number(int64(r.Budget)), number(int64(r.Tail)))
	if s := r.Support(); s.Points > 0 {
		rep.sentence("The agent needed %s of what was dropped (%s); all of it would score %s in cCR.",
			count(s.Needs, "identifier"), classText(free[0].ByClass), replay.Share(s.Ceiling.Value))
		w.WriteString("\n")
	}
	kept, costs := replay.Columns(), replay.Columns()
	kept = slices.DeleteFunc(kept, replay.Column.OfCost)
	if lines := r.Lines(false); rep.wide >= wholeTable {
		writeReplayTable(rep, lines, costs)
	} else {
		writeReplayTable(rep, lines[:len(free)], kept)
		costs = costs[len(kept):]
		lines = slices.DeleteFunc(lines, func(l replay.Line) bool { return l.Figure(costs[0], "", strconv.Itoa) == "" })
		if len(lines) > 0 {
			w.WriteString("\n")
			writeReplayTable(rep, lines, costs)
		}
	}
	writeIntervals(rep, free)
	writeCurve(w, played.curve)
	if k := free[0]; k.Fresh.N < k.Points && k.Points > 0 {
		fmt.Fprintf(w, "fresh of %s: measured at %s\n", printable(k.Policy), count(k.Fresh.N, "point"))
	}
	writeReplayGates(w, free)
	if groups := r.Groups(r.Policies[0]); len(groups) > 1 {
		var parts []string
		for _, g := range groups {
			parts = append(parts, fmt.Sprintf("%s %s (%d)", g.Name, replay.Share(g.Contextual.Value), g.Sessions))
		}
		fmt.Fprintf(w, "\ncCR of %s by format, and sessions: %s\n", printable(r.Policies[0]), printable(strings.Join(parts, ", ")))
	}
	if n, of := r.Count(true); n > 0 {
		fmt.Fprintf(w, "\nWhere the recorded program compacted itself (%s in %s), with as many tokens as its summary took:\n\n", count(n, "point"), count(of, "session"))
		writeReplayTable(rep, r.Lines(true), kept)
	}
	writeReplayNotes(rep, r, played.in)
}

// writeCurve says how cCR grows with the budget.
func writeCurve(w *bufio.Writer, curve []curvePoint) {
	for i, c := range curve {
		if i == 0 {
			fmt.Fprintf(w, "\ncCR by budget\n")
		}
		fmt.Fprintf(w, "%8s", number(int64(c.Budget)))
		for _, name := range slices.Sorted(maps.Keys(c.CCR)) {
			if c.CCR[name] > 0 {
				fmt.Fprintf(w, "  %s %s", printable(name), replay.Share(c.CCR[name]))
			}
		}
		w.WriteString("\n")
	}
}

// writeIntervals says how far chance in the choice of sessions moves the figures.
func writeIntervals(rep *report, rows []replay.Row) {
	var parts []string
	for i := range rows {
		if low, high, ok := rows[i].Interval(); ok && high > 0 {
			parts = append(parts, fmt.Sprintf("%s %s to %s", rows[i].Policy, replay.Share(low), replay.Share(high)))
		}
	}
	if len(parts) > 0 {
		rep.w.WriteString("\n")
		rep.sentence("95%% intervals of cCR over sessions: %s", strings.Join(parts, ", "))
	}
}

// writeReplayGates says where a policy, baselines aside, does not do what is asked of
// every text.
func writeReplayGates(w *bufio.Writer, rows []replay.Row) {
	lead := "\n"
	for i := range rows {
		bad := rows[i].Gates.Missed()
		if len(bad) == 0 || slices.Contains(replay.BaselineNames(), rows[i].Policy) {
			continue
		}
		fmt.Fprintf(w, "%s%s: %s\n", lead, printable(rows[i].Policy), strings.Join(bad, ", "))
		lead = ""
	}
}

// classText says which share of the needs is of each class, where it is a few
// percent.
func classText(classes [measure.NumClasses]measure.ClassScore) string {
	all := 0
	for _, c := range classes {
		all += c.Needs
	}
	order := make([]int, len(classes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return classes[b].Needs - classes[a].Needs })
	var parts []string
	for _, i := range order {
		if percent := 100 * classes[i].Needs / max(all, 1); percent >= 3 {
			parts = append(parts, fmt.Sprintf("%s %d%%", measure.Class(i), percent))
		}
	}
	return strings.Join(parts, ", ")
}

// wholeTable is how wide the table is; where there is less room it is two, of what policies
// keep and of what they cost.
const wholeTable = 118

func writeReplayTable(rep *report, lines []replay.Line, columns []replay.Column) {
	const names = 14
	wide := func(c replay.Column) int { return max(len(c.Title)+1, 5) }
	head := pad("policy", names)
	for _, c := range columns {
		head += padLeft(c.Title, wide(c))
	}
	rep.line(rep.p.paint(styleBold, head))
	for _, l := range lines {
		text := pad(l.Policy, names)
		for _, c := range columns {
			text += padLeft(l.Figure(c, "-", func(n int) string { return number(int64(n)) }), wide(c))
		}
		rep.line(text)
	}
}

// writeReplayNotes says what the figures do not hold.
func writeReplayNotes(rep *report, r *replay.Report, in *replayInput) {
	w := rep.w
	if c := r.Costs; c != nil && len(c.Sessions) > 0 {
		w.WriteString("\n")
		rep.sentence("Costs: %s of at least %s tokens, rewritten at %s, prices %s, relative to never rewriting, with what has to be read again.",
			count(len(c.Sessions), "session"), number(int64(c.Options.MinTokens)), number(int64(c.Options.Window)), printable(c.Options.Prices.Name))
		for _, g := range c.Options.Prices.Gaps {
			fmt.Fprintf(w, "prices: %s\n", printable(g))
		}
		for _, m := range c.Unpriced {
			if m == "" {
				m = "sessions that name no model"
			}
			fmt.Fprintf(w, "prices: none for %s; Anthropic's were taken, in proportion\n", printable(m))
		}
	}
	writeMeterNotes(w, r)
	for i, n := range slices.Concat(in.unread, in.damaged, r.Notes()) {
		if i == 0 {
			w.WriteString("\n")
		}
		fmt.Fprintf(w, "%s: %s\n", printable(n.Path), printable(n.Why))
	}
	if in.passed > 0 {
		fmt.Fprintf(w, "\npassed over %s that are not sessions\n", count(in.passed, "file"))
	}
}

// writeMeterNotes says how far estimates of tokens are from what providers reported.
func writeMeterNotes(w *bufio.Writer, r *replay.Report) {
	percent := func(f float64) string {
		if math.IsNaN(f) {
			return "-"
		}
		decimals := 0
		if f < 0.01 { // to tell small ones apart
			decimals = 2
		}
		return fmt.Sprintf("%.*f%%", decimals, 100*f)
	}
	for i := range r.Meter {
		e := &r.Meter[i].Errors
		if i == 0 {
			fmt.Fprintf(w, "\nMeter: %s with usage; medians of errors.\n", count(e.Calls, "call"))
		}
		fmt.Fprintf(w, "%-11s anchored %s (95%%: %s), growth %s, calibrated %s, slices %s\n", r.Meter[i].Name,
			percent(e.Anchored.Median()), percent(e.Anchored.Quantile(.95)), percent(e.Growth.Median()), percent(e.Learned.Median()), percent(e.Slices.Median()))
	}
}

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
