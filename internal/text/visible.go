package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// colour matches what sets the colour of a terminal or clears the rest of a line: it
// has no place on a page and hides nothing.
var colour = Pattern(`\x1b\[[0-9;]*[mK]`)

// Visible returns text as a page can show it, with nothing in it that a reader would
// not see: a text must not say to a person something else than to a model. What
// controls a terminal or the direction of writing is spelled out.
func Visible(s string) string {
	if !strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 && c != '\n' && c != '\t' || c >= 0x7f }) {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexByte(s, '\x1b') >= 0 {
		s = colour().ReplaceAllString(s, "")
	}
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune('\u2400' + r)
		case r == 0x7f:
			b.WriteRune('\u2421')
		case r < utf8.RuneSelf:
			b.WriteByte(byte(r))
		case hides(r):
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hides reports whether a character turns others around, or is one that no one sees.
func hides(r rune) bool {
	return r >= 0x80 && r <= 0x9f || // C1 controls
		r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || // direction
		r >= 0xE0000 && r <= 0xE0FFF || // tags, selectors
		r&0xFFFE == 0xFFFE || r >= 0xFDD0 && r <= 0xFDEF // no characters
}
