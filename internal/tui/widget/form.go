package widget

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// A FormMsg says that the user is done with a text.
type FormMsg struct{ Text string }

// A FormCancelMsg says that the user has left a text as it was.
type FormCancelMsg struct{}

// A Form lets the user edit a text: a summary before it is applied, a label. Ctrl+S
// is done, Escape leaves it; where something was changed, Escape asks to be pressed again.
type Form struct {
	theme         *Theme
	title         string
	original      string // as it was given
	given         string // as it can be typed
	single        bool
	leaving       bool
	box           textbox
	undo          undoStack
	width, height int
}

// NewForm returns a form with a text to edit.
func NewForm(t *Theme, title, text string) *Form {
	f := &Form{theme: t, title: title, original: text, box: newTextbox("")}
	f.SetSize(80, 24)
	f.box.set(text, 0)
	f.given = f.box.text()
	return f
}

// NewLineForm returns a form for a text of one line: Enter is done too.
func NewLineForm(t *Theme, title, text string) *Form {
	f := NewForm(t, title, OneLine(text))
	f.single = true
	f.box.moveTo(len(f.box.units))
	return f
}

// SetTheme changes how the form looks.
func (f *Form) SetTheme(t *Theme) { f.theme = t }

// SetSize says how many columns and lines the form has.
func (f *Form) SetSize(width, height int) {
	f.width, f.height = max(width, 1), max(height, 1)
	f.box.setSize(f.width, max(f.height-2, 1))
}

// Update takes a key or a paste. The result is a FormMsg, a FormCancelMsg or nil.
func (f *Form) Update(msg tea.Msg) tea.Msg {
	before := snapshot{f.box.text(), len(f.box.before())}
	typed := false
	switch msg := msg.(type) {
	case tea.PasteMsg:
		f.leaving = false
		s := msg.Content
		if f.single {
			s = OneLine(s)
		}
		f.box.insert(s)
	case tea.KeyPressMsg:
		leaving := f.leaving
		f.leaving = false
		switch s := msg.String(); {
		case s == "ctrl+s", s == "enter" && f.single:
			return FormMsg{f.result()}
		case s == "esc":
			if leaving || f.box.text() == f.given {
				return FormCancelMsg{}
			}
			f.leaving = true
		case s == "ctrl+z", s == "ctrl+_":
			f.restore(f.undo.back(before))
			return nil
		case s == "ctrl+y", s == "ctrl+shift+z":
			f.restore(f.undo.forth(before))
			return nil
		case f.single && (s == "shift+enter" || s == "alt+enter" || s == "ctrl+j"):
		default:
			f.box.key(msg)
			typed = msg.Text != "" && msg.Text != " "
		}
	}
	if f.box.text() != before.text {
		f.undo.push(before, typed)
	}
	return nil
}

// result is the text; one that was not changed is as it was given.
func (f *Form) result() string {
	if text := f.box.text(); text != f.given {
		return text
	}
	return f.original
}

func (f *Form) restore(s snapshot, ok bool) {
	if ok {
		f.box.set(s.text, s.at)
	}
}

// View draws the form.
func (f *Form) View() string { return strings.Join(f.lines(), "\n") }

// Height returns how many lines View draws.
func (f *Form) Height() int { return len(f.lines()) }

// Cursor returns where the cursor belongs, counted from the corner of the view.
func (f *Form) Cursor() *tea.Cursor {
	c := f.box.cursor()
	if f.height > 1 {
		c.Y++
	}
	return c
}

func (f *Form) lines() []string {
	t := f.theme
	var out []string
	if f.height > 1 {
		title := Cut("── "+OneLine(f.title)+" ", f.width)
		out = append(out, t.Paint(t.Accent, title+strings.Repeat("─", max(f.width-Width(title), 0))))
	}
	out = append(out, f.box.lines()...)
	if f.height > 2 {
		help, style := "Ctrl+S done · Esc leave it as it was · Ctrl+Z undo", t.Dim
		if f.single {
			help = "Enter done · Esc leave it as it was"
		}
		if n := utf8.RuneCountInString(f.box.text()); !f.single {
			help += " · " + countOf(n, "character")
		}
		if f.leaving {
			help, style = "Esc again throws your changes away; any other key goes on", t.Warning
		}
		out = append(out, t.Paint(style, Cut(help, f.width)))
	}
	return out
}
