package widget

import (
	"path"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/clew-dev/clew/internal/text"
)

// Diff draws a unified diff. Long lines are wrapped: nothing of a line is left
// out. Of more than most lines the rest is counted; 0 shows all.
func Diff(t *Theme, unified string, width, most int) []string {
	source := strings.Split(strings.TrimRight(Reveal(unified), "\n"), "\n")
	more := 0
	if most > 0 && len(source) > most {
		more = len(source) - most
		source = source[:most]
	}
	var out []string
	language, kind := "", text.DiffLines()
	for _, l := range source {
		style := t.Text
		switch kind(l) {
		case 'f':
			if name, ok := strings.CutPrefix(l, "+++ "); ok {
				language = strings.TrimPrefix(path.Ext(name), ".")
			}
			out = append(out, diffLine(t, t.Bold, "", l, width)...)
			continue
		case '@':
			style = t.Hunk
		case '+':
			style = t.Added
		case '-':
			style = t.Removed
		default:
			if strings.HasPrefix(l, `\`) {
				style = t.Dim
			}
		}
		out = append(out, diffLine(t, style, language, l, width)...)
	}
	if more > 0 {
		out = append(out, t.Paint(t.Dim, Cut(ellipsis+" "+countMore(more), width)))
	}
	return out
}

func countMore(n int) string { return strings.Replace(text.Counted(n, "line"), " ", " more ", 1) }

func diffLine(t *Theme, style lipgloss.Style, language, l string, width int) []string {
	if width < 3 || l == "" {
		return []string{t.Paint(style, Cut(l, width))}
	}
	// The sign stands before each part of a line.
	sign, rest := l[:1], l[1:]
	if !strings.ContainsAny(sign, "+- ") {
		sign, rest, language = "", l, ""
	}
	parts := hardWrap(rest, width-len(sign))
	for i, part := range parts {
		parts[i] = t.Paint(style, sign) + paintCode(t, style, language, part)
	}
	return parts
}

// hardWrap breaks a line where it is full and keeps all its spaces.
func hardWrap(s string, width int) []string {
	var out []string
	start, col := 0, 0
	for i := 0; i < len(s); {
		c, w := cluster(s[i:])
		if col+w > width && i > start {
			out = append(out, s[start:i])
			start, col = i, 0
		}
		col += w
		i += len(c)
	}
	return append(out, s[start:])
}
