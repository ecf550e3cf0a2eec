package recall

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// parsed is the text of a query.
type parsed struct {
	terms   []queryTerm
	at      map[string]int // the number of a term, by its text
	phrases []string       // folded
}

type queryTerm struct {
	text string
	hash bool // also asks for the hashes that begin so, and for those that it begins with
	must bool // it is a word of a phrase
}

// parse reads the text of a query. Any text is a query.
func parse(s string) parsed {
	if len(s) > maxQuery {
		s = text.Head(s, maxQuery)
	}
	p := parsed{at: map[string]int{}}
	w := splitter{}
	must := false
	w.emit = func(term []byte, from, to int, k kind) {
		if k == kindPart && isAt(string(term), 0, charWide) {
			return // the pairs say more
		}
		need := must && len(term) > 1 && (k == kindWord || k == kindHash)
		if i, ok := p.at[string(term)]; ok {
			p.terms[i].must = p.terms[i].must || need
			return
		}
		p.at[string(term)] = len(p.terms)
		digits, letters := hexDigits(term) // digits or letters alone may begin a hash
		p.terms = append(p.terms, queryTerm{text: string(term), hash: k == kindHash || digits+letters >= minHash, must: need})
	}
	for s != "" {
		before, rest, ok := strings.Cut(s, `"`)
		phrase, after, closed := strings.Cut(rest, `"`)
		if !ok || !closed {
			w.split(s)
			break
		}
		must = false
		w.split(before)
		if folded := foldPhrase(phrase); folded != "" {
			must = true
			w.split(phrase)
			p.phrases = append(p.phrases, folded)
		}
		must, s = false, after
	}
	return p
}

// folded calls fn with each character of a text in the form in which phrases are
// compared: folded, and with one space for any white space between two characters. from
// and to are the bytes of the text that it stands for.
func folded(s string, fn func(r rune, from, to int)) {
	space := -1 // where the white space before began
	begun := false
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if unicode.IsSpace(r) {
			if space < 0 {
				space = i
			}
			i += n
			continue
		}
		if space >= 0 && begun {
			fn(' ', space, i)
		}
		space, begun = -1, true
		fn(fold(r), i, i+n)
		i += n
	}
}

// foldPhrase returns a text as findPhrase takes it.
func foldPhrase(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	folded(s, func(r rune, _, _ int) { b.WriteRune(r) })
	return b.String()
}

// findPhrase returns where a folded phrase stands in a text, in bytes, or -1. Its time is
// proportional to the text, whatever the two are.
func findPhrase(s, phrase string) (from, to int) {
	at := strings.Index(foldPhrase(s), phrase)
	if at < 0 {
		return -1, -1
	}
	n := 0
	from, to = -1, -1
	folded(s, func(r rune, a, b int) {
		if n == at {
			from = a
		}
		if n += utf8.RuneLen(r); n == at+len(phrase) {
			to = b
		}
	})
	return from, to
}

// snippet returns the part of a text, at most size bytes, that has most of the words of
// a query, rare ones counting more. With phrases, it is the place of the first.
func (x *Index) snippet(s string, p parsed, size int) (snippet string, offset, total int) {
	from, to := x.bestPlace(s, p, size)
	from, to = widen(s, from, to, size)
	offset = utf8.RuneCountInString(s[:from])
	total = offset + utf8.RuneCountInString(s[from:])
	snippet = text.Line(s[from:to])
	if from > 0 {
		snippet = text.Ellipsis + snippet
	}
	if to < len(s) {
		snippet += text.Ellipsis
	}
	return snippet, offset, total
}

// match is a place where a term of a query stands.
type match struct {
	from, to int
	term     int
}

// bestPlace returns what the best size bytes of a text match.
func (x *Index) bestPlace(s string, p parsed, size int) (from, to int) {
	if len(p.phrases) > 0 {
		if a, b := findPhrase(s, p.phrases[0]); a >= 0 {
			return a, min(b, a+size)
		}
	}
	worth := make([]float64, len(p.terms))
	for i, t := range p.terms {
		df := 0.5
		if v, ok := x.termAt[t.text]; ok {
			df = float64(x.terms[v].df)
		}
		worth[i] = math.Log(1 + float64(x.alive+1)/df)
	}
	var window []match // matches within size bytes, by where they begin
	in := make([]int, len(p.terms))
	value, best := 0.0, 0.0
	w := splitter{}
	w.emit = func(term []byte, a, b int, k kind) {
		i := p.matching(term, k)
		if i < 0 {
			return
		}
		b = min(b, a+size)
		for len(window) > 0 && b-window[0].from > size {
			if in[window[0].term]--; in[window[0].term] == 0 {
				value -= worth[window[0].term]
			}
			window = window[1:]
		}
		if in[i]++; in[i] == 1 {
			value += worth[i]
		}
		window = append(window, match{a, b, i})
		if value > best+1e-9 {
			best, from, to = value, a, b
			for _, m := range window {
				from, to = min(from, m.from), max(to, m.to)
			}
		}
	}
	w.split(s)
	return from, min(to, from+size)
}

// matching returns the number of the query's term that a term of a text matches, or -1.
func (p *parsed) matching(term []byte, k kind) int {
	if i, ok := p.at[string(term)]; ok {
		return i
	}
	if k != kindHash {
		return -1
	}
	return slices.IndexFunc(p.terms, func(t queryTerm) bool {
		return t.hash && (strings.HasPrefix(t.text, string(term)) || strings.HasPrefix(string(term), t.text))
	})
}

// widen extends a part of a text to size bytes on both sides, to whole words if it can.
func widen(s string, from, to, size int) (int, int) {
	room := max(size-(to-from), 0)
	before := min(room/3, from)
	after := min(room-before, len(s)-to)
	before = min(room-after, from)
	// Cut at a space when one is near, and never inside a character.
	a := from - len(text.Tail(s[:from], before))
	b := to + len(text.Head(s[to:], after))
	for a < b && a > 0 && !utf8.RuneStart(s[a]) {
		a++
	}
	for b > a && b < len(s) && !utf8.RuneStart(s[b]) {
		b--
	}
	return a, b
}
