package summary

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

const maxStatement = 300 // runes of a statement in a section

// constraints finds the sentences in which the user said how things are to be
// done, oldest first. One that a later sentence clearly takes back is marked, not
// dropped.
func (d *digest) constraints() []piece {
	var all []piece
	seen := map[string]bool{}
	add := func(l Line) {
		key := strings.ToLower(l.Text)
		if !seen[key] {
			seen[key] = true
			all = append(all, piece{kind: kindConstraints, line: l, order: len(all)})
		}
	}
	if d.prev != nil {
		for _, l := range d.prev.Constraints {
			add(l)
		}
	}
	for _, u := range d.users {
		if u.at < 0 && d.prev != nil {
			continue // its constraints are among those of the earlier summary
		}
		for _, s := range userStatements(u.quote.Text) {
			if constraintWord.MatchString(s) && !strings.ContainsAny(s, "?？") {
				add(Line{Text: s, Ref: u.quote.Ref})
			}
		}
	}
	markReplaced(all)
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
		return b.order - a.order
	})
	return all
}

// userStatements returns the sentences of a message of the user that may be
// instructions. What is pasted into it, indented or in fences, is none.
func userStatements(s string) []string {
	lines := strings.Split(text.OutsideFences(s), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool {
		return l != strings.TrimLeft(l, " \t") && text.ListMark(l) == ""
	})
	if len(lines) > 40 {
		lines = append(lines[:20:20], lines[len(lines)-20:]...)
	}
	var out []string
	for _, st := range text.Statements(strings.Join(lines, "\n")) {
		n := utf8.RuneCountInString(st)
		if n < 6 || n > maxStatement || strings.HasPrefix(st, "<") || strings.HasPrefix(st, "|") || unreadable(st) && n > 12 {
			continue
		}
		out = append(out, oneLine(st))
	}
	return out
}

// markReplaced marks constraints that a later one takes back: it says so, and
// both are clearly about the same.
func markReplaced(all []piece) {
	words := make([]map[string]bool, len(all))
	for i, p := range all {
		words[i] = map[string]bool{}
		for w := range contentWords(p.line.Text) {
			words[i][w] = true
		}
	}
	for k := range all {
		if !changeWord.MatchString(all[k].line.Text) {
			continue
		}
		for i := range k {
			if !sameEntry(all[i].line.Ref, all[k].line.Ref) && sameSubject(words[i], words[k]) {
				all[i].line.Replaced = true
			}
		}
	}
}

// sameSubject reports whether two sets of words are clearly about one thing: two
// thirds of the smaller set, and at least three words, are in both.
func sameSubject(a, b map[string]bool) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	both := 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	return both >= 3 && 3*both >= 2*len(a)
}

// clip brings a statement to the length of a line.
func clip(s string) string { return text.Clip(oneLine(s), maxStatement) }
