package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// narration lowers the weight of sentences in which the agent only announces
// its next call.
func narration(s string) float64 {
	if announce().MatchString(s) {
		return announces
	}
	return 1
}

var announce = text.Pattern(`(?i)^(?:ok(?:ay)?[,.]? |now,? |first,? |good[,.!]? |great[,.!]? |perfect[,.!]? )*(?:let me|let's|i'll|i will|i need to|i can see|now i|让我|我来)\b`)

// unreadable reports whether a line is data rather than words: encoded, minified
// or drawn.
func unreadable(s string) bool {
	letters, others, run := 0, 0, 0
	for _, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			letters++
		case r != ' ':
			others++
		}
		if r == ' ' || r > 0x2e80 {
			run = 0
		} else if run++; run > 120 {
			return true
		}
	}
	return letters < 8 || others > 2*letters
}

// forbidden reports whether a line holds a tag that wrappers of summaries and
// prompts are made of.
func forbidden(s string) bool {
	return strings.IndexByte(s, '<') >= 0 && wrapperTag().MatchString(s)
}

var wrapperTag = text.Pattern(`(?i)</?(?:summary|conversation|previous-summary|system-reminder|system|user|assistant|instructions?|context|read-files|modified-files)\b[^<>]{0,100}>`)

func wordMap(instructions string) map[string]bool {
	m := map[string]bool{}
	for w := range contentWords(instructions) {
		m[w] = true
	}
	return m
}

// contentWords yields the words of a text that say what it is about, in lower
// case; of scripts without spaces, pairs of characters.
func contentWords(s string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, w := range contentWordsAt(s) {
			if !yield(strings.ToLower(w)) {
				return
			}
		}
	}
}

// contentWordsAt yields them as written, and where they stand.
func contentWordsAt(s string) func(func(int, string) bool) {
	return func(yield func(int, string) bool) {
		word := func(from, to int) bool {
			w := s[from:to]
			return len(w) < 3 || stopWords()[strings.ToLower(w)] || yield(from, w)
		}
		from, before := -1, 0
		var prev rune
		for i, r := range s {
			latin := r < 0x80 && wordByte[r] || r >= 0x80 && r < 0x2e80 && (unicode.IsLetter(r) || unicode.IsDigit(r))
			if latin && from < 0 {
				from = i
			}
			if !latin && from >= 0 {
				if !word(from, i) {
					return
				}
				from = -1
			}
			if r >= 0x1100 && text.Wide(r) && text.Wide(prev) && !yield(before, s[before:i+utf8.RuneLen(r)]) {
				return
			}
			prev, before = r, i
		}
		if from >= 0 {
			word(from, len(s))
		}
	}
}

// wordByte holds the ASCII characters of words.
var wordByte = func() (t [128]bool) {
	for c := range 128 {
		t[c] = c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
	}
	return t
}()

// wordCounter finds the plain words of a line: those outside of identifiers.
type wordCounter struct {
	s    string
	from int
	n    int
}

// skip counts up to an identifier and goes on after it. The words are added to
// spots, if it is not nil.
func (w *wordCounter) skip(from, to int, spots *[]spot) {
	if from > w.from {
		w.scan(w.from, from, spots)
	}
	w.from = max(w.from, to)
}

func (w *wordCounter) scan(from, to int, spots *[]spot) {
	for at, word := range contentWordsAt(w.s[from:to]) {
		w.n++
		if end := from + at + len(word); spots != nil && end < 1<<16 {
			*spots = append(*spots, spot{uint16(from + at), uint16(end), -1})
		}
	}
}

// end counts what is left up to a place, and returns how many there were.
func (w *wordCounter) end(at int, spots *[]spot) int {
	w.skip(min(at, len(w.s)), len(w.s), spots)
	return w.n
}
