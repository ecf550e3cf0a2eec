package page

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// colour matches what sets the colour of a terminal or clears the rest of a line: it
// has no place on a page and hides nothing.
var colour = text.Pattern(`\x1b\[[0-9;]*[mK]`)

// visible returns text as a page can show it, with nothing in it that a reader would
// not see: a text must not say to a person something else than to a model. What
// controls a terminal or the direction of writing is spelled out.
func visible(s string) string {
	if plain(s) {
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

// plain reports whether s is ASCII without control characters but tab and newline.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 && c != '\n' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// hides reports whether a character turns others around, or is one that no one sees.
func hides(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f, // C1 controls
		r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, // direction
		r >= 0xE0000 && r <= 0xE0FFF,                   // tags, selectors
		r&0xFFFE == 0xFFFE, r >= 0xFDD0 && r <= 0xFDEF: // no characters
		return true
	}
	return false
}

// line makes text one short line: its first that is not blank.
func line(s string) string {
	return text.Clip(strings.Join(strings.Fields(visible(text.FirstLine(s))), " "), 140)
}

// only reports whether s has no other characters than ASCII letters, digits and those
// of more.
func only(s, more string) bool {
	for i := range len(s) {
		if c := s[i]; (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte(more, c) < 0 {
			return false
		}
	}
	return true
}

// count writes how many there are of something.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(int64(n)) + " " + what + "s"
}

// number writes a whole number with a space between groups of three digits.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// size writes a number of bytes.
func size(n int64) string {
	switch {
	case n < 1000:
		return count(int(n), "byte")
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func dollars(f float64) string {
	if f < 0.01 {
		return fmt.Sprintf("$%.4f", f)
	}
	return fmt.Sprintf("$%.2f", f)
}
