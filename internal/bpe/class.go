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
