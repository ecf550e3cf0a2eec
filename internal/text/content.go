package text

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CommonWords say nothing about what a sentence is about.
const CommonWords = `the and for that this with from are was were but you your can will has have had
	its all any our out one into then than when what which where who how why just also some more most other
	there here they them their these those very really please should would could must never always only
	instead make sure dont don not use using used let lets now okay yes want need about after before like
	does did doing been being because still even each same such both over under again thing things way
	actually rather longer change changed back `

// ContentWords yields the words of s that say what it is about, as they are written: those of
// three bytes or more that are not among the common ones, and of scripts without spaces pairs
// of characters.
func ContentWords(s string, common map[string]bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		says := func(w string) bool { return len(w) >= 3 && !common[strings.ToLower(w)] }
		from, before := -1, 0 // of the word, and of the character before
		var prev rune
		for i, r := range s {
			in := r < 0x80 && charOf[r]&inWord != 0 || r >= 0x80 && r < 0x2e80 && (unicode.IsLetter(r) || unicode.IsDigit(r))
			if in && from < 0 {
				from = i
			}
			if !in && from >= 0 {
				if says(s[from:i]) && !yield(s[from:i]) {
					return
				}
				from = -1
			}
			if Wide(r) && Wide(prev) && !yield(s[before:i+utf8.RuneLen(r)]) {
				return
			}
			prev, before = r, i
		}
		if from >= 0 && says(s[from:]) {
			yield(s[from:])
		}
	}
}

// Subject returns the words that ContentWords yields, in lower case.
func Subject(s string, common map[string]bool) map[string]bool {
	m := map[string]bool{}
	for w := range ContentWords(s, common) {
		m[strings.ToLower(w)] = true
	}
	return m
}
