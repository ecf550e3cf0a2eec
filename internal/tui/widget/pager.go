package widget

import (
	"strconv"

	tea "charm.land/bubbletea/v2"
)

// What a pager, a form, a dialog and a picker say.
type (
	// DoneMsg says what the user has taken, chosen or written: the id of an item, the key of
	// an option, or a text.
	DoneMsg struct{ Value string }
	// KeyMsg says that a key was pressed that a program gives a meaning to. ID is the
	// selected item, "" for none.
	KeyMsg struct{ Key, ID string }
	// LeaveMsg says that the user leaves everything as it was.
	LeaveMsg struct{}
	// IgnoredMsg gives back a key or a paste that did not count because it came too early,
	// or that means nothing here. It was meant for what stood there before: a program
	// passes it on to the editor.
	IgnoredMsg struct{ Msg tea.Msg }
)

// A scroller is lines of which some are on the screen.
type scroller struct {
	lines     []string
	top, page int
}

func (s *scroller) move(n int) { s.top = max(min(s.top+n, len(s.lines)-s.page), 0) }

// key does what a key means; false when it means nothing.
func (s *scroller) key(k string) bool {
	switch k {
	case "pgup":
		s.move(-s.page)
	case "pgdown", "space":
		s.move(s.page)
	case "home":
		s.move(-len(s.lines))
	case "end":
		s.move(len(s.lines))
	default:
		return false
	}
	return true
}

func (s *scroller) shown() []string { return s.lines[s.top:min(s.top+s.page, len(s.lines))] }

// where says which lines are shown; "" for all.
func (s *scroller) where() string {
	if len(s.lines) <= s.page {
		return ""
	}
	return "lines " + strconv.Itoa(s.top+1) + "–" + strconv.Itoa(s.top+len(s.shown())) + " of " + strconv.Itoa(len(s.lines))
}

// A Pager shows a text that may be long.
type Pager struct {
	Theme  *Theme
	Title  string
	Text   func(width int) string
	Diff   bool   // the text is a unified diff
	Insert string // what the key i does, which the pager says as a KeyMsg; "" for nothing

	mode          Mode // for which the lines are made, and the width
	width, height int
	scroller
}

// SetSize says how many columns and lines the pager has.
func (p *Pager) SetSize(width, height int) {
	if width != p.width || p.Theme.Mode != p.mode {
		if text := p.Text(width); p.Diff {
			p.lines = Diff(p.Theme, text, width, 0)
		} else {
			p.lines = Wrap(Sanitize(text), width)
		}
	}
	p.mode, p.width, p.height, p.page = p.Theme.Mode, width, height, max(height-2, 1)
	p.move(0)
}

// Wheel is how many lines a turn of the mouse wheel goes down.
var Wheel = map[tea.MouseButton]int{tea.MouseWheelUp: -3, tea.MouseWheelDown: 3}

// pagerKeys are other names of keys.
var pagerKeys = map[string]string{"b": "pgup", "enter": "pgdown", "g": "home", "G": "end"}

// Update takes a key or a turn of the wheel. The result is a KeyMsg, a LeaveMsg or nil.
func (p *Pager) Update(msg tea.Msg) tea.Msg {
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		p.move(Wheel[msg.Button])
	case tea.KeyPressMsg:
		s := msg.String()
		if name, ok := pagerKeys[s]; ok {
			s = name
		}
		switch {
		case s == "up" || s == "k":
			p.move(-1)
		case s == "down" || s == "j":
			p.move(1)
		case s == "esc" || s == "q":
			return LeaveMsg{}
		case s == "i" && p.Insert != "":
			return KeyMsg{Key: "i"}
		default:
			p.key(s)
		}
	}
	return nil
}

// Lines draws the pager.
func (p *Pager) Lines() []string {
	out := append([]string{p.Theme.Rule(p.Theme.Accent, p.Title, p.width)}, p.shown()...)
	for len(out) < p.height-1 {
		out = append(out, "")
	}
	help := "Esc leave"
	if where := p.where(); where != "" {
		help += " · " + where + " · ↑↓ PgUp PgDn"
	}
	if p.Insert != "" {
		help += " · i " + p.Insert
	}
	return append(out, p.Theme.Paint(p.Theme.Dim, Cut(help, p.width)))
}
