package page

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"

	"github.com/clew-dev/clew/internal/text"
)

// out is where the page goes. Whatever comes from a session goes through text, or
// through Markdown, which has rules of its own. The first error stays.
type out struct {
	w   *bufio.Writer
	md  goldmark.Markdown
	err error
}

func newOut(w io.Writer) *out {
	return &out{w: bufio.NewWriterSize(w, 64<<10), md: newMarkdown()}
}

// raw writes what the page itself says: tags and constant text.
func (o *out) raw(s string) {
	if o.err == nil {
		_, o.err = o.w.WriteString(s)
	}
}

// int writes a number of ours, for an attribute.
func (o *out) int(n int) { o.raw(strconv.Itoa(n)) }

// text writes text, for between tags and for attributes in double quotes.
func (o *out) text(s string) { o.escaped(visible(s)) }

func (o *out) escaped(s string) {
	done := 0
	for i := range len(s) {
		var esc string
		switch s[i] {
		case '&':
			esc = "&amp;"
		case '<':
			esc = "&lt;"
		case '>':
			esc = "&gt;"
		case '"':
			esc = "&#34;"
		case '\'':
			esc = "&#39;"
		default:
			continue
		}
		o.raw(s[done:i])
		o.raw(esc)
		done = i + 1
	}
	o.raw(s[done:])
}

// colour matches what sets the colour of a terminal or clears the rest of a line: it
// has no place on a page and hides nothing.
var colour = regexp.MustCompile(`\x1b\[[0-9;]*[mK]`)

// visible returns text as a page can show it, with nothing in it that a reader would
// not see: a text must not say to a person something else than to a model. What
// controls a terminal or the direction of writing is spelled out.
func visible(s string) string {
	if plain(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexByte(s, '\x1b') >= 0 {
		s = colour.ReplaceAllString(s, "")
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

// lineRunes is how long a line of the tree is at most.
const lineRunes = 140

// line makes text one short line.
func line(s string) string {
	s = firstLine(strings.TrimLeftFunc(s, unicode.IsSpace))
	return text.Clip(strings.Join(strings.Fields(visible(s)), " "), lineRunes)
}

func firstLine(s string) string {
	const look = 4 * lineRunes
	s = strings.TrimLeftFunc(s[:min(len(s), 1<<16)], unicode.IsSpace)
	if len(s) > look {
		s = strings.ToValidUTF8(s[:look], "")
	}
	if k := strings.IndexAny(s, "\r\n"); k >= 0 {
		s = s[:k]
	}
	return s
}
