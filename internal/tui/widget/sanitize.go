package widget

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError)
		case r == '\x1b' || r == '\u009b' || r == '\u009d' || r == '\u0090' || r >= '\u0098' && r <= '\u009f':
			n += sequence(s[i+n:], r)
		case r == '\t':
			b.WriteString(tabSpaces)
		case r == '\r':
			if !strings.HasPrefix(s[i+n:], "\n") {
				b.WriteByte('\n')
			}
		case r == '\u2028' || r == '\u2029':
			b.WriteByte('\n')
		case r == '\n' || !unseen(r):
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

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
			b.WriteString(`\x` + string("0123456789abcdef"[s[i]>>4]) + string("0123456789abcdef"[s[i]&15]))
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

// sequence returns how many bytes of s, which follows the character intro, belong to an escape
// sequence that intro begins.
func sequence(s string, intro rune) int {
	end := min(len(s), maxSequence)
	if k := strings.IndexAny(s[:end], "\r\n"); k >= 0 {
		end = k
	}
	s = s[:end]
	i := 0
	if intro == '\x1b' {
		if s == "" {
			return 0
		}
		i = 1
		switch c := s[0]; {
		case c == '[':
			intro = '\u009b'
		case c == ']', c == 'P', c == 'X', c == '^', c == '_':
			intro = '\u009d'
		case c >= ' ' && c <= '/': // such as ESC ( B
			for i < len(s) && s[i] >= ' ' && s[i] <= '/' {
				i++
			}
			if i < len(s) && s[i] >= '0' && s[i] <= '~' {
				return i + 1
			}
			return 0
		case c >= '0' && c <= '~':
			return 1
		default:
			return 0
		}
	}
	if intro == '\u009b' {
		for i < len(s) && s[i] >= ' ' && s[i] <= '?' {
			i++
		}
		if i < len(s) && s[i] >= '@' && s[i] <= '~' {
			return i + 1
		}
		return 0
	}
	if intro == '\u009a' || intro == '\u0099' || intro == '\u009c' {
		return 0
	}
	for ; i < len(s); i++ { // a string: ends with BEL, ESC \ or U+009C
		switch {
		case s[i] == '\a':
			return i + 1
		case strings.HasPrefix(s[i:], "\x1b\\"), strings.HasPrefix(s[i:], "\u009c"):
			return i + 2
		case s[i] == '\x1b':
			return 0
		}
	}
	return 0
}
