package main

import (
	"bufio"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/replay"
	"github.com/clew-dev/clew/internal/replay/measure"
)

// replayColumn is a column of the table: what it says of a policy, "" for nothing.
type replayColumn struct {
	title string
	width int
	text  func(r *replayRow) string
}

// replayRow is a line of the table: what a policy keeps, what it costs, or both.
type replayRow struct {
	name string
	kept *replay.Row
	cost *replay.CostRow
}

// shareText writes a figure between 0 and 1 as .62 and 1.00.
func shareText(f float64) string {
	return strings.TrimPrefix(fmt.Sprintf("%.2f", f), "0")
}

func measuredText(m measure.Measured) string {
	if !m.OK {
		return "-"
	}
	return shareText(m.Value)
}

func meanColumn(title string, width int, get func(r *replay.Row) replay.Mean) replayColumn {
	return replayColumn{title, width, func(r *replayRow) string {
		if r.kept == nil {
			return ""
		}
		m := get(r.kept)
		if m.N == 0 {
			return "-"
		}
		return shareText(m.Value)
	}}
}

func costColumn(title string, width int, get func(r *replay.CostRow) string) replayColumn {
	return replayColumn{title, width, func(r *replayRow) string {
		if r.cost == nil || r.cost.Sessions == 0 {
			return ""
		}
		return get(r.cost)
	}}
}

var keptColumns = []replayColumn{
	meanColumn("cCR", 6, func(r *replay.Row) replay.Mean { return r.Contextual }),
	meanColumn("CR", 5, func(r *replay.Row) replay.Mean { return r.Recall }),
	meanColumn("IR", 5, func(r *replay.Row) replay.Mean { return r.Instructions }),
	meanColumn("IR-c", 5, func(r *replay.Row) replay.Mean { return r.Constraints }),
	meanColumn("trail", 6, func(r *replay.Row) replay.Mean { return r.TrailF1 }),
	meanColumn("fresh", 6, func(r *replay.Row) replay.Mean { return r.Fresh }),
	{"made up", 8, func(r *replayRow) string {
		if r.kept == nil || r.kept.Foreign.N == 0 {
			return ""
		}
		return strings.TrimPrefix(fmt.Sprintf("%.4f", r.kept.Foreign.Value), "0")
	}},
	meanColumn("plain", 6, func(r *replay.Row) replay.Mean { return r.Plain }),
	meanColumn("junk", 5, func(r *replay.Row) replay.Mean { return r.Junk }),
	{"decay", 6, func(r *replayRow) string {
		if r.kept == nil {
			return ""
		}
		if d, ok := r.kept.Decay(); ok {
			return fmt.Sprintf("%.0f%%", 100*d+0)
		}
		return "-"
	}},
	{"tokens", 7, func(r *replayRow) string {
		if r.kept == nil {
			return ""
		}
		return number(int64(r.kept.Tokens))
	}},
}

var costColumns = []replayColumn{
	costColumn("cost", 6, func(r *replay.CostRow) string { return shareText(r.Pooled) }),
	costColumn("median", 7, func(r *replay.CostRow) string { return shareText(r.Median) }),
	costColumn("rewrites", 9, func(r *replay.CostRow) string { return number(int64(r.Rewrites)) }),
	costColumn("context", 8, func(r *replay.CostRow) string { return number(int64(r.Mean)) }),
	costColumn("lost cache", 11, func(r *replay.CostRow) string { return number(int64(r.Invalidated)) }),
}

// replayed is what replay prints.
type replayed struct {
	*replay.Report
	curve []curvePoint
	in    *replayInput
}

// text is the table, and what was not measured and why.
func (played *replayed) text(rep *report) {
	w, p, r := rep.w, rep.p, played.Report
	free, recorded := r.Rows(false), r.Rows(true)
	rows := replayRows(free, r.Costs)
	points, sessions := countPoints(r, false)
	fmt.Fprintf(w, "%s in %s; %s tokens a text, a tail of %s.\n", count(points, "point"), count(sessions, "session"), number(int64(r.Budget)), number(int64(r.Tail)))
	if s := r.Support(); s.Points > 0 {
		fmt.Fprintf(w, "The agent needed %s of what was dropped (%s); all of it would score %s in cCR.\n\n",
			count(s.Needs, "identifier"), classText(free[0].ByClass), shareText(s.Ceiling.Value))
	}
	writeReplayTable(w, p, rows, append(keptColumns[:len(keptColumns):len(keptColumns)], costColumns...))
	writeIntervals(w, free)
	writeCurve(w, played.curve)
	if k := free[0]; k.Fresh.N < k.Points && k.Points > 0 {
		fmt.Fprintf(w, "fresh of %s: measured at %s\n", printable(k.Policy), count(k.Fresh.N, "point"))
	}
	writeReplayGates(w, free)
	if groups := r.Groups(r.Policies[0]); len(groups) > 1 {
		var parts []string
		for _, g := range groups {
			parts = append(parts, fmt.Sprintf("%s %s (%d)", g.Name, shareText(g.Contextual.Value), g.Sessions))
		}
		fmt.Fprintf(w, "\ncCR of %s by format, and sessions: %s\n", printable(r.Policies[0]), printable(strings.Join(parts, ", ")))
	}
	if n, of := countPoints(r, true); n > 0 {
		fmt.Fprintf(w, "\nWhere the recorded program compacted itself (%s in %s), with as many tokens as its summary took:\n\n", count(n, "point"), count(of, "session"))
		writeReplayTable(w, p, replayRows(recorded, nil), keptColumns)
	}
	writeReplayNotes(w, r, played.in)
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
				fmt.Fprintf(w, "  %s %s", printable(name), shareText(c.CCR[name]))
			}
		}
		w.WriteString("\n")
	}
}

// writeIntervals says how far chance in the choice of sessions moves the figures.
func writeIntervals(w *bufio.Writer, rows []replay.Row) {
	var parts []string
	for i := range rows {
		if low, high, ok := rows[i].Interval(); ok && high > 0 {
			parts = append(parts, fmt.Sprintf("%s %s to %s", rows[i].Policy, shareText(low), shareText(high)))
		}
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, "\n95%% intervals of cCR over sessions: %s\n", printable(strings.Join(parts, ", ")))
	}
}

// writeReplayGates says where a policy, baselines aside, does not do what is asked of
// every text.
func writeReplayGates(w *bufio.Writer, rows []replay.Row) {
	first := true
	for i := range rows {
		r := &rows[i]
		if slices.Contains(replay.BaselineNames(), r.Policy) {
			continue
		}
		bad := r.Gates.Missed()
		if len(bad) == 0 {
			continue
		}
		if first {
			w.WriteString("\n")
			first = false
		}
		fmt.Fprintf(w, "%s: %s\n", printable(r.Policy), strings.Join(bad, ", "))
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

// replayRows puts what is kept and what it costs beside each other.
func replayRows(kept []replay.Row, costs *replay.Costs) []replayRow {
	var rows []replayRow
	used := map[string]bool{}
	for i := range kept {
		row := replayRow{name: kept[i].Policy, kept: &kept[i]}
		if costs != nil {
			for j := range costs.Rows {
				if costs.Rows[j].Policy == row.name {
					row.cost = &costs.Rows[j]
					used[row.name] = true
				}
			}
		}
		rows = append(rows, row)
	}
	if costs != nil && len(costs.Sessions) > 0 {
		for j := range costs.Rows {
			if c := &costs.Rows[j]; !used[c.Policy] {
				rows = append(rows, replayRow{name: c.Policy, cost: c})
			}
		}
	}
	return rows
}

func writeReplayTable(w *bufio.Writer, p painter, rows []replayRow, columns []replayColumn) {
	const names = 13
	head := pad("policy", names)
	for _, c := range columns {
		head += padLeft(c.title, c.width)
	}
	w.WriteString(p.paint(styleBold, head) + "\n")
	for i := range rows {
		line := pad(rows[i].name, names)
		for _, c := range columns {
			line += padLeft(c.text(&rows[i]), c.width)
		}
		w.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func countPoints(r *replay.Report, recorded bool) (points, sessions int) {
	for _, s := range r.Sessions {
		n := 0
		for _, p := range s.Points {
			if p.Recorded == recorded {
				n++
			}
		}
		points += n
		if n > 0 {
			sessions++
		}
	}
	return points, sessions
}

// writeReplayNotes says what the figures do not hold.
func writeReplayNotes(w *bufio.Writer, r *replay.Report, in *replayInput) {
	if c := r.Costs; c != nil && len(c.Sessions) > 0 {
		fmt.Fprintf(w, "\nCosts: %s of at least %s tokens, rewritten at %s, prices %s, relative to never rewriting, with what has to be read again.\n",
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
	notes := 0
	note := func(path, why string) {
		if notes++; notes == 1 {
			w.WriteString("\n")
		}
		fmt.Fprintf(w, "%s: %s\n", printable(path), printable(why))
	}
	for _, f := range in.unread {
		note(f.Path, f.Why)
	}
	for _, f := range in.damaged {
		note(f.Path, f.Why)
	}
	for _, a := range r.Again {
		note(a.Name, "the same session as "+a.Counted+", which is counted")
	}
	for _, s := range r.Sessions {
		if s.Skipped != "" {
			note(s.Name, "not measured: "+s.Skipped)
		}
		for _, why := range s.SkippedRecorded {
			note(s.Name, "a recorded compaction was not measured: "+why)
		}
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
		return fmt.Sprintf("%.*f%%", decimals(100*f), 100*f)
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

// decimals are enough to tell small percentages apart.
func decimals(percent float64) int {
	if percent < 1 {
		return 2
	}
	return 0
}
