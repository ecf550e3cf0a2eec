package text

import (
	"strings"
	"unicode"
)

// The marks that Markdown puts at the beginning of a line.
var (
	listMark = Pattern(`^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?`)
	headMark = Pattern(`^\s*#{1,6}\s+`)
	ruleLine = Pattern(`^[\s\-=*_~#|+:.]{3,}$`)
)

// ListMark returns the mark of a list item that a line begins with, with the
// white space around it and the box of a task, or "".
func ListMark(line string) string {
	if !mayBeMarked(line) {
		return ""
	}
	return listMark().FindString(line)
}

// mayBeMarked reports whether a line may begin with a mark. Most do not.
func mayBeMarked(line string) bool {
	line = strings.TrimLeft(line, " \t")
	return line != "" && (line[0] < '0' && strings.IndexByte("-*+#", line[0]) >= 0 || line[0] >= '0' && line[0] <= '9' || line[0] == '\xe2')
}

// TableRow reports whether a line is a row of a table.
func TableRow(line string) bool {
	return strings.HasPrefix(strings.TrimLeft(line, " \t"), "|")
}

// OutsideFences returns Markdown without its fenced code.
func OutsideFences(s string) string { return fences(s, false) }

// InsideFences returns the fenced code of Markdown.
func InsideFences(s string) string { return fences(s, true) }

func fences(s string, inside bool) string {
	if !strings.Contains(s, "```") && !strings.Contains(s, "~~~") {
		if inside {
			return ""
		}
		return s
	}
	var b strings.Builder
	fence := ""
	for line := range strings.SplitSeq(s, "\n") {
		t := strings.TrimSpace(line)
		if fence == "" && (strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~")) {
			fence = t[:3]
			continue
		}
		if fence != "" && strings.HasPrefix(t, fence) {
			fence = ""
			continue
		}
		if inside == (fence != "") {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Statements splits Markdown without fenced code into its sentences, without
// headings and list marks. A row of a table is one statement.
func Statements(s string) []string {
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		if mayBeMarked(line) {
			if headMark().MatchString(line) || ruleLine().MatchString(line) {
				continue
			}
			line = line[len(listMark().FindString(line)):]
		} else if len(line) >= 3 && strings.IndexByte("=_~|:. \t", line[0]) >= 0 && ruleLine().MatchString(line) {
			continue
		}
		if TableRow(line) {
			if t := strings.TrimSpace(line); len(t) > 8 {
				out = append(out, t)
			}
			continue
		}
		out = append(out, Sentences(line)...)
	}
	return out
}

// Wide reports whether r is of a script that is written without spaces, or in
// syllables: Chinese, Japanese, Korean.
func Wide(r rune) bool {
	if r < 0x1100 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
