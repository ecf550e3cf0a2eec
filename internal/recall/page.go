package recall

import "unicode/utf8"

// Page is a part of a text. Pages that begin where the one before ended are, one
// after the other, the text.
type Page struct {
	Text   string `json:"text"`
	Offset int    `json:"offset"`         // where it begins, in characters
	Next   int    `json:"next,omitempty"` // where the next page begins; 0 when this is the last
	Total  int    `json:"total"`          // characters of the text
}

// PageOf returns the part of text that begins at offset and has most characters
// at most; most below 1 means all of the rest. Characters are code points; a byte
// that is not UTF-8 counts as one. An offset behind the end gives an empty page,
// one below 0 is taken as 0.
func PageOf(text string, offset, most int) Page {
	p := Pager{Offset: max(offset, 0), Most: most}
	p.Add(text)
	return p.Page()
}

// Pager takes a page from a text that is given in pieces, so that all of it need
// never be in memory at once. Set Offset and Most as for PageOf before the first Add.
type Pager struct {
	Offset, Most int

	out  []byte
	seen int // characters of all pieces so far
	took int
}

// Add gives the next piece and reports whether some of it is on the page. Pieces must
// not be cut inside a character.
func (p *Pager) Add(piece string) bool {
	n := utf8.RuneCountInString(piece)
	from := max(p.Offset-p.seen, 0)
	p.seen += n
	if from >= n || p.Most > 0 && p.took >= p.Most {
		return false
	}
	count := n - from
	if p.Most > 0 {
		count = min(count, p.Most-p.took)
	}
	a := runeOffset(piece, from)
	b := len(piece)
	if from+count < n {
		b = a + runeOffset(piece[a:], count)
	}
	p.out = append(p.out, piece[a:b]...)
	p.took += count
	return true
}

// Page returns the page, when all pieces were added.
func (p *Pager) Page() Page {
	page := Page{Text: string(p.out), Offset: min(p.Offset, p.seen), Total: p.seen}
	if end := page.Offset + p.took; end < p.seen {
		page.Next = end
	}
	return page
}

// runeOffset returns where character n of s begins, in bytes.
func runeOffset(s string, n int) int {
	if n <= 0 {
		return 0
	}
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}
