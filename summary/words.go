package summary

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/text"
)

// narration lowers the weight of sentences in which the agent only announces
// its next call.
func narration(s string) float64 {
	if announce.MatchString(s) {
		return announces
	}
	return 1
}

var announce = regexp.MustCompile(`(?i)^(?:ok(?:ay)?[,.]? |now,? |first,? |good[,.!]? |great[,.!]? |perfect[,.!]? )*(?:let me|let's|i'll|i will|i need to|i can see|now i|让我|我来)\b`)

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
	return strings.IndexByte(s, '<') >= 0 && wrapperTag.MatchString(s)
}

var wrapperTag = regexp.MustCompile(`(?i)</?(?:summary|conversation|previous-summary|system-reminder|system|user|assistant|instructions?|context|read-files|modified-files)\b[^<>]{0,100}>`)

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
		word := func(w string) bool {
			w = strings.ToLower(w)
			return len(w) < 3 || stopWords[w] || yield(w)
		}
		from := -1
		var prev rune
		for i, r := range s {
			latin := r < 0x2e80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
			if latin && from < 0 {
				from = i
			}
			if !latin && from >= 0 {
				if !word(s[from:i]) {
					return
				}
				from = -1
			}
			if text.Wide(r) && text.Wide(prev) && !yield(string([]rune{prev, r})) {
				return
			}
			prev = r
		}
		if from >= 0 {
			word(s[from:])
		}
	}
}

// wordCounter counts the plain words of a line: those outside of identifiers.
type wordCounter struct {
	s    string
	from int
	n    int
}

// skip counts up to an identifier and goes on after it.
func (w *wordCounter) skip(from, to int) {
	if from > w.from {
		w.scan(w.s[w.from:from])
	}
	w.from = max(w.from, to)
}

func (w *wordCounter) scan(s string) {
	for range contentWords(s) {
		w.n++
	}
}

func (w *wordCounter) count() int {
	w.skip(len(w.s), len(w.s))
	return w.n
}
