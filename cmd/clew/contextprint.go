package main

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/tui"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/message"
)

// shownContext is what context prints.
type shownContext struct {
	*contextView
	file kept
	full bool // the messages whole
}

func (c *shownContext) text(rep *report) {
	v := c.contextView
	d := contextDrawer{w: rep.w, p: rep.p, v: v, columns: rep.wide}
	d.ids = v.idWidth()
	d.head(c.file)
	d.usage()
	for _, l := range tui.Categories(v.reading, number, func(bar string) string { return d.p.paint(styleBlue, bar) }) {
		d.line("  " + l)
	}
	d.line("")
	for i := range v.Items {
		if c.full {
			d.whole(i)
		} else {
			d.item(i)
		}
	}
}

func (v *contextView) idWidth() int {
	ids := make([]string, len(v.Items))
	for i, it := range v.Items {
		ids[i] = it.Entry.ID
	}
	return shortest(ids, 8)
}

type contextDrawer struct {
	w       *bufio.Writer
	p       painter
	v       *contextView
	ids     int
	columns int
}

func (d *contextDrawer) line(s string) { d.w.WriteString(strings.TrimRight(s, " ") + "\n") }

// fact writes a line of the head.
func (d *contextDrawer) fact(name, text string) {
	d.line(d.p.paint(styleDim, pad(name, 12)) + cut(text, d.columns-12))
}

func (d *contextDrawer) head(s kept) {
	h := s.Header()
	line := "session " + printable(h.ID)
	if cwd := printable(tilde(h.Cwd)); cwd != "" {
		line += " of " + cwd
	}
	d.line(d.p.paint(styleBold, cut(line, d.columns)))
	if d.v.leaf == "" {
		d.fact("leaf", "none: the session has no entries")
	} else {
		d.fact("leaf", short(d.v.leaf, maxID))
	}
	model := "not known"
	if d.v.model.ID != "" {
		model = printable(d.v.model.Provider + "/" + d.v.model.ID)
		if d.v.modelBy == fromFlag {
			model += " (asked for)"
		}
	}
	if d.v.level != "" && d.v.level != "off" {
		model += ", thinking " + printable(d.v.level)
	}
	d.fact("model", model)
	if c := d.v.Compaction; c != nil {
		view, _ := c.Compaction()
		kept := "nothing kept before it"
		if view.FirstKeptEntryID != c.ID && d.keeps(view.FirstKeptEntryID) {
			kept = "kept from " + short(view.FirstKeptEntryID, d.ids)
		}
		d.fact("compaction", short(c.ID, d.ids)+", "+kept+", "+number(view.TokensBefore)+" tokens before it")
	}
	if d.v.edited+d.v.omitted > 0 {
		d.fact("edits", fmt.Sprintf("%s changed, %s left out", count(d.v.edited, "message"), number(int64(d.v.omitted))))
	}
	d.fact("messages", number(int64(len(d.v.Items)))+", with "+count(d.v.calls, "tool call"))
}

// keeps reports whether an entry is among those the compaction kept.
func (d *contextDrawer) keeps(id string) bool {
	for _, e := range d.v.Active {
		if e.ID == id {
			return true
		}
	}
	return false
}

// usage draws how full the window is.
func (d *contextDrawer) usage() {
	r, b := d.v.reading, d.v.budget
	windowBy := map[string]string{fromFlag: "asked for", fromModel: "of the model", fromGateway: "that the gateway kept to", fromDefault: "assumed; --window sets it"}[d.v.windowBy]
	d.fact("window", number(b.Window)+" tokens ("+windowBy+")")
	st := styleGreen
	switch {
	case r.Guarded() > b.Limit:
		st = styleRed
	case r.Guarded() > b.Limit/10*8:
		st = styleYellow
	}
	const barWidth = 40
	full, rest := widget.Bar(r.Tokens, b.Window, b.Limit, barWidth)
	d.line(d.p.paint(st, full) + d.p.paint(styleDim, rest) + "  " + d.p.paint(styleBold, number(r.Tokens)+" tokens, "+widget.Percent(float64(r.Tokens)/float64(b.Window))))
	by := ""
	if r.Anchor >= 0 {
		by = "at " + short(d.v.Items[r.Anchor].Entry.ID, d.ids)
	}
	d.fact("measured", tui.Measured(r, by, number))
	if c := d.v.learned; c.Calls > 0 {
		d.fact("calibrated", fmt.Sprintf("estimates times %.2f, learnt from %s in the log", c.Factor(), count(int(c.Calls), "call")))
	}
	d.fact("limit", number(b.Limit)+" tokens, "+number(b.Reserve)+" reserved for the answer")
	switch {
	case r.Guarded() <= b.Limit:
		d.fact("left", number(b.Limit-r.Tokens)+" tokens")
	case r.Tokens <= b.Limit:
		d.fact("left", number(b.Limit-r.Tokens)+" tokens: too few, as estimates may be low; clew compact makes room")
	default:
		d.fact("over", number(r.Tokens-b.Limit)+" tokens; clew compact makes room")
	}
	d.fact("request", "about "+size(r.Bytes))
}

// columns of an item before its text
func (d *contextDrawer) left(i int) (plain, painted string) {
	it := d.v.Items[i]
	no := padLeft(fmt.Sprint(i+1), len(fmt.Sprint(len(d.v.Items))))
	id := pad(short(it.Entry.ID, d.ids), d.ids)
	kind := pad(cut(printable(kindOf(it.Message.Role)), 10), 10)
	tokens := padLeft(number(d.v.meter.Message(it.Message)), 9)
	plain = no + "  " + id + "  " + kind + "  " + tokens + "  "
	painted = d.p.paint(styleDim, no) + "  " + d.p.paint(styleYellow, id) + "  " + d.p.paint(roleStyle(it.Message.Role), kind) + "  " + tokens + "  "
	return plain, painted
}

func (d *contextDrawer) item(i int) {
	plain, painted := d.left(i)
	note := ""
	if d.v.Items[i].Edit != nil {
		note = "(edited) "
	}
	room := max(d.columns-textWidth(plain)-len(note), 10)
	text, tail := messageLine(d.v.Items[i].Message)
	d.line(painted + d.p.paint(styleYellow, note) + fit(text, tail, room))
}

// whole writes a message with all its text.
func (d *contextDrawer) whole(i int) {
	it := d.v.Items[i]
	_, painted := d.left(i)
	head := d.p.paint(styleDim, "── ") + strings.TrimRight(painted, " ") + " tokens"
	if it.Edit != nil {
		head += d.p.paint(styleYellow, "  (edited by "+short(it.Edit.ID, d.ids)+")")
	}
	d.line(head)
	d.body(it.Message)
	d.line("")
}

// body writes what a message says, as clew recall does.
func (d *contextDrawer) body(m *message.Message) {
	if m.Role == message.RoleToolResult {
		d.w.WriteString(d.p.paint(styleDim, "["+headline(messageTool(m))+"]") + "\n")
	}
	if s := strings.TrimRight(printableText(recall.Text(m)), " \n"); s != "" {
		d.w.WriteString(s + "\n")
	}
}

func messageTool(m *message.Message) string {
	if m.IsError {
		return m.ToolName + " failed"
	}
	return m.ToolName
}

func roleStyle(r message.Role) style {
	switch r {
	case message.RoleUser:
		return styleGreen
	case message.RoleAssistant:
		return styleCyan
	case message.RoleCompactionSummary, message.RoleBranchSummary:
		return stylePurple
	default:
		return styleDim
	}
}
