package widget

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// An Option is an answer to a dialog.
type Option struct {
	Key  string // the key that chooses it: a character
	Text string
	Do   func() // what is to be done where it was chosen; nil for nothing
}

// A Question is what a dialog asks.
type Question struct {
	Title string
	// Body is what the question is about, in full: a command, a file. It comes first, is
	// wrapped and can be scrolled, and is never cut.
	Body string
	// Text explains it. Like everything here it is shown as Reveal gives it.
	Text string
	// Diff is a unified diff that is shown after them.
	Diff    string
	Options []Option
	// Safe is the option that is selected at first and that Escape chooses, an index. It is
	// the one that does nothing.
	Safe int
}

// Do does what an option stands for.
func (q *Question) Do(key string) {
	for _, o := range q.Options {
		if o.Key == key && o.Do != nil {
			o.Do()
		}
	}
}

// quiet is how long nobody may have typed before a key answers a dialog.
const quiet = 300 * time.Millisecond

// A Dialog asks the user something. A user who is typing while it appears does not
// answer it by accident: pastes never answer, and keys count only after 300 ms
// without one.
type Dialog struct {
	Question      // what it asks
	theme         *Theme
	now           func() time.Time
	since         time.Time // when it appeared, or the last key that did not count
	ready         bool
	sel           int
	width, height int
	bodyOf        body // what the lines of the scroller are made of
	scroller
}

// body says for what the body of a dialog was drawn.
type body struct {
	mode  Mode
	width int
	short bool // the options have a line each; they stand in full below the body
}

// NewDialog returns a dialog that appears now. now is the clock.
func NewDialog(t *Theme, q Question, now func() time.Time) *Dialog {
	d := &Dialog{theme: t, Question: q, now: now, sel: q.Safe}
	d.SetSize(80, 24)
	d.Appear()
	return d
}

// Appear says that the dialog is shown only now: it stood behind another one.
func (d *Dialog) Appear() { d.since, d.ready = d.now(), false }

// Ready says that keys count at once: it was opened by one.
func (d *Dialog) Ready() { d.ready = true }

// SetSize says how wide the dialog is and how many lines it may take.
func (d *Dialog) SetSize(width, height int) {
	d.width, d.height = max(width, 1), max(height, 1)
	of := body{d.theme.Mode, d.width, len(d.wrapped()) > max(d.height/2, len(d.Options))}
	if d.bodyOf != of {
		d.bodyOf = of
		if d.lines = d.body(); of.short {
			d.lines = append(append(d.lines, ""), d.wrapped()...)
		}
	}
	d.page = max(d.height-2-len(d.optionLines()), 1) // the rule with the title, and what is below the body
	d.move(0)
}

// Update takes a key or a paste. The result is a DoneMsg, a IgnoredMsg or
// nil.
func (d *Dialog) Update(msg tea.Msg) tea.Msg {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		d.early()
		return IgnoredMsg{msg}
	case tea.KeyPressMsg:
		if d.early() {
			return IgnoredMsg{msg}
		}
		return d.key(msg)
	}
	return nil
}

// early reports whether somebody was typing a moment ago.
func (d *Dialog) early() bool {
	if d.ready {
		return false
	}
	now := d.now()
	// A clock that was set back must not lock the user out.
	if gone := now.Sub(d.since); gone >= quiet || gone < 0 {
		d.ready = true
		return false
	}
	d.since = now
	return true
}

func (d *Dialog) key(k tea.KeyPressMsg) tea.Msg {
	n := len(d.Options)
	switch s := k.String(); s {
	case "up", "left", "shift+tab":
		d.sel = max(d.sel-1, 0) // it stops at the ends: beyond the last one is not the first
	case "down", "right", "tab":
		d.sel = min(d.sel+1, n-1)
	case "enter":
		return d.answer(d.sel)
	case "esc":
		return d.answer(d.Safe)
	default:
		if d.scroller.key(s) {
			break
		}
		at := slices.IndexFunc(d.Options, func(o Option) bool { return o.Key == s })
		if at < 0 {
			return IgnoredMsg{k}
		}
		return d.answer(at)
	}
	return nil
}

func (d *Dialog) answer(i int) tea.Msg { return DoneMsg{d.Options[i].Key} }

// body is all that may be scrolled.
func (d *Dialog) body() []string {
	t, w := d.theme, max(d.width-2, 1)
	var out []string
	add := func(lines []string) {
		if len(out) > 0 && len(lines) > 0 {
			out = append(out, "")
		}
		out = append(out, lines...)
	}
	if s := strings.TrimRight(d.Body, "\r\n "); s != "" {
		var lines []string
		for l := range strings.SplitSeq(Reveal(s), "\n") {
			for _, part := range hardWrap(l, w) {
				lines = append(lines, Cut(t.Paint(t.Tool, part), w))
			}
		}
		add(lines)
	}
	if s := strings.TrimRight(d.Text, "\r\n "); s != "" {
		add(Wrap(Reveal(s), w))
	}
	if strings.TrimSpace(d.Diff) != "" {
		add(Diff(t, d.Diff, w, 0))
	}
	return out
}

// optionLines draws the options, below each other. Long ones are wrapped: what is
// agreed to can be read in full.
func (d *Dialog) optionLines() []string {
	t := d.theme
	var out []string
	for i, o := range d.Options {
		mark, style := "  ", t.Text
		if i == d.sel {
			mark, style = "> ", t.Match
		}
		lines := Wrap(o.line(), max(d.width-2, 1))
		if d.bodyOf.short {
			lines = []string{o.line()}
		}
		for _, l := range lines {
			out = append(out, t.Paint(style, Cut(mark+l, d.width)))
			mark = "  "
		}
	}
	return out
}

func (o Option) line() string { return "[" + revealLine(o.Key) + "] " + revealLine(o.Text) }

// wrapped is the text of all options.
func (d *Dialog) wrapped() (out []string) {
	for _, o := range d.Options {
		out = append(out, Wrap(o.line(), max(d.width-2, 1))...)
	}
	return out
}

// revealLine is Reveal for a text of one line.
func revealLine(s string) string { return strings.Join(strings.Fields(Reveal(s)), " ") }

// Lines draws the dialog.
func (d *Dialog) Lines() []string {
	t := d.theme
	out := []string{t.Rule(t.Warning, revealLine(d.Title), d.width)}
	for _, l := range d.shown() {
		out = append(out, Cut(strings.TrimRight("  "+l, " "), d.width))
	}
	if where := d.where(); where != "" {
		out = append(out, t.Paint(t.Warning, Cut("  "+where+"; PgUp and PgDn show the rest", d.width)))
	} else if len(d.lines) > 0 {
		out = append(out, "")
	}
	out = append(out, d.optionLines()...)
	if len(out) > d.height { // a tiny screen: the options matter most
		out = out[len(out)-d.height:]
	}
	return out
}
