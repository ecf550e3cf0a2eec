package summary

import (
	"slices"
	"strings"
)

const maxStatement = 300 // runes of a statement in a section

// constraints offers the user's rules, oldest first: those of the ledger, and
// those that an earlier summary had besides. One that was taken back is marked,
// not dropped.
func (d *digest) constraints() []piece {
	var all []piece
	seen := map[string]int{}
	add := func(l Line) {
		key := strings.ToLower(l.Text)
		if k, ok := seen[key]; ok {
			all[k].line.Replaced = all[k].line.Replaced || l.Replaced
			return
		}
		seen[key] = len(all)
		all = append(all, piece{kind: kindConstraints, line: l, order: len(all)})
	}
	if d.prev != nil {
		for _, l := range d.prev.Constraints {
			add(l)
		}
	}
	for _, r := range d.led.Rules {
		add(Line{Text: r.Text, Ref: d.refs.of(r.Entry), Replaced: r.Replaced})
	}
	return all
}

// unquotedFirst orders statements by importance: first those that no quote
// holds, newest first.
func unquotedFirst(all []piece, quoted map[string]bool) []piece {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b piece) int {
		qa, qb := quoted[a.line.Ref], quoted[b.line.Ref]
		if qa != qb {
			if qa {
				return 1
			}
			return -1
		}
		if a.line.Replaced != b.line.Replaced {
			if a.line.Replaced {
				return 1
			}
			return -1
		}
		return b.order - a.order
	})
	return all
}

// clip brings a statement to the length of a line.
func clip(s string) string { return clipName(oneLine(s), maxStatement) }
