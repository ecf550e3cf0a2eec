package widget

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/internal/text"
)

// A Form lets the user edit a text: a summary before it is applied, a label. Ctrl+S
// is done, Escape leaves it; where something was changed, Escape asks to be pressed again.
type Form struct {
	// Head is what there is to read about the text, above it.
	Head []string
	// Note says something about the text as it stands, such as its size; bad: that it can't
	// be taken, which the form then does not do. Nil: the form counts characters.
	Note func(text string) (note string, bad bool)

	Title string // what the text is
	Text  string // as it was given

	theme         *Theme
	given         string // as it can be typed
	rest          string // what the form has no room for: it stays as it is
	single        bool
	leaving       bool
	in            *input
	width, height int
}

// mostFormLines is how many lines can be edited: the text area of bubbles has an end.
const mostFormLines = 5_000

// NewForm returns a form with a text to edit.
func NewForm(t *Theme, title, given string) *Form {
	f := &Form{theme: t, Title: title, Text: given, given: typable(given), in: newInput("")}
	if lines := strings.SplitAfter(f.given, "\n"); len(lines) > mostFormLines {
		f.given, f.rest = strings.Join(lines[:mostFormLines], ""), strings.Join(lines[mostFormLines:], "")
	}
	f.SetSize(80, 24)
	f.in.set(f.given, 0)
	return f
}

// NewLineForm returns a form for a text of one line: Enter is done too.
func NewLineForm(t *Theme, title, text string) *Form {
	f := NewForm(t, title, OneLine(text))
	f.single = true
	f.in.set(f.given, len(f.given))
	return f
}

// SetSize says how many columns and lines the form has.
func (f *Form) SetSize(width, height int) {
	f.width, f.height = max(width, 1), max(height, 1)
	f.in.setSize(f.width, max(f.height-len(f.head())-2, 1))
}

// head is what stands above the text, as far as there is room.
func (f *Form) head() (out []string) {
	for _, l := range f.Head {
		for _, l := range Wrap(Sanitize(l), f.width) {
			out = append(out, f.theme.Paint(f.theme.Text, l))
		}
	}
	return out[:min(len(out), max(f.height-5, 0))]
}

// Update takes a key or a paste. The result is a DoneMsg, a LeaveMsg or nil.
func (f *Form) Update(msg tea.Msg) tea.Msg {
	leaving := f.leaving
	f.leaving = false
	switch msg := msg.(type) {
	case tea.PasteMsg:
		s := msg.Content
		if f.single {
			s = OneLine(s)
		}
		f.in.insert(s)
	case tea.KeyPressMsg:
		switch s := msg.String(); {
		case s == "ctrl+s", s == "enter" && f.single:
			if _, bad := f.note(); bad {
				return nil // the note says why
			}
			return DoneMsg{f.result()}
		case s == "esc":
			if leaving || f.in.text() == f.given {
				return LeaveMsg{}
			}
			f.leaving = true
		case f.single && (s == "shift+enter" || s == "alt+enter" || s == "ctrl+j"):
		default:
			f.in.key(msg)
		}
	}
	return nil
}

// result is the text; one that was not changed is as it was given.
func (f *Form) result() string {
	if text := f.in.text(); text != f.given {
		return text + f.rest
	}
	return f.Text
}

// Cursor returns where the cursor belongs, counted from the corner of the view.
func (f *Form) Cursor() *tea.Cursor {
	c := f.in.cursor()
	c.Y += len(f.head())
	if f.height > 1 {
		c.Y++
	}
	return c
}

// Lines draws the form.
func (f *Form) Lines() []string {
	t := f.theme
	out := f.head()
	if f.height > 1 {
		out = append(out, t.Rule(t.Accent, f.Title, f.width))
	}
	out = append(out, f.in.lines()...)
	if f.height > 2 {
		out = append(out, f.bottom())
	}
	return out
}

// note says something about the text as it stands.
func (f *Form) note() (string, bool) {
	switch {
	case f.Note != nil:
		return f.Note(f.result())
	case f.single:
		return "", false
	}
	return text.Counted(utf8.RuneCountInString(f.in.text()), "character"), false
}

// bottom is the last line: what the form says of the text, and its keys.
func (f *Form) bottom() string {
	t := f.theme
	if f.leaving {
		return t.Paint(t.Warning, Cut("Esc again throws your changes away; any other key goes on", f.width))
	}
	note, bad := f.note()
	style := t.Dim
	if bad {
		style = t.Error
	}
	keys := []string{"Ctrl+S", "done", "Esc", "leave it as it was", "Ctrl+Z", "undo"}
	if f.single {
		keys = []string{"Enter", "done", "Esc", "leave it as it was"}
	}
	if note == "" {
		return Hints(t, f.width, keys...)
	}
	note = Cut(note, f.width)
	return Cut(t.Paint(style, note)+t.Paint(t.Dim, Gap)+Hints(t, max(f.width-Width(note)-Width(Gap), 0), keys...), f.width)
}
