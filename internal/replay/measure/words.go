package measure

import (
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// plainWords calls fn with each plain word of a line: a run of three letters or
// more, in lower case, that belongs to no identifier and is no stop word; of
// scripts that put no space between words, each pair of neighbouring characters.
func plainWords(line string, fn func(w string)) {
	at := 0
	for id := range Identifiers(line) {
		wordsOf(line[at:max(at, id.From)], fn)
		at = max(at, id.To)
	}
	wordsOf(line[at:], fn)
}

func wordsOf(s string, fn func(w string)) {
	var (
		buf   []byte
		runes int
		prev  rune // a character of an unspaced script just before
	)
	flush := func() {
		if runes >= 3 {
			if w := string(buf); !stopWord()[w] {
				fn(w)
			}
		}
		buf, runes = buf[:0], 0
	}
	for _, r := range s {
		if unspaced(r) {
			flush()
			if prev != 0 {
				fn(string([]rune{prev, r}))
			}
			prev = r
			continue
		}
		prev = 0
		if !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) {
			flush()
			continue
		}
		buf = utf8.AppendRune(buf, unicode.ToLower(r))
		runes++
	}
	flush()
}

// unspaced reports whether r belongs to a script whose words are not parted by
// spaces, or whose words are too short to count letters of: Han, kana, Hangul, Thai.
func unspaced(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// stopWord are words so common that sharing them says nothing.
var stopWord = text.Words(`
	about after again all already also and any are because been before being both but can cannot could did does
	doing done down each even every few for from further get gets getting got had has have having her here him
	his how however into its itself just let like make makes many may might more most much must need needs new
	nor not now off old once one only onto other our ours out over own per same see seems she should since some
	still such sure than that the their them then there these they this those through thus too two under until
	upon use used uses using very via want was way well were what when where which while who why will with
	within without would yes yet you your`)
