package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine makes a text fit to be shown on one line of a terminal, where a user decides by
// it: nothing in it can move the cursor or turn the direction of writing. It has at most
// so many characters.
func OneLine(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
	return Clip(s, most)
}

// Line returns s on one line: all white space as single spaces, and what is no UTF-8
// as the replacement character, as JSON would give it back.
func Line(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}

// FirstLine returns the first line of s that is not blank, without the white space
// around it, and at most 4 KiB of it.
func FirstLine(s string) string {
	const look, most = 64 << 10, 4 << 10
	s = strings.TrimLeftFunc(s[:min(len(s), look)], unicode.IsSpace)
	if k := strings.IndexAny(s, "\r\n"); k >= 0 {
		s = s[:k]
	}
	if len(s) > most {
		end := most
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end]
	}
	return strings.TrimRight(s, " \t")
}

// Valid makes a text fit for JSON and for any provider: UTF-8 without NUL.
func Valid(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
