package bpe

import (
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

func newClasses() *classes {
	t := &classes{}
	t.fill(upper, unicode.Lu, unicode.Lt)
	t.fill(lower, unicode.Ll)
	t.fill(caseNo, unicode.Lm, unicode.Lo)
	t.fill(combining, unicode.M)
	t.fill(number, unicode.N)
	t.fill(space, unicode.White_Space)
	t['\r'] |= newline
	t['\n'] |= newline
	return t
}

func (t *classes) fill(c class, tables ...*unicode.RangeTable) {
	for _, table := range tables {
		for _, r := range table.R16 {
			for at := int(r.Lo); at <= int(r.Hi); at += int(r.Stride) {
				t[at] |= c
			}
		}
	}
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
	return rare(r), n
}

// rare returns the class of a character from 0x10000 on. None is white space.
func rare(r rune) class {
	switch {
	case unicode.In(r, unicode.Lo, unicode.Lm):
		return caseNo
	case unicode.In(r, unicode.M):
		return combining
	case unicode.In(r, unicode.N):
		return number
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return upper
	case unicode.In(r, unicode.Ll):
		return lower
	}
	return 0
}
