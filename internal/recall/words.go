package recall

import (
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// kind says what part of a text a term stands for.
type kind uint8

const (
	kindWord     kind = iota // a word, or a pair of characters of a script without spaces
	kindPart                 // a part of a word: config in parseConfig
	kindCompound             // words joined by punctuation: a file name, a path, a dotted name
	kindHash                 // a word that is hexadecimal digits, a digit and a letter among them
)

// Limits of terms, in bytes. A longer word counts by its beginning; a longer path
// by its last component and by its words.
const (
	maxWord     = 64
	maxCompound = 96
	maxParts    = 8 // a word that falls into more is noise, such as base64
	minHash     = 7 // what git abbreviates a commit to
)

// splitter finds the terms of a text. It may be used again, by one goroutine.
type splitter struct {
	emit func(term []byte, from, to int, k kind)
	buf  []byte
	cuts []int
}

// split calls emit with each term of s and the bytes of s it stands for. The term
// is overwritten by the next one.
func (w *splitter) split(s string) {
	chain, words := -1, 0 // words that are joined by punctuation so far
	end := -1             // of the word before
	flush := func() {
		if words > 1 {
			w.compound(s, chain, end)
		}
		chain, words = -1, 0
	}
	for i := 0; i < len(s); {
		c := classAt(s, i)
		switch c.class {
		case charOther:
			i += c.size
		case charWide:
			flush()
			i = w.wide(s, i)
			end = -1
		case charWord:
			from := i
			for i < len(s) {
				if c = classAt(s, i); c.class != charWord {
					break
				}
				i += c.size
			}
			if end < 0 || from != end+1 || !joins(s[end]) {
				flush()
				chain = from
			}
			words++
			end = i
			w.word(s, from, i, words > 1 || i+1 < len(s) && joins(s[i]) && classAt(s, i+1).class == charWord)
		}
	}
	flush()
}

// joins reports whether a character between two words makes one name of them.
func joins(c byte) bool { return c == '.' || c == '-' || c == '/' || c == '\\' }

type charClass uint8

const (
	charOther charClass = iota
	charWord            // a letter, a digit, a combining mark, the underscore
	charWide            // of a script that is written without spaces
)

type char struct {
	class charClass
	size  int
}

func classAt(s string, i int) char {
	if c := s[i]; c < utf8.RuneSelf {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' {
			return char{charWord, 1}
		}
		return char{charOther, 1}
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	switch {
	case text.Wide(r):
		return char{charWide, n}
	case r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)):
		return char{charWord, n}
	}
	return char{charOther, n}
}

// wide emits each character of a run of a script without spaces, and each two
// neighbours. It returns the end of the run.
func (w *splitter) wide(s string, i int) int {
	before := -1
	for i < len(s) {
		c := classAt(s, i)
		if c.class != charWide {
			break
		}
		alone := before < 0 && (i+c.size >= len(s) || classAt(s, i+c.size).class != charWide)
		k := kindPart // only a query of one character asks for it
		if alone {
			k = kindWord
		}
		w.term(s[i:i+c.size], i, i+c.size, k)
		if before >= 0 {
			w.term(s[before:i+c.size], before, i+c.size, kindWord)
		}
		before = i
		i += c.size
	}
	return i
}

func (w *splitter) term(s string, from, to int, k kind) {
	w.buf = append(w.buf[:0], s...)
	w.emit(w.buf, from, to, k)
}

// word emits a word, and its parts if it has some. joined says that it is a part
// of a compound.
func (w *splitter) word(s string, from, to int, joined bool) {
	for from < to && s[from] == '_' {
		from++
	}
	for to > from && s[to-1] == '_' {
		to--
	}
	if from == to {
		return
	}
	whole := s[from:to]
	if len(whole) > maxWord {
		n := maxWord
		for !utf8.RuneStart(whole[n]) {
			n--
		}
		w.buf = appendFolded(w.buf[:0], whole[:n])
		k := kindWord
		if isHash(w.buf) {
			k = kindHash
		}
		w.emit(w.buf, from, to, k)
		return
	}
	w.cut(whole)
	if len(w.cuts) <= 2 || len(w.cuts) > maxParts+1 {
		if joined && len(whole) == 1 {
			return // a lone letter or digit of a path or a version
		}
		w.buf = appendFolded(w.buf[:0], whole)
		if isHash(w.buf) {
			w.emit(w.buf, from, to, kindHash)
			return
		}
		w.buf = stem(w.buf)
		w.emit(w.buf, from, to, kindWord)
		return
	}
	w.buf = appendFolded(w.buf[:0], whole)
	if isHash(w.buf) {
		w.emit(w.buf, from, to, kindHash)
		return
	}
	w.emit(w.buf, from, to, kindWord)
	for i := 1; i < len(w.cuts); i++ {
		a, b := w.cuts[i-1], w.cuts[i]
		for a < b && whole[a] == '_' {
			a++
		}
		if b-a < 2 {
			continue
		}
		w.buf = appendFolded(w.buf[:0], whole[a:b])
		w.buf = stem(w.buf)
		w.emit(w.buf, from+a, from+b, kindPart)
	}
}

// cut finds where the parts of a word begin: after underscores, at a capital after
// a small letter, at the last of several capitals before a small letter, between
// letters and digits.
func (w *splitter) cut(s string) {
	const (
		none = iota
		lower
		upper
		digit
		under
	)
	w.cuts = append(w.cuts[:0], 0)
	before, start := none, 0
	for i, r := range s {
		now := lower
		switch {
		case r == '_':
			now = under
		case r < utf8.RuneSelf:
			switch {
			case r >= '0' && r <= '9':
				now = digit
			case r >= 'A' && r <= 'Z':
				now = upper
			}
		case unicode.IsMark(r):
			now = max(before, lower)
		case unicode.IsDigit(r):
			now = digit
		case unicode.IsUpper(r):
			now = upper
		}
		switch {
		case before == none || now == before:
		case before == upper && now == lower:
			if start > 0 && w.cuts[len(w.cuts)-1] < start && s[start-1] != '_' {
				w.cuts = append(w.cuts, start) // HTTPServer
			}
		case before == under:
			// The underscore has begun the part.
		default:
			w.cuts = append(w.cuts, i)
		}
		before, start = now, i
	}
	w.cuts = append(w.cuts, len(s))
}

// compound emits the names that words joined by punctuation make: all of it, and
// the last component of a path.
func (w *splitter) compound(s string, from, to int) {
	last, slashes := from, 0
	for i := from; i < to; i++ {
		if s[i] == '/' || s[i] == '\\' {
			last = i + 1
			slashes++
		}
	}
	if slashes > 0 && to-from <= maxCompound {
		w.buf = appendFolded(w.buf[:0], s[from:to])
		for i, c := range w.buf {
			if c == '\\' {
				w.buf[i] = '/'
			}
		}
		w.emit(w.buf, from, to, kindCompound)
	}
	if to-last > maxCompound {
		return
	}
	dots, dashes, letters := 0, 0, false
	for i := last; i < to; i++ {
		switch c := s[i]; {
		case c == '.':
			dots++
		case c == '-':
			dashes++
		case c < '0' || c > '9':
			letters = true
		}
	}
	if dots+dashes == 0 {
		return
	}
	w.buf = appendFolded(w.buf[:0], s[last:to])
	if dots == 0 && letters { // parse-config is parse_config
		w.buf = without(w.buf, '-')
	}
	if len(w.buf) > 1 {
		w.emit(w.buf, last, to, kindCompound)
	}
}

func without(b []byte, c byte) []byte {
	out := b[:0]
	for _, x := range b {
		if x != c {
			out = append(out, x)
		}
	}
	return out
}
