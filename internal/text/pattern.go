package text

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Pattern returns what returns a regular expression. It is compiled when it is asked for
// first: a program that needs none should not start later for it. An expression that is
// no good panics then.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Words returns a function that returns the words of a list, which are separated by
// white space. As with Pattern, the set is made when it is asked for first.
func Words(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for w := range strings.FieldsSeq(list) {
			m[w] = true
		}
		return m
	})
}

// Wording matches any of some words, as regular expressions, and any of some texts in
// scripts without spaces. An expression is tried only where a word begins as one of them.
type Wording struct {
	words  func() *regexp.Regexp
	begins func() map[string]bool // the first two characters of the words
	wide   []string
}

// NewWording takes the expressions and the texts, each with | between them.
func NewWording(words, wide string) Wording {
	begins := sync.OnceValue(func() map[string]bool {
		m, depth := map[string]bool{words[:2]: true}, 0
		for i, c := range words {
			switch {
			case c == '(':
				depth++
			case c == ')':
				depth--
			case c == '|' && depth == 0:
				m[words[i+1:i+3]] = true
			}
		}
		return m
	})
	return Wording{Pattern(`^(?i:` + words + `)(?:\W|$)`), begins, strings.Split(wide, "|")}
}

// MatchString reports whether s has one of them.
func (w Wording) MatchString(s string) bool {
	begins := w.begins()
	ascii, before := true, false // whether a character of a word stood before
	for i := range len(s) {
		c := s[i]
		ascii = ascii && c < 0x80
		in := charOf[c]&inWord != 0
		if in && !before && i+1 < len(s) && begins[string([]byte{c | 0x20, s[i+1] | 0x20})] && w.words().MatchString(s[i:]) {
			return true
		}
		before = in
	}
	return !ascii && slices.ContainsFunc(w.wide, func(t string) bool { return strings.Contains(s, t) })
}
