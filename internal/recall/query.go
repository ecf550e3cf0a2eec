package recall

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

type parsed struct {
	terms   []queryTerm
	at      map[string]int // the number of a term, by its text
	words   []queryWord
	phrases []string // folded
}

type queryTerm struct {
	text  string
	hash  bool    // also asks for the hashes that begin so, and for those that it begins with
	worth float64 // how much it counts where an excerpt is chosen
}

// queryWord is what stands between white space. A text has it when it has a term for the whole, or all its pieces.
type queryWord struct {
	text          string
	whole, pieces []int // numbers of terms
	must          bool  // it is a word of a phrase
}

// common are words that a question has and its answer need not have: passed over, unless there are no others.
var common = strings.Fields(" a an the of in on to is was were are be did do does what which who how when where why we i you it " +
	"and or for with by at from that this ever any about our my not ")

// parse reads the text of a query. Any text is a query.
func parse(s string) parsed {
	if len(s) > maxQuery {
		s = text.Head(s, maxQuery)
	}
	p := parsed{at: map[string]int{}}
	parts := strings.Split(s, `"`)
	for i, part := range parts {
		if i%2 == 0 || i == len(parts)-1 { // no quote closes the last
			p.add(part, false, common)
		} else if folded := foldPhrase(part); folded != "" {
			p.add(part, true, nil)
			p.phrases = append(p.phrases, folded)
		}
	}
	if len(p.terms)+len(p.phrases) == 0 {
		p.add(s, false, nil)
	}
	return p
}

// add puts the words of a text into the query, without those that are to be passed over.
func (p *parsed) add(s string, must bool, without []string) {
	for s := range strings.FieldsSeq(s) {
		if slices.Contains(without, strings.ToLower(s)) {
			continue
		}
		w := queryWord{text: s, must: must && len(s) > 1}
		var spans []match
		first, last := len(s), 0
		split := splitter{emit: func(term []byte, from, to int, k kind) {
			if k == kindPart && isAt(string(term), 0, charWide) {
				return // the pairs say more
			}
			i, ok := p.at[string(term)]
			if !ok {
				i = len(p.terms)
				p.at[string(term)] = i
				digits, letters := hexDigits(term) // digits or letters alone may begin a hash
				p.terms = append(p.terms, queryTerm{string(term), k == kindHash || digits+letters >= minHash, 1})
			}
			spans = append(spans, match{from, to, i, k})
			first, last = min(first, from), max(last, to)
		}}
		split.split(s)
		for _, m := range spans {
			switch {
			case m.from == first && m.to == last:
				w.whole = append(w.whole, m.term)
			case must && len(p.terms[m.term].text) == 1: // as a lone letter of a path it is no term
			case m.kind != kindCompound && (m.kind != kindPart || len(w.whole) > 0) && !slices.Contains(w.pieces, m.term):
				w.pieces = append(w.pieces, m.term)
			}
		}
		same := func(o queryWord) bool {
			return slices.Equal(o.whole, w.whole) && slices.Equal(o.pieces, w.pieces) && o.must == w.must
		}
		w.text = s[min(first, last):last]
		if len(w.whole)+len(w.pieces) > 0 && !slices.ContainsFunc(p.words, same) {
			p.words = append(p.words, w)
		}
	}
}

// folded calls fn with each character of a text in the form in which phrases are compared,
// and where it stands: folded, and with one space for any white space between two characters.
func folded(s string, fn func(r rune, at int)) {
	space, begun := false, false
	for i, r := range s {
		if unicode.IsSpace(r) {
			space = begun
			continue
		}
		if space {
			fn(' ', i)
		}
		space, begun = false, true
		fn(fold(r), i)
	}
}

// foldPhrase returns a text as findPhrase takes it.
func foldPhrase(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	folded(s, func(r rune, _ int) { b.WriteRune(r) })
	return b.String()
}

// findPhrase returns where a folded phrase stands in a text, in bytes, or -1, in time proportional to the text.
func findPhrase(s, phrase string) (from, to int) {
	begin := strings.Index(foldPhrase(s), phrase)
	if begin < 0 {
		return -1, -1
	}
	n := 0 // bytes of the folded text so far
	folded(s, func(r rune, at int) {
		if n == begin {
			from = at
		}
		if n += utf8.RuneLen(r); n == begin+len(phrase) {
			_, size := utf8.DecodeRuneInString(s[at:])
			to = at + size
		}
	})
	return from, to
}

// excerpt returns the part of a text around a place, at most size bytes, on one line, and where it begins, in characters.
func excerpt(s string, from, to, size int) (part string, offset int) {
	from, to = widen(s, from, to, size)
	part = text.Line(s[from:to])
	if from > 0 {
		part = text.Ellipsis + part
	}
	if to < len(s) {
		part += text.Ellipsis
	}
	return part, utf8.RuneCountInString(s[:from])
}

// Place returns where a text is to be read from, in characters, so that it has the place
// where the words of a query stand closest together: at most before bytes before that, and
// at a line where one begins. It is -1 when none of the words is there.
func Place(s, words string, before int) int {
	p := parse(words)
	from, to, _ := p.bestPlace(s, 2*denseSnippet)
	if from == to {
		return -1
	}
	return utf8.RuneCountInString(s[:begin(s, from, before)])
}

// begin returns where to begin a part of a text that is to have what stands at from: at most
// before bytes before it, at a line if one begins there, else at a sentence or a word.
func begin(s string, from, before int) int {
	a := from - len(text.Tail(s[:from], before))
	if a > 0 && s[a-1] != '\n' {
		if k := strings.IndexByte(s[a:from], '\n'); k >= 0 {
			a += k + 1
		} else if k := strings.Index(s[a:from], ". "); k >= 0 {
			a += k + 2
		}
	}
	return a
}

// match is a place where a term of a query stands.
type match struct {
	from, to int
	term     int
	kind     kind
}

// bestPlace returns what the best size bytes of a text match. all says that they have every term that the text has.
func (p *parsed) bestPlace(s string, size int) (from, to int, all bool) {
	if len(p.phrases) > 0 {
		if a, b := findPhrase(s, p.phrases[0]); a >= 0 {
			return a, min(b, a+size), false
		}
	}
	var window []match // matches within size bytes, by where they begin
	in := make([]int, len(p.terms))
	seen := make([]bool, len(p.terms))
	value, best := 0.0, 0.0
	w := splitter{}
	w.emit = func(term []byte, a, b int, k kind) {
		i := p.matching(term, k)
		if i < 0 {
			return
		}
		b = min(b, a+size)
		for len(window) > 0 && b-window[0].from > size {
			old := window[0].term
			if in[old]--; in[old] == 0 {
				value -= p.terms[old].worth
			}
			window = window[1:]
		}
		if in[i]++; in[i] == 1 {
			value += p.terms[i].worth
		}
		all, seen[i] = all && seen[i], true
		window = append(window, match{a, b, i, k})
		if value > best+1e-9 {
			best, from, to = value, a, b
			for _, m := range window {
				from, to = min(from, m.from), max(to, m.to)
			}
			all = !slices.ContainsFunc(p.terms, func(t queryTerm) bool { n := p.at[t.text]; return seen[n] && in[n] == 0 })
		}
	}
	w.split(s)
	return from, min(to, from+size), all
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

// widen extends a part of a text to size bytes on both sides, to lines where it can, else to sentences or words.
func widen(s string, from, to, size int) (int, int) {
	for to > from && to < len(s) && !utf8.RuneStart(s[to]) {
		to--
	}
	const most = 200 // bytes before the place: what follows says more
	room := max(size-(to-from), 0)
	a := begin(s, from, min(max(min(room/3, most), room-(len(s)-to)), from))
	b := to + len(text.Head(s[to:], max(size-(to-a), 0)))
	if b < len(s) {
		if k := strings.LastIndexByte(s[to:b], '\n'); k >= 0 {
			b = to + k
		} else if k := strings.LastIndex(s[to:b], ". "); k >= 0 {
			b = to + k + 1
		}
	}
	return a, b
}
