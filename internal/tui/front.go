package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/internal/tui/widget"
)

var _ front = (*ui)(nil)

func (u *ui) host() chat.Host { return u.cfg.Host }

func (u *ui) previews() bool { return !u.cfg.NoPreview }

func (u *ui) offer(text string) bool { return u.ed.Offer(text) }

func (u *ui) copy(text string) {
	u.do(tea.SetClipboard(text))
	u.note("copied, as far as the terminal lets programs do that")
}

func (u *ui) tree(nodes []widget.Node, do func(t treeFront, msg any)) {
	t := &treeView{Tree: widget.NewTree(u.theme), u: u}
	t.SetNodes(nodes)
	t.do = func(msg any) { do(t, msg) }
	u.open(t)
}

func (t *treeView) leave() { t.u.close(t) }

// leave closes the list, if it is shown.
func (l *list) leave() {
	if l.view != nil {
		l.view.u.close(l.view)
	}
}

// changing keeps what is sent until it is known where it goes.
func (u *ui) changing() { u.switching = true }

func (u *ui) changed(err error) {
	u.switching = false
	if err == nil {
		a := u.cfg.Host.Agent()
		u.asks, u.boxes, u.held, u.retry, u.over = nil, nil, nil, nil, nil
		u.ends, u.seen = map[string]widget.Status{}, map[string]bool{}
		u.log.rebuild(nil)
		u.log.items, u.log.live = nil, nil
		u.log.end()
		u.state, u.queue = a.State(), a.Queue()
		u.load()
		for _, q := range a.Questions() {
			u.asked(q)
		}
	}
	u.next()
}

// headForm is a form with something to read above it.
type headForm struct {
	*formView
	head  []string
	lines []string
	theme *widget.Theme
}

// editWith lets the user change a text after reading something about it.
func (u *ui) editWith(head []string, title, text string, done func(string)) {
	h := &headForm{head: head}
	h.formView = &formView{Form: widget.NewForm(u.theme, title, text), u: u, self: h, done: done}
	u.open(h)
}

func (h *headForm) setTheme(t *widget.Theme) { h.theme = t; h.SetTheme(t) }

func (h *headForm) setSize(width, height int) {
	h.lines = h.lines[:0]
	for _, l := range h.head {
		for _, l := range widget.Wrap(widget.Sanitize(l), width) {
			h.lines = append(h.lines, h.theme.Paint(h.theme.Text, l))
		}
	}
	h.lines = h.lines[:min(len(h.lines), max(height-5, 0))]
	h.SetSize(width, height-len(h.lines))
}

func (h *headForm) view() string {
	return strings.Join(append(append([]string(nil), h.lines...), h.View()), "\n")
}

func (h *headForm) cursor() *tea.Cursor {
	c := h.Cursor()
	c.Y += len(h.lines)
	return c
}
