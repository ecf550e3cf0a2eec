package widget

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const ellipsis = "…"

// Width returns how many columns the widest line of s takes. Escape sequences
// take none.
func Width(s string) int { return lipgloss.Width(s) }

// Cut shortens a line to at most width columns, with an ellipsis where something
// is missing. Styles in it stay whole.
func Cut(s string, width int) string {
	switch {
	case width <= 0:
		return ""
	case len(s) <= width && plain(s):
		return s
	case ansi.StringWidth(s) <= width:
		return s
	}
	out := ansi.Truncate(s, width, ellipsis)
	for w := width - 1; w > 0 && ansi.StringWidth(out) > width; w-- {
		out = ansi.Truncate(s, w, ellipsis) // a character that is wider beside its neighbour
	}
	return out
}

// Pad fills a line with spaces to width columns.
func Pad(s string, width int) string {
	if w := ansi.StringWidth(s); w < width {
		return s + strings.Repeat(" ", width-w)
	}
	return s
}

// Wrap breaks sanitized text into lines of at most width columns: at spaces, between
// characters of scripts that are written without spaces, and inside a word only if
// it is longer than a line. A line that goes on is indented as its beginning. Only the
// spaces at a break are left out. A width below 1 gives no lines.
func Wrap(s string, width int) []string {
	if width < 1 {
		return nil
	}
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		out = wrapLine(out, line, width)
	}
	return out
}

func wrapLine(out []string, line string, width int) []string {
	if len(line) <= width && plain(line) {
		return append(out, strings.TrimRight(line, " "))
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	if len(indent) > width/2 || len(indent) == width-1 { // no room for a wide character
		indent = ""
	}
	line, first := line[len(indent):], len(out)
	breakLine(line, width-len(indent), func(from, to int) {
		part := line[from:to]
		if width == 1 && Width(part) > 1 { // nothing can show it: a sign that it is there
			part = ellipsis
		}
		out = append(out, indent+part)
	})
	if len(out) == first { // nothing but spaces
		out = append(out, "")
	}
	return out
}

// breakLine tells emit the parts of a line that has no line end but maybe styles, each at most width
// columns, without the spaces at their ends. A part that is nothing else is left out; a
// character that is wider than width is a part.
func breakLine(line string, width int, emit func(from, to int)) {
	start, col := 0, 0        // of the part that is being filled
	breakAt, breakCol := 0, 0 // where it may end; not behind start for nowhere
	before := rune(0)
	end := func(at int) {
		if to := start + len(strings.TrimRight(line[start:at], " ")); to > start {
			emit(start, to)
		}
	}
	for i := 0; i < len(line); {
		if line[i] == '\x1b' { // a style
			i += max(strings.IndexByte(line[i:], 'm'), 0) + 1
			continue
		}
		c, w := cluster(line[i:])
		r, _ := utf8.DecodeRuneInString(c)
		space := c == " " // not one that carries a mark
		if before == ' ' && !space || breaksBetween(before, r) {
			breakAt, breakCol = i, col
		}
		for col+w > width && !space && i > start {
			if breakAt <= start {
				breakAt, breakCol = i, col
			}
			end(breakAt)
			start, col = breakAt, col-breakCol
		}
		col += w
		i += len(c)
		before, _ = utf8.DecodeLastRuneInString(c)
	}
	end(len(line))
}

// cluster returns the first character of s as people count them, and its columns.
func cluster(s string) (string, int) {
	if len(s) == 1 || s[0] < utf8.RuneSelf && s[1] < utf8.RuneSelf {
		return s[:1], 1
	}
	return ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
}

// trimStyled removes the spaces at the end of a line, also those between styles.
func trimStyled(l string) string {
	if !strings.Contains(l, "\x1b") {
		return strings.TrimRight(l, " ")
	}
	return ansi.Truncate(l, ansi.StringWidth(strings.TrimRight(ansi.Strip(l), " ")), "")
}

// breaksBetween reports whether a line may end between two characters of which
// one is of a script without spaces. Punctuation stays at what it belongs to.
func breaksBetween(a, b rune) bool {
	return (ideographic(a) || ideographic(b)) &&
		!strings.ContainsRune("、。，．：；！？）」』】》〉”’…ー々,.;:!?)]}", b) && !strings.ContainsRune("（「『【《〈“‘([{", a)
}

func ideographic(r rune) bool {
	return r >= 0x2e80 && r <= 0xa4cf || r >= 0xf900 && r <= 0xfaff || r >= 0xff00 && r <= 0xff60 ||
		r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd || r >= utf8.RuneSelf && unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
