package tui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/internal/tui/widget"
)

// overlay is something that the user has opened and that takes the place of the
// transcript and the editor.
type overlay interface {
	SetSize(width, height int)
	SetTheme(*widget.Theme)
	View() string
	Cursor() *tea.Cursor
	update(tea.Msg)
}

// open puts an overlay on top of what is there.
func (u *ui) open(o overlay) {
	o.SetTheme(u.theme)
	u.over = append(u.over, o)
}

// close takes an overlay away.
func (u *ui) close(o overlay) {
	u.over = slices.DeleteFunc(slices.Clone(u.over), func(x overlay) bool { return x == o })
	if d := u.dialog(); d != nil {
		d.Appear() // it is seen only now
	}
}

// pager shows a text that may be long.
type pager struct {
	u             *ui
	title         string
	text          func(width int) string
	theme         *widget.Theme
	width, height int
	lines         []string
	top           int
	diff          bool   // the text is a unified diff
	insert        func() // i puts it into the editor; nil: it does not
}

// show opens a text to read.
func (u *ui) show(title string, text func(width int) string) {
	u.open(&pager{u: u, title: title, text: text})
}

func (u *ui) showDiff(title, unified string) {
	u.open(&pager{u: u, title: title, text: func(int) string { return unified }, diff: true})
}

// showText opens a text as it is; i puts it into the editor.
func (u *ui) showText(title, text string) {
	p := &pager{u: u, title: title, text: func(int) string { return text }}
	p.insert = func() {
		if u.ed.Offer(text) {
			u.over = u.over[:1]
			u.close(u.over[0])
			return
		}
		u.note("the editor is not empty: nothing was put into it")
		u.close(p)
	}
	u.open(p)
}

func (p *pager) SetTheme(t *widget.Theme) { p.theme = t }

func (p *pager) SetSize(width, height int) {
	if width != p.width || p.lines == nil {
		if p.diff {
			p.lines = widget.Diff(p.theme, p.text(width), width, 0)
		} else {
			p.lines = widget.Wrap(widget.Sanitize(p.text(width)), width)
		}
	}
	p.width, p.height = width, height
	p.move(0)
}

func (p *pager) page() int { return max(p.height-2, 1) }

func (p *pager) move(n int) { p.top = max(min(p.top+n, len(p.lines)-p.page()), 0) }

func (p *pager) update(msg tea.Msg) {
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		p.move(wheel(msg))
	case tea.KeyPressMsg:
		switch msg.String() {
		case "up", "k":
			p.move(-1)
		case "down", "j":
			p.move(1)
		case "pgup", "b":
			p.move(-p.page())
		case "pgdown", "space", "enter":
			p.move(p.page())
		case "home", "g":
			p.move(-len(p.lines))
		case "end", "G":
			p.move(len(p.lines))
		case "i":
			if p.insert != nil {
				p.insert()
			}
		case "esc", "q":
			p.u.close(p)
		}
	}
}

func (p *pager) Cursor() *tea.Cursor { return nil }

func (p *pager) View() string {
	t := p.theme
	out := []string{t.Rule(t.Accent, p.title, p.width)}
	end := min(p.top+p.page(), len(p.lines))
	for _, l := range p.lines[p.top:end] {
		out = append(out, widget.Cut(l, p.width))
	}
	for len(out) < p.height-1 {
		out = append(out, "")
	}
	help := "Esc leave"
	if len(p.lines) > p.page() {
		help += " · lines " + strconv.Itoa(p.top+1) + "–" + strconv.Itoa(end) + " of " + strconv.Itoa(len(p.lines)) + " · ↑↓ PgUp PgDn"
	}
	if p.insert != nil {
		help += " · i put it into the editor"
	}
	return strings.Join(append(out, t.Paint(t.Dim, widget.Cut(help, p.width))), "\n")
}

// wheelLines is how far a turn of the mouse wheel goes.
const wheelLines = 3

func wheel(m tea.MouseWheelMsg) int {
	switch m.Button {
	case tea.MouseWheelUp:
		return -wheelLines
	case tea.MouseWheelDown:
		return wheelLines
	default:
		return 0
	}
}

// formView edits a text, below what there is to read about it.
type formView struct {
	*widget.Form
	u           *ui
	head, lines []string
	done        func(text string)
}

// edit lets the user change a line; Escape leaves it, and nothing is called.
func (u *ui) edit(title, text string, done func(string)) {
	u.open(&formView{Form: widget.NewLineForm(u.theme, title, text), u: u, done: done})
}

// editWith lets the user change a text after reading something about it.
func (u *ui) editWith(head []string, title, text string, note func(string) (string, bool), done func(string)) {
	f := &formView{Form: widget.NewForm(u.theme, title, text), u: u, head: head, done: done}
	f.Note = note
	u.open(f)
}

func (f *formView) SetSize(width, height int) {
	f.lines = f.lines[:0]
	for _, l := range f.head {
		for _, l := range widget.Wrap(widget.Sanitize(l), width) {
			f.lines = append(f.lines, f.u.theme.Paint(f.u.theme.Text, l))
		}
	}
	f.lines = f.lines[:min(len(f.lines), max(height-5, 0))]
	f.Form.SetSize(width, height-len(f.lines))
}

func (f *formView) View() string {
	return strings.Join(append(slices.Clone(f.lines), f.Form.View()), "\n")
}

func (f *formView) Cursor() *tea.Cursor {
	c := f.Form.Cursor()
	c.Y += len(f.lines)
	return c
}

func (f *formView) update(msg tea.Msg) {
	switch out := f.Update(msg).(type) {
	case widget.FormMsg:
		f.u.close(f)
		f.done(out.Text)
	case widget.FormCancelMsg:
		f.u.close(f)
	}
}

// dialogView asks the user something about what he or she has just done.
type dialogView struct {
	*widget.Dialog
	u        *ui
	question widget.Question
	then     func(option string)
}

// choose asks the user. Escape chooses the safe option. Keys typed before it
// appeared do not answer it; sudden says that it appears by itself, and not at a key.
func (u *ui) choose(q widget.Question, sudden bool, then func(option string)) {
	clock := u.cfg.Clock
	if !sudden {
		first := true
		clock = func() time.Time {
			now := u.cfg.Clock()
			if first {
				first = false
				return now.Add(-time.Minute)
			}
			return now
		}
	}
	u.open(&dialogView{Dialog: widget.NewDialog(u.theme, q, clock), u: u, question: q, then: then})
}

func (d *dialogView) update(msg tea.Msg) {
	switch out := d.Update(msg).(type) {
	case widget.DialogMsg:
		d.u.close(d)
		d.then(out.ID)
	case widget.DialogIgnoredMsg:
		if len(d.u.over) == 1 { // it was meant for the editor
			d.u.toEditor(out.Msg)
		}
	}
}

// pickView lets the user take one of a list.
type pickView struct {
	*widget.Picker
	u *ui
	l *list
}

// list is a list to take from. The functions may be nil.
type list struct {
	widget.PickerOptions
	items []widget.Item
	at    string // selected at first

	picked  func(id string)
	deleted func(id string)
	renamed func(id, name string)
	key     func(key, id string)

	view *pickView
}

// set replaces the items.
func (l *list) set(items []widget.Item) {
	l.items = items
	if l.view != nil {
		l.view.SetItems(items)
	}
}

// leave closes the list, if it is shown.
func (l *list) leave() {
	if l.view != nil {
		l.view.u.close(l.view)
	}
}

// pick opens a list.
func (u *ui) pick(l *list) {
	l.Delete, l.Rename = l.deleted != nil, l.renamed != nil
	l.view = &pickView{Picker: widget.NewPicker(u.theme, l.PickerOptions, l.items), u: u, l: l}
	l.view.Select(l.at)
	u.open(l.view)
}

func (p *pickView) update(msg tea.Msg) {
	switch out := p.Update(msg).(type) {
	case widget.PickMsg:
		p.u.close(p)
		p.l.picked(out.ID)
	case widget.PickDeleteMsg:
		p.l.deleted(out.ID)
	case widget.PickRenameMsg:
		p.l.renamed(out.ID, out.Name)
	case widget.PickKeyMsg:
		p.l.key(out.Key, out.ID)
	case widget.PickCancelMsg:
		p.u.close(p)
	}
}

// treeView shows the tree of the session.
type treeView struct {
	*widget.Tree
	u     *ui
	nodes []widget.Node
	do    func(msg any)
}

func (t *treeView) update(msg tea.Msg) {
	switch out := t.Update(msg).(type) {
	case nil:
	case widget.TreeCancelMsg:
		t.u.close(t)
	default:
		t.do(out)
	}
}

// tree opens the tree.
func (u *ui) tree(nodes []widget.Node, do func(t *treeView, msg any)) {
	t := &treeView{Tree: widget.NewTree(u.theme), u: u}
	t.SetNodes(nodes)
	t.do = func(msg any) { do(t, msg) }
	u.open(t)
}

func (t *treeView) leave() { t.u.close(t) }

// SetNodes replaces the nodes.
func (t *treeView) SetNodes(nodes []widget.Node) {
	t.nodes = nodes
	t.Tree.SetNodes(nodes)
}
