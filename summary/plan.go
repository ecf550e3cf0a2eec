package summary

import (
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// next offers what is to be done: open todos, else the plan in the latest
// answers, else what an earlier summary had.
func (d *digest) next() []piece {
	var out []piece
	add := func(l Line) {
		out = append(out, piece{kind: kindNext, line: l, order: len(out)})
	}
	for _, t := range d.led.Todos {
		if t.Status == ledger.TodoOpen {
			add(Line{Text: t.Text, Ref: d.refs.of(t.Entry)})
		}
	}
	if len(out) > 0 {
		return out
	}
	looked := 0
	for i := len(d.msgs) - 1; i >= 0 && looked < 5; i-- {
		m := d.msgs[i]
		if m.Role != message.RoleAssistant {
			continue
		}
		if len(m.said) == 0 {
			continue
		}
		looked++
		for _, s := range planLines(text.OutsideFences(redact.Text(text.Plain(m.Text())))) {
			add(Line{Text: clip(s), Ref: m.ref})
		}
		if looked == 1 && len(out) == 0 {
			st := m.said
			for _, s := range st[max(0, len(st)-4):] {
				if (planWord().MatchString(s) || strings.HasSuffix(s, "?")) && len(s) > 15 && !text.TableRow(s) {
					add(Line{Text: clip(strings.TrimSuffix(s, ":")), Ref: m.ref})
				}
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	if d.prev != nil {
		for _, l := range d.prev.Next {
			add(l)
		}
	}
	return out
}

// planLines returns the items of a list that stands under a line that announces
// a plan, at most ten.
func planLines(s string) []string {
	var out []string
	in := false
	for line := range strings.SplitSeq(s, "\n") {
		t := strings.TrimSpace(line)
		switch {
		case t == "":
		case text.ListMark(line) != "":
			if in && len(out) < 10 && !strings.Contains(line, "[x]") && !strings.Contains(line, "✅") {
				out = append(out, strings.TrimSpace(line[len(text.ListMark(line)):]))
			}
		default:
			if in && len(out) > 0 {
				return out
			}
			in = planIntro().MatchString(t) && len(t) < 120
		}
	}
	return out
}

// decisions offers sentences that say how something was settled, or why, the
// clearest and newest first, at most two of a message.
func (d *digest) decisions() []piece {
	type found struct {
		piece
		score float64
	}
	var all []found
	seen := map[string]bool{}
	if d.prev != nil {
		n := len(d.prev.Decisions)
		for i, l := range d.prev.Decisions {
			seen[strings.ToLower(l.Text)] = true
			all = append(all, found{piece{kind: kindDecisions, line: l, order: i - n}, 0.5})
		}
	}
	index := d.index()
	for k, st := range d.led.Decisions {
		t := st.Text
		if seen[strings.ToLower(t)] || announce().MatchString(t) || forbidden(t) || unreadable(t) {
			continue
		}
		seen[strings.ToLower(t)] = true
		i := at(index, st.Entry)
		score := float64(max(st.Weight, 1)) * (0.5 + 0.5*float64(i+1)/float64(max(len(d.msgs), 1)))
		if hasIdentifier(t) {
			score *= 1.5
		}
		if i >= 0 && d.msgs[i].UserWords() {
			score *= 0.7
		}
		all = append(all, found{piece{
			kind: kindDecisions, line: Line{Text: clip(t), Ref: d.refs.of(st.Entry)}, order: 1000*i + min(k, 999),
		}, score})
	}
	slices.SortStableFunc(all, func(a, b found) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return b.order - a.order
	})
	out := make([]piece, 0, len(all))
	for _, f := range all {
		out = append(out, f.piece)
	}
	return out
}

func hasIdentifier(s string) bool {
	for range text.Identifiers(s) {
		return true
	}
	return false
}
