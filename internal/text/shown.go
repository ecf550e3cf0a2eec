package text

import (
	"strings"
	"unicode"
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

// Valid makes a text fit for JSON and for any provider: UTF-8 without NUL.
func Valid(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
