package widget

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// tabSpaces stands for a tab. A real one is as wide as the place where it stands
// makes it, which nothing that measures a line can know.
const tabSpaces = "    "

// Sanitize returns s as it may be shown: text and line breaks. Escape sequences,
// control characters and characters that nobody sees (direction marks, tags, zero
// width spaces) are gone; tabs are spaces; what is not UTF-8 is U+FFFD. A sequence
// that does not end on its line loses its escape character alone, so that it can't
// hide what follows it. Sanitizing twice changes nothing.
func Sanitize(s string) string {
	if plain(s) {
		return s
	}
	if strings.ContainsAny(s, "\x1b\u0090\u0098\u009b\u009d\u009e\u009f") {
		s = sequences().ReplaceAllStringFunc(s, func(sequence string) string {
			if len(sequence) > maxSequence {
				return sequence // its first character goes below
			}
			return ""
		})
	}
	return seen(oneSpace.Replace(s), "\n")
}

// seen returns s without the characters that do something other than appear, but for some.
func seen(s, but string) string {
	return strings.Map(func(r rune) rune {
		if unseen(r) && !strings.ContainsRune(but, r) {
			return -1
		}
		return r
	}, s)
}

// oneSpace writes line ends and tabs in one way.
var oneSpace = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\t", tabSpaces)

// sequences are escape sequences (ECMA-48): controls with parameters, strings that end with
// BEL, ESC \ or U+009C on their line, and those of a few characters, such as ESC ( B.
var sequences = text.Pattern("(?:\x1b\\[|\u009b)[ -?]*[@-~]|" +
	"(?:\x1b[\\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\x1b\a\r\n\u009c]*(?:\a|\x1b\\\\|\u009c)|" +
	"\x1b[ -/]+[0-~]|\x1b[0-OQ-WYZ\\\\`-~]")

// Reveal is Sanitize for what a person is asked to approve. Nothing is taken
// away: what can't be shown is written as in Go source, \x1b or \u202e.
func Reveal(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\t':
			b.WriteString(tabSpaces)
		case r == '\r' && strings.HasPrefix(s[i+n:], "\n"):
		case r == '\n' || r != '\u2028' && r != '\u2029' && !unseen(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
		i += n
	}
	return b.String()
}

// OneLine is Sanitize for a text that has one line: runs of white space are one
// space.
func OneLine(s string) string {
	return strings.Join(strings.Fields(Sanitize(s)), " ")
}

// plain reports whether s is printable ASCII and line breaks.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\n') || c > '~' {
			return false
		}
	}
	return true
}

// unseen reports whether a character does something other than appear. The two
// joiners stay: emoji and scripts need them.
func unseen(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return true
	case r == '\u200c' || r == '\u200d':
		return false
	case r >= 0xe0100 && r <= 0xe01ef: // variation selectors that data is hidden in
		return true
	}
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// maxSequence is how long an escape sequence may be, in bytes. What is longer is
// text that somebody wants to hide.
const maxSequence = 4096
