package widget

import (
	"fmt"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
)

const (
	cell      = 3 // columns of a level
	panStep   = 8
	panMost   = 400
	timesFrom = 100 // columns from which on times are shown
)

// pageRows is how many rows are on the screen: a line above and one below are
// taken when there is room.
func (t *Tree) pageRows() int {
	if t.height < 4 {
		return t.height
	}
	return t.height - 2
}

// View draws the tree: what is filtered and searched, the rows, the keys.
func (t *Tree) View() string { return strings.Join(t.lines(), "\n") }

func (t *Tree) lines() []string {
	var out []string
	if t.height >= 4 {
		out = append(out, t.header())
	}
	page := t.pageRows()
	shift := max(t.autoPan()+t.pan, 0)
	for i := t.top; i < min(t.top+page, len(t.rows)); i++ {
		out = append(out, t.row(i, shift))
	}
	if len(t.rows) == 0 && page > 0 {
		text := "  the session has no entries"
		if len(t.nodes) > 0 {
			text = "  no entry fits; Ctrl+A shows all, Backspace shortens the search"
		}
		out = append(out, t.theme.Paint(t.theme.Dim, Cut(text, t.width)))
	}
	for len(out) < t.height-1 {
		out = append(out, "")
	}
	if t.height >= 4 {
		keys := "Enter go · Esc leave · type to search · Ctrl+O filter · L label · Ctrl+X copy · Alt+←→ fold, jump · ←→ pan"
		out = append(out, t.theme.Paint(t.theme.Dim, Cut(keys, t.width)))
	}
	return out
}

func (t *Tree) header() string {
	line := "entry " + strconv.Itoa(t.sel+1) + " of " + strconv.Itoa(len(t.rows))
	if n := len(t.nodes) - len(t.rows); n > 0 {
		line += " · " + strconv.Itoa(n) + " not shown"
	}
	line += " · filter: " + string(t.filter)
	if t.query != "" {
		line += " · search: " + OneLine(t.query)
	}
	return t.theme.Paint(t.theme.Accent, Cut(line, t.width))
}

// autoPan is how far the picture moves so that the selected row is seen.
func (t *Tree) autoPan() int {
	if t.sel < 0 {
		return 0
	}
	room := t.width - 2
	if at := cell * t.level(t.sel); at > room/2 {
		return at - room/3
	}
	return 0
}

func (t *Tree) level(row int) int {
	if seg := t.rows[row].seg; seg >= 0 {
		return t.segs[seg].level
	}
	return 0
}

// A piece is a part of a line that has one style.
type piece struct {
	text  string
	style lipgloss.Style
}

// row draws a row without its first shift columns.
func (t *Tree) row(i, shift int) string {
	r := t.rows[i]
	n := &t.nodes[r.node]
	th := t.theme
	mark, markStyle := "  ", th.Text
	if i == t.sel {
		mark, markStyle = "> ", th.Match
	}
	if shift > 0 {
		mark = mark[:1] + "‹"
	}
	room := t.width - 2
	from := shift / cell // the first level that is seen
	at := cell * min(from, t.level(i))
	pieces := []piece{{t.guides(i, from, from+room/cell+1), th.Dim}}

	dot, style := "· ", th.Dim
	if n.OnPath {
		dot, style = "• ", th.Text
	}
	end := ""
	if i == t.leafRow {
		dot, end = "● ", "  ← leaf"
	}
	pieces = append(pieces, piece{dot, th.Accent})
	if r.hidden > 0 {
		pieces = append(pieces, piece{fmt.Sprintf("[+%d] ", r.hidden), th.Warning})
	}
	if t.width >= timesFrom {
		clock := "--- -- --:--"
		if !n.Time.IsZero() {
			clock = n.Time.Format("Jan 02 15:04")
		}
		pieces = append(pieces, piece{clock + " ", th.Dim})
	}
	pieces = append(pieces, piece{OneLine(string(n.Kind)) + ": ", t.kindStyle(n.Kind)})
	if n.Label != "" {
		pieces = append(pieces, piece{"[" + Cut(OneLine(head(n.Label, 200)), 30) + "] ", th.Warning})
	}
	if i == t.sel {
		style = th.Bold
	}
	pieces = append(pieces, piece{OneLine(head(n.Text, 2000)), style})
	line := fit(th, pieces, shift-at, room-Width(end))
	return Cut(strings.TrimRight(th.Paint(markStyle, mark)+line+th.Paint(th.Match, end), " "), t.width)
}

// guides draws the levels from one to before another that stand left of a row.
func (t *Tree) guides(row, from, to int) string {
	r := t.rows[row]
	level := t.level(row)
	if level <= from {
		return ""
	}
	cells := make([]string, level-from)
	for seg, l := r.seg, level; l > from; seg, l = t.segs[seg].up, l-1 {
		s := t.segs[seg]
		switch {
		case l == level && r.first && s.last:
			cells[l-1-from] = "└─ "
		case l == level && r.first:
			cells[l-1-from] = "├─ "
		case s.last:
			cells[l-1-from] = "   "
		default:
			cells[l-1-from] = "│  "
		}
	}
	return strings.Join(cells[:min(len(cells), to-from)], "")
}

func (t *Tree) kindStyle(k NodeKind) lipgloss.Style {
	switch k {
	case NodeUser:
		return t.theme.User
	case NodeTool:
		return t.theme.Tool
	case NodeCompaction, NodeSummary:
		return t.theme.Box
	case NodeAssistant:
		return t.theme.Accent
	default:
		return t.theme.Dim
	}
}

// fit draws pieces without their first skip columns, in at most width columns.
func fit(t *Theme, pieces []piece, skip, width int) string {
	var b strings.Builder
	for i, p := range pieces {
		w := Width(p.text)
		if skip >= w {
			skip -= w
			continue
		}
		text := p.text
		if skip > 0 {
			text = skipColumns(text, skip)
			w, skip = Width(text), 0
		}
		if w > width || i < len(pieces)-1 && w == width {
			b.WriteString(t.Paint(p.style, Cut(text+ellipsis, width)))
			break
		}
		width -= w
		b.WriteString(t.Paint(p.style, text))
	}
	return b.String()
}

// skipColumns returns s without its first n columns. Half of a wide character is a
// space.
func skipColumns(s string, n int) string {
	for n > 0 && s != "" {
		c, w := cluster(s)
		s, n = s[len(c):], n-w
	}
	return strings.Repeat(" ", max(-n, 0)) + s
}
