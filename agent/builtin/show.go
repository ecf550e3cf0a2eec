package builtin

import (
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/text"
)

// maxLine is how many characters a line for the user has at most.
const maxLine = 200

// oneLine makes a text fit to be shown on one line of a terminal, where the user
// decides by it: nothing in it can move the cursor or turn the direction of writing.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
	return text.Clip(s, maxLine)
}

// valid makes a text fit for JSON and for any server: UTF-8 without NUL.
func valid(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
