package widget

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

const searchLabel = "search history: "

// View draws the editor: what is offered, a rule, and the text.
func (e *Editor) View() string { return strings.Join(e.lines(), "\n") }

// Height returns how many lines View draws.
func (e *Editor) Height() int { return len(e.lines()) }

// Cursor returns where the cursor of the terminal belongs, counted from the corner of
// the view.
func (e *Editor) Cursor() *tea.Cursor {
	above := len(e.offered())
	if s := e.search; s != nil {
		return tea.NewCursor(min(Width(searchLabel+e.shownQuery()), e.width-1), above)
	}
	c := e.box.cursor()
	c.Y += above + 1
	return c
}

func (e *Editor) lines() []string {
	out := e.offered()
	if e.search != nil {
		out = append(out, Cut(e.theme.Paint(e.theme.Accent, searchLabel)+e.shownQuery(), e.width))
	} else {
		out = append(out, e.theme.Paint(e.theme.Dim, strings.Repeat("─", e.width)))
	}
	if e.Empty() {
		return append(out, Cut(strings.TrimRight(e.box.prompt+e.theme.Paint(e.theme.Dim, e.placeholder), " "), e.width))
	}
	return append(out, e.box.lines()...)
}

// shownQuery is the end of the query, which is where the user types.
func (e *Editor) shownQuery() string {
	q := e.search.query
	for room := max(e.width-len(searchLabel)-1, 1); Width(q) > room; {
		c, _ := cluster(q)
		q = q[len(c):]
	}
	return q
}

func (e *Editor) offered() []string {
	most := min(maxPopup, max(e.height/3, 1))
	switch {
	case e.search != nil && len(e.search.hits) == 0:
		return []string{e.theme.Paint(e.theme.Dim, Cut("  nothing in the history fits; Esc closes", e.width))}
	case e.search != nil:
		return e.search.pop.lines(e.theme, e.width, most)
	case e.pop != nil:
		return e.pop.lines(e.theme, e.width, most)
	}
	return nil
}
