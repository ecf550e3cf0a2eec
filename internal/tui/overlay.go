package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/internal/tui/widget"
)

// view is a widget that takes the place of the transcript and the editor.
type view interface {
	SetSize(width, height int)
	Lines() []string
	Update(tea.Msg) tea.Msg
}

// overlay is something that the user has opened.
type overlay struct {
	view
	done  func(value string)   // what the user has taken, chosen or written
	key   func(key, id string) // of keys that the widget leaves to us
	stays bool                 // done does not close it
}

// open puts an overlay on top of what is there.
func (u *ui) open(v view, done func(value string)) *overlay {
	o := &overlay{view: v, done: done}
	u.over = append(u.over, o)
	return o
}

// close takes an overlay away.
func (u *ui) close(o *overlay) {
	u.over = slices.DeleteFunc(slices.Clone(u.over), func(x *overlay) bool { return x == o })
	if d := u.dialog(); d != nil {
		d.Appear() // it is seen only now
	}
}

// toOverlay gives a message to what is on top.
func (u *ui) toOverlay(msg tea.Msg) {
	o := u.over[len(u.over)-1]
	switch out := o.Update(msg).(type) {
	case widget.DoneMsg:
		if !o.stays {
			u.close(o)
		}
		o.done(out.Value)
	case widget.KeyMsg:
		o.key(out.Key, out.ID)
	case widget.LeaveMsg:
		u.close(o)
	case widget.IgnoredMsg:
		if len(u.over) == 1 { // it was meant for the editor
			u.toEditor(out.Msg)
		}
	}
}

// show opens a text to read.
func (u *ui) show(title string, text func(width int) string) {
	u.open(&widget.Pager{Theme: u.theme, Title: title, Text: text}, nil)
}

// showText opens a text as it is; i puts it into the editor.
func (u *ui) showText(title, text string) {
	o := u.open(&widget.Pager{Theme: u.theme, Title: title, Text: func(int) string { return text }, Insert: "put it into the editor"}, nil)
	o.key = func(string, string) {
		if u.ed.Offer(text) {
			u.over = u.over[:1]
			u.close(u.over[0])
			return
		}
		u.note("the editor is not empty: nothing was put into it")
		u.close(o)
	}
}

// edit lets the user change a line; Escape leaves it, and nothing is called.
func (u *ui) edit(title, text string, done func(string)) {
	u.open(widget.NewLineForm(u.theme, title, text), done)
}

// choose asks the user. Escape chooses the safe option. sudden says that it appears by
// itself, and not at a key: keys typed before it appeared do not answer it.
func (u *ui) choose(q widget.Question, sudden bool) {
	d := widget.NewDialog(u.theme, q, u.cfg.Clock)
	if !sudden {
		d.Ready()
	}
	u.open(d, q.Do)
}

// pick opens a list; at is selected at first.
func (u *ui) pick(o widget.PickerOptions, items []widget.Item, at string, picked func(id string)) (*widget.Picker, *overlay) {
	p := widget.NewPicker(u.theme, o, items)
	p.Select(at)
	return p, u.open(p, picked)
}
