package recall

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// snippet returns the part of a text, size bytes at most, in which most of the
// words of a query stand, the rare ones counting most. With phrases, it is where
// the first of them stands.
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
	if len(p.terms) == 0 {
		return 0, 0
	}
	index := make(map[string]int, len(p.terms))
	worth := make([]float64, len(p.terms))
	var hashes []int
	for i, t := range p.terms {
		index[t.text] = i
		if t.hash {
			hashes = append(hashes, i)
		}
		df := 0.5
		if v := x.dict.find([]byte(t.text)); v >= 0 {
			df = float64(x.dict.terms[v].df)
		}
		worth[i] = math.Log(1 + float64(x.alive+1)/df)
	}
	var window []match // matches within size bytes, by where they begin
	in := make([]int, len(p.terms))
	value, best := 0.0, 0.0
	w := splitter{}
	w.emit = func(term []byte, a, b int, k kind) {
		i, ok := index[string(term)]
		for _, h := range hashes {
			if ok {
				break
			}
			if t := p.terms[h].text; k == kindHash && (strings.HasPrefix(t, string(term)) || strings.HasPrefix(string(term), t)) {
				i, ok = h, true
			}
		}
		if !ok {
			return
		}
		b = min(b, a+size)
		for len(window) > 0 && (b-window[0].from > size) {
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

// widen extends a part of a text to size bytes, on both sides, as far as words go.
func widen(s string, from, to, size int) (int, int) {
	room := max(size-(to-from), 0)
	before := min(room/3, from)
	after := min(room-before, len(s)-to)
	before = min(room-after, from)
	// No word is cut, where there is a space near; and no character.
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
