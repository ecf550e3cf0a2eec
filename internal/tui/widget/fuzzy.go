package widget

import "strings"

// fuzzy says how well a word fits a text, both in lower case: the higher the
// better. The word must be in the text, or its characters in their order.
func fuzzy(word, text string) (score int, ok bool) {
	if k := strings.Index(text, word); k >= 0 {
		score = 1000 - min(k, 500)
		if k == 0 || strings.ContainsRune(" /-_.:@", rune(text[k-1])) {
			score += 500
		}
		return score, true
	}
	at, gaps := 0, 0
	for i, r := range word {
		k := strings.IndexRune(text[at:], r)
		if k < 0 {
			return 0, false
		}
		if i > 0 && k > 0 {
			gaps += k
		}
		at += k + len(string(r))
	}
	// Letters strewn over a long text are no match.
	if gaps > 3*len(word) {
		return 0, false
	}
	return 400 - min(gaps, 300), true
}

// fuzzyWords says how well all words of a query fit a text in lower case.
func fuzzyWords(words []string, text string) (score int, ok bool) {
	for _, w := range words {
		s, ok := fuzzy(w, text)
		if !ok {
			return 0, false
		}
		score += s
	}
	return score, true
}
