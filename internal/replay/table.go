package replay

import (
	"fmt"
	"slices"
	"strings"
)

// Column is a figure of the table: what a policy keeps, or what it costs.
type Column struct {
	Title, Hint string
	kept        func(r *Row) any // a Mean, a number or a text
	cost        func(r *CostRow) any
}

// Columns returns the columns of the table, those of costs last.
func Columns() []Column {
	kept := func(title, hint string, get func(r *Row) any) Column { return Column{title, hint, get, nil} }
	cost := func(title, hint string, get func(r *CostRow) any) Column { return Column{title, hint, nil, get} }
	return []Column{
		kept("cCR", "contextual recall: identifiers the agent needed next that are there among words they stood among", func(r *Row) any { return r.Contextual }),
		kept("CR", "recall: identifiers the agent needed next that are there", func(r *Row) any { return r.Recall }),
		kept("IR", "instruction retention: sentences of the user that are there word for word", func(r *Row) any { return r.Instructions }),
		kept("IR-c", "the same, of sentences that oblige or forbid", func(r *Row) any { return r.Constraints }),
		kept("trail", "F1 of the files and what was done to them", func(r *Row) any { return r.TrailF1 }),
		kept("fresh", "of what had several states, the last one is given", func(r *Row) any { return r.Fresh }),
		kept("made up", "identifiers that were in nothing the policy was given", func(r *Row) any {
			if r.Foreign.N == 0 {
				return r.Foreign
			}
			return strings.TrimPrefix(fmt.Sprintf("%.4f", r.Foreign.Value), "0")
		}),
		kept("plain", "share of plain words and structure", func(r *Row) any { return r.Plain }),
		kept("junk", "share of lines that say nothing", func(r *Row) any { return r.Junk }),
		kept("decay", "contextual recall lost between one and three compactions in a row", func(r *Row) any {
			d, ok := r.Decay()
			if !ok {
				return Mean{}
			}
			return fmt.Sprintf("%.0f%%", 100*d+0)
		}),
		kept("tokens", "mean size of the text", func(r *Row) any { return r.Tokens }),
		cost("cost", "relative to never rewriting, all sessions together", func(r *CostRow) any { return r.Pooled }),
		cost("median", "the same of the middle session", func(r *CostRow) any { return r.Median }),
		cost("rewrites", "how often the context was rewritten", func(r *CostRow) any { return r.Rewrites }),
		cost("context", "mean context at a call, in tokens", func(r *CostRow) any { return r.Mean }),
		cost("lost cache", "tokens of a cached context that a rewrite made worthless", func(r *CostRow) any { return r.Invalidated }),
	}
}

// OfCost reports whether a column is of what a policy costs.
func (c Column) OfCost() bool { return c.cost != nil }

// Line is a line of the table: what a policy keeps, what it costs, or both.
type Line struct {
	Policy, About string
	kept          *Row
	cost          *CostRow
}

// Lines returns the lines of the table: of the free points, with the costs, or of the
// recorded ones.
func (r *Report) Lines(recorded bool) []Line {
	var lines []Line
	kept := r.Rows(recorded)
	for i := range kept {
		lines = append(lines, Line{Policy: kept[i].Policy, About: kept[i].About, kept: &kept[i]})
	}
	if recorded || r.Costs == nil || len(r.Costs.Sessions) == 0 {
		return lines
	}
	for i := range r.Costs.Rows {
		c := &r.Costs.Rows[i]
		at := slices.IndexFunc(lines, func(l Line) bool { return l.Policy == c.Policy })
		if at < 0 {
			at, lines = len(lines), append(lines, Line{Policy: c.Policy, About: c.About})
		}
		lines[at].cost = c
	}
	return lines
}

// Figure writes a figure of a line: "" where the policy was not played for it, none where
// there was nothing to measure. number writes whole numbers.
func (l Line) Figure(c Column, none string, number func(n int) string) string {
	var v any
	switch {
	case c.kept != nil && l.kept != nil:
		v = c.kept(l.kept)
	case c.cost != nil && l.cost != nil:
		v = c.cost(l.cost)
	}
	switch v := v.(type) {
	case Mean:
		if v.N == 0 {
			return none
		}
		return Share(v.Value)
	case float64:
		return Share(v)
	case int:
		return number(v)
	case string:
		return v
	}
	return ""
}

// Share writes a figure between 0 and 1 as .62 and 1.00.
func Share(f float64) string { return strings.TrimPrefix(fmt.Sprintf("%.2f", f), "0") }

// Count counts the free points, or the recorded ones, and the sessions that have any.
func (r *Report) Count(recorded bool) (points, sessions int) {
	for _, s := range r.Sessions {
		n := 0
		for _, p := range s.Points {
			if p.Recorded == recorded {
				n++
			}
		}
		points += n
		sessions += min(n, 1)
	}
	return points, sessions
}

// Note says of a session or a file what the figures do not hold.
type Note struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Notes says which sessions, and which of their compactions, were not measured.
func (r *Report) Notes() (notes []Note) {
	for _, a := range r.Again {
		notes = append(notes, Note{a.Name, "the same session as " + a.Counted + ", which is counted"})
	}
	for _, s := range r.Sessions {
		if s.Skipped != "" {
			notes = append(notes, Note{s.Name, "not measured: " + s.Skipped})
		}
		for _, why := range s.SkippedRecorded {
			notes = append(notes, Note{s.Name, "a recorded compaction was not measured: " + why})
		}
	}
	return notes
}
