package recall

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

type kind uint8

const (
	kindWord     kind = iota // a word, or a pair of characters of a script without spaces
	kindPart                 // a part of a word: config in parseConfig
	kindCompound             // words joined by punctuation: a file name, a path, a dotted name
	kindHash                 // a word of hexadecimal digits with a digit and a letter among them
)

// Limits of terms, in bytes. A longer word counts by its beginning; a longer path by its last component and its words.
const (
	maxWord     = 64
	maxCompound = 96
	maxParts    = 8 // a word with more parts is noise, such as base64
	minHash     = 7 // the length to which git abbreviates a commit
)

// splitter finds the terms of a text. One goroutine may use it again and again.
type splitter struct {
	emit func(term []byte, from, to int, k kind)
	buf  []byte
	cuts []int
}

// split calls emit with each term of s and the bytes of s it stands for. The next term overwrites it.
func (w *splitter) split(s string) {
	chain, words := -1, 0 // where the words that punctuation joins began, and how many they are
	end := -1             // of the word before
	flush := func() {
		if words > 1 {
			w.compound(s, chain, end)
		}
		chain, words = -1, 0
	}
	for i := 0; i < len(s); {
		class, size := classAt(s, i)
		switch class {
		case charOther:
			i += size
		case charWide:
			flush()
			i = w.wide(s, i)
			end = -1
		case charWord:
			from := i
			for i < len(s) {
				if class, size = classAt(s, i); class != charWord {
					break
				}
				i += size
			}
			if end < 0 || from != end+1 || !joins(s[end]) {
				flush()
				chain = from
			}
			words++
			end = i
			w.word(s, from, i, words > 1 || i < len(s) && joins(s[i]) && isAt(s, i+1, charWord))
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

// classAt returns the class of the character at s[i] and its size in bytes.
func classAt(s string, i int) (charClass, int) {
	if c := s[i]; c < utf8.RuneSelf {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' {
			return charWord, 1
		}
		return charOther, 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	switch {
	case text.Wide(r):
		return charWide, n
	case r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)):
		return charWord, n
	}
	return charOther, n
}

func isAt(s string, i int, class charClass) bool {
	if i >= len(s) {
		return false
	}
	c, _ := classAt(s, i)
	return c == class
}

// wide emits each character of a run without spaces, and each pair of neighbours, and returns the end of the run.
func (w *splitter) wide(s string, i int) int {
	before := -1
	for isAt(s, i, charWide) {
		_, size := classAt(s, i)
		k := kindPart // only a query of one character asks for it
		if before < 0 && !isAt(s, i+size, charWide) {
			k = kindWord
		}
		w.buf = append(w.buf[:0], s[i:i+size]...)
		w.emit(w.buf, i, i+size, k)
		if before >= 0 {
			w.buf = append(w.buf[:0], s[before:i+size]...)
			w.emit(w.buf, before, i+size, kindWord)
		}
		before = i
		i += size
	}
	return i
}

// word emits a word, and its parts if it has some. joined says that it is a part of a compound.
func (w *splitter) word(s string, from, to int, joined bool) {
	whole := strings.TrimLeft(s[from:to], "_")
	from = to - len(whole)
	whole = strings.TrimRight(whole, "_")
	to = from + len(whole)
	cut := len(whole) > maxWord
	if cut {
		whole = strings.ToValidUTF8(whole[:maxWord], "") // without half of a character
	}
	if whole == "" || len(whole) == 1 && joined {
		return // a lone letter or digit of a path or a version
	}
	w.cut(whole)
	parts := len(w.cuts) - 1
	if cut || parts > maxParts {
		parts = 1
	}
	w.buf = appendFolded(w.buf[:0], whole)
	if digits, letters := hexDigits(w.buf); len(w.buf) >= minHash && digits > 0 && letters > 0 {
		w.emit(w.buf, from, to, kindHash)
		return
	}
	if parts == 1 && !cut {
		w.buf = stem(w.buf)
	}
	w.emit(w.buf, from, to, kindWord)
	if parts == 1 {
		return
	}
	for i := 1; i < len(w.cuts); i++ {
		a, b := w.cuts[i-1], w.cuts[i]
		for a < b && whole[a] == '_' {
			a++
		}
		if b-a >= 2 {
			w.buf = stem(appendFolded(w.buf[:0], whole[a:b]))
			w.emit(w.buf, from+a, from+b, kindPart)
		}
	}
}

// cut finds where the parts of a word begin: after underscores, at a capital after a small letter, at the last of
// several capitals before a small letter, between letters and digits.
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
		case unicode.IsMark(r):
			now = max(before, lower)
		case unicode.IsDigit(r):
			now = digit
		case unicode.IsUpper(r):
			now = upper
		}
		switch {
		case before == none, before == under, now == before:
		case before == upper && now == lower:
			if start > w.cuts[len(w.cuts)-1] && s[start-1] != '_' {
				w.cuts = append(w.cuts, start) // HTTPServer
			}
		default:
			w.cuts = append(w.cuts, i)
		}
		before, start = now, i
	}
	w.cuts = append(w.cuts, len(s))
}

// compound emits the names that words joined by punctuation make: all of it, and the last component of a path.
func (w *splitter) compound(s string, from, to int) {
	whole := s[from:to]
	last := strings.LastIndexAny(whole, `/\`) + 1
	if last > 0 && len(whole) <= maxCompound {
		w.buf = appendFolded(w.buf[:0], strings.ReplaceAll(whole, `\`, "/"))
		w.emit(w.buf, from, to, kindCompound)
	}
	base := whole[last:]
	if len(base) > maxCompound || !strings.ContainsAny(base, ".-") {
		return
	}
	w.buf = appendFolded(w.buf[:0], base)
	if !strings.Contains(base, ".") && strings.Trim(base, "-0123456789") != "" { // parse-config is parse_config
		w.buf = slices.DeleteFunc(w.buf, func(c byte) bool { return c == '-' })
	}
	if len(w.buf) > 1 {
		w.emit(w.buf, from+last, to, kindCompound)
	}
}

// appendFolded appends a word in lower case, without underscores, with full-width characters as ordinary ones.
func appendFolded(dst []byte, s string) []byte {
	for _, r := range s {
		if r != '_' {
			dst = utf8.AppendRune(dst, fold(r))
		}
	}
	return dst
}

// fold returns a character in lower case, and a full-width one as the ordinary one.
func fold(r rune) rune {
	if r >= 0xFF01 && r <= 0xFF5E { // Halfwidth and Fullwidth Forms
		r -= 0xFF01 - '!'
	}
	return unicode.ToLower(r)
}

// hexDigits counts the digits and the letters of a hexadecimal word. Of another word both counts are 0.
func hexDigits(b []byte) (digits, letters int) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f':
			letters++
		default:
			return 0, 0
		}
	}
	return digits, letters
}

// stem removes the s of an English plural: the S stemmer of D. Harman, "How
// effective is suffixing?", JASIS 42 (1991), with two more endings (sses, xes).
func stem(b []byte) []byte {
	n := len(b)
	ends := func(with ...string) bool {
		return slices.ContainsFunc(with, func(s string) bool { return bytes.HasSuffix(b, []byte(s)) })
	}
	switch {
	case n < 4, b[n-1] != 's', ends("ss", "us", "aes", "ees", "oes"), n > 4 && ends("eies", "aies"),
		bytes.ContainsFunc(b, func(r rune) bool { return r < 'a' || r > 'z' }):
		return b
	case ends("ies"):
		return append(b[:n-3], 'y')
	case ends("xes", "sses"):
		return b[:n-2]
	}
	return b[:n-1]
}
