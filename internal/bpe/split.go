package bpe

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// class says what a character is, as the patterns of the encodings ask it.
type class uint8

const (
	upper     class = 1 << iota // Lu, Lt: an upper or title case letter
	lower                       // Ll: a lower case letter
	caseNo                      // Lm, Lo: a letter without case
	combining                   // M: a mark
	number                      // N: a number
	space                       // white space
	newline                     // \r or \n; also space

	letter   = upper | lower | caseNo
	startish = upper | caseNo | combining // may stand in the first part of a word
	restish  = lower | caseNo | combining // may stand in the second part of a word
	noSymbol = letter | number | space
)

// classes is the class of every character below 0x10000, which are nearly all
// that occur.
type classes [0x10000]class

// members are the tables of each class; letters without case are most of what is rare.
var members = []struct {
	class  class
	tables []*unicode.RangeTable
}{
	{caseNo, []*unicode.RangeTable{unicode.Lm, unicode.Lo}},
	{combining, []*unicode.RangeTable{unicode.M}},
	{number, []*unicode.RangeTable{unicode.N}},
	{upper, []*unicode.RangeTable{unicode.Lu, unicode.Lt}},
	{lower, []*unicode.RangeTable{unicode.Ll}},
	{space, []*unicode.RangeTable{unicode.White_Space}},
}

func newClasses() *classes {
	t := &classes{'\r': newline, '\n': newline}
	for _, m := range members {
		for _, table := range m.tables {
			for _, r := range table.R16 {
				for at := int(r.Lo); at <= int(r.Hi); at += int(r.Stride) {
					t[at] |= m.class
				}
			}
		}
	}
	return t
}

// at returns the class of the character that s begins with, and its length in
// bytes. At the end of s the length is 0. A byte that is not UTF-8 is a character
// of its own, without a class.
func (t *classes) at(s string) (class, int) {
	if len(s) == 0 {
		return 0, 0
	}
	if s[0] < utf8.RuneSelf {
		return t[s[0]], 1
	}
	r, n := utf8.DecodeRuneInString(s)
	if int(r) < len(t) {
		return t[r], n
	}
	for _, m := range members {
		if unicode.In(r, m.tables...) {
			return m.class, n
		}
	}
	return 0, n
}

// The pieces of a text are what the patterns of the encodings match (the pat_str of
// tiktoken_ext/openai_public.py in OpenAI's tiktoken), matched by hand: each character is
// looked at a few times at most, where a regular expression would go back and forth.

// nextO200k returns the length of the first piece of s, which is not empty. The
// alternatives of the pattern, in their order:
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func nextO200k(t *classes, s string) int {
	first, size := t.at(s)
	if first&(letter|number|newline) == 0 {
		// May stand before a word.
		if n := word(t, s[size:]); n > 0 && (first&combining == 0 || hasRest(t, s[size:size+n])) {
			return contracted(s, size+n)
		}
	}
	if n := word(t, s); n > 0 {
		return contracted(s, n)
	}
	if first&number != 0 {
		return span(t, s, 0, number, 3)
	}
	if n := symbols(t, s, "\r\n/"); n > 0 {
		return n
	}
	return blanks(t, s)
}

// word returns the length of what the first two alternatives match at the
// beginning of s, without what may stand before and after it.
func word(t *classes, s string) int {
	n, caseless := 0, 0 // caseless is the end of the last character that may be in both parts
	for {
		c, size := t.at(s[n:])
		if c&startish == 0 {
			if c&lower == 0 {
				break
			}
			for c&restish != 0 {
				n += size
				c, size = t.at(s[n:])
			}
			return n
		}
		n += size
		if c&(caseNo|combining) != 0 {
			caseless = n
		}
	}
	if caseless > 0 {
		return caseless // the first alternative needs a second part, if of one character
	}
	return n
}

// hasRest reports whether a word ends with a character of a second part, so that it is
// the first alternative that matches it.
func hasRest(t *classes, word string) bool {
	for size := 0; len(word) > 0; word = word[size:] {
		var c class
		if c, size = t.at(word); c&restish != 0 {
			return true
		}
	}
	return false
}

// nextCL100k returns the length of the first piece of s, which is not empty. The
// alternatives of the pattern, in their order:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// Later versions of tiktoken take all white space at the end of a text as one
// piece. No token has a newline before other white space at its end, so that the
// tokens are the same.
func nextCL100k(t *classes, s string) int {
	if n := contracted(s, 0); n > 0 {
		return n
	}
	first, size := t.at(s)
	switch {
	case first&letter != 0:
		return span(t, s, size, letter, len(s))
	case first&number != 0:
		return span(t, s, 0, number, 3)
	case first&newline == 0:
		if c, more := t.at(s[size:]); c&letter != 0 {
			return span(t, s, size+more, letter, len(s))
		}
	}
	if n := symbols(t, s, "\r\n"); n > 0 {
		return n
	}
	return blanks(t, s)
}

// span returns the end of the characters of a class from n on, at most as many as most.
func span(t *classes, s string, n int, of class, most int) int {
	for ; most > 0; most-- {
		c, size := t.at(s[n:])
		if c&of == 0 {
			break
		}
		n += size
	}
	return n
}

// symbols returns the length of a blank, if there is one, the characters after it that
// are no letters, numbers and white space, and then those of tail; 0 without symbols.
func symbols(t *classes, s, tail string) int {
	from := len(s) - len(strings.TrimPrefix(s, " "))
	n := from
	for n < len(s) {
		c, size := t.at(s[n:])
		if c&noSymbol != 0 {
			break
		}
		n += size
	}
	if n == from {
		return 0
	}
	return len(s) - len(strings.TrimLeft(s[n:], tail))
}

// blanks returns the length of the white space that is one piece: up to the last
// newline in it; else all but the last character, which goes with the word after
// it; all of it at the end of the text or where it is one character.
func blanks(t *classes, s string) int {
	n, last, lines := 0, 0, 0
	for {
		c, size := t.at(s[n:])
		if c&space == 0 {
			break
		}
		last = n
		n += size
		if c&newline != 0 {
			lines = n
		}
	}
	switch {
	case lines > 0:
		return lines
	case n == len(s) || last == 0:
		return n
	}
	return last
}

// contractions are the English ones. The long s (ſ) is an s in another case.
var contractions = []string{"s", "t", "re", "ve", "m", "ll", "d", "ſ"}

// contracted returns n, or the end of a contraction ('s, 'LL) that stands there.
func contracted(s string, n int) int {
	if n == len(s) || s[n] != '\'' {
		return n
	}
	rest := s[n+1:]
	for _, c := range contractions {
		if len(rest) >= len(c) && strings.EqualFold(rest[:len(c)], c) {
			return n + 1 + len(c)
		}
	}
	return n
}
