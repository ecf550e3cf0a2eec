package widget

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	extast "github.com/yuin/goldmark/extension/ast"
)

// minColumn is how narrow a column is made that needs more, in columns of the
// terminal.
const minColumn = 8

// table draws a table as wide as it needs to be. One that is too wide has narrower
// columns with more lines; where they would be too narrow, each row is a list of
// what is in it.
func (d *markdownDrawing) table(n *extast.Table, m *margin) {
	var rows [][]string
	need := slices.Repeat([]int{1}, len(n.Alignments))
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		cells := make([]string, len(need))
		base := ink(0)
		if len(rows) == 0 {
			base = inkBold
		}
		cell := row.FirstChild()
		for i := range cells {
			if d.last = '\n'; cell != nil {
				cells[i] = d.inline(cell, base, true)
				cell = cell.NextSibling()
			}
			need[i] = max(need[i], Width(cells[i]))
		}
		rows = append(rows, cells)
	}
	const between = 3
	widths, ok := columnWidths(need, m.width-between*(len(need)-1))
	if !ok {
		d.records(rows, m)
		return
	}
	bars := make([]string, len(widths))
	for i, w := range widths {
		bars[i] = strings.Repeat("─", w)
	}
	rule := d.ink(strings.Join(bars, "─┼─"), inkDim)
	shrunk := !slices.Equal(widths, need) // rows of several lines need something between them
	for i, row := range rows {
		if i == 1 || i > 1 && shrunk {
			d.line(m, rule)
		}
		d.row(row, widths, n.Alignments, m)
	}
	if len(rows) == 1 {
		d.line(m, rule)
	}
}

// columnWidths shares room among columns: those that need little get what they need, the
// others the same. ok is false where that is too little.
func columnWidths(need []int, room int) (widths []int, ok bool) {
	narrowFirst := make([]int, len(need))
	for i := range need {
		narrowFirst[i] = i
	}
	slices.SortStableFunc(narrowFirst, func(a, b int) int { return need[a] - need[b] })
	widths = make([]int, len(need))
	for k, i := range narrowFirst {
		widths[i] = min(need[i], room/(len(need)-k))
		room -= widths[i]
		if widths[i] < min(need[i], minColumn) {
			return nil, false
		}
	}
	return widths, true
}

var positions = [...]lipgloss.Position{extast.AlignNone: lipgloss.Left, extast.AlignRight: lipgloss.Right, extast.AlignCenter: lipgloss.Center}

func (d *markdownDrawing) row(cells []string, widths []int, align []extast.Alignment, m *margin) {
	parts := make([][]string, len(cells))
	height := 1
	for i, c := range cells {
		parts[i] = wrapStyled(c, widths[i])
		height = max(height, len(parts[i]))
	}
	bar := " " + d.ink("│", inkDim) + " "
	for y := range height {
		var b strings.Builder
		for i, p := range parts {
			if i > 0 {
				b.WriteString(bar)
			}
			text := ""
			if y < len(p) {
				text = p[y]
			}
			b.WriteString(lipgloss.PlaceHorizontal(widths[i], positions[align[i]], text))
		}
		d.line(m, trimStyled(b.String()))
	}
}

// records draws each row as lines "head: cell", with an empty line between two rows.
func (d *markdownDrawing) records(rows [][]string, m *margin) {
	heads := make([]string, len(rows[0]))
	for i, h := range rows[0] {
		heads[i] = Cut(OneLine(ansi.Strip(h)), m.width/2)
	}
	if len(rows) == 1 {
		rows = append(rows, make([]string, len(heads)))
	}
	for i, row := range rows[1:] {
		if i > 0 {
			d.line(m, "")
		}
		for k, cell := range row {
			if heads[k] != "" {
				cell = d.ink(heads[k]+": ", inkBold) + cell
			}
			for y, l := range wrapStyled(cell, m.width-2) {
				if y > 0 {
					l = "  " + l
				}
				d.line(m, l)
			}
		}
	}
}
