package page

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// word is what a kind is called on the page.
var word = map[kind]string{
	kindUser: "User", kindInjected: "Put in", kindAssistant: "Assistant", kindResult: "Result", kindShell: "Shell",
	kindSystem: "System", kindCustom: "Extension", kindCompaction: "Compaction", kindBranch: "Branch summary",
	kindNote: "Note", kindUnknown: "Record",
}

// view says what the model sees of the path: from which entry on, and with which
// edits.
type view struct {
	before map[int]bool // entries that a summary stands for
	edits  map[int]int  // the edit in force, by target
}

func (p *Page) view() *view {
	v := &view{before: map[int]bool{}, edits: map[int]int{}}
	last := -1
	for k, i := range p.path {
		n := &p.nodes[i]
		switch {
		case n.kind == kindCompaction && n.ref != "":
			last = k
		case n.kind == kindEdit:
			if at, ok := p.byID[n.ref]; ok {
				v.edits[at] = i
			}
		}
	}
	if last < 0 {
		return v
	}
	kept := p.kept(p.path[last])
	for _, i := range p.path[:last] {
		if i == kept {
			break
		}
		v.before[i] = true
	}
	return v
}

// kept is the first entry that a compaction kept, -1 for none.
func (p *Page) kept(i int) int {
	at, ok := p.byID[p.nodes[i].ref]
	if !ok || at == i || p.nodes[i].ref == "" {
		return -1
	}
	return at
}

// entry writes what one entry says.
func (p *Page) entry(ctx context.Context, o *out, i int, e *session.Entry, v *view) error {
	n := &p.nodes[i]
	class := string(n.kind)
	if v.before[i] {
		class += " out"
	}
	if n.kind == kindNote {
		o.raw(`<p id="` + p.anchor(i) + `" class="` + class + `" data-i="` + strconv.Itoa(i) + `">`)
		o.text(n.line)
		p.badge(o, i)
		o.raw("</p>\n")
		return nil
	}
	m := messageOf(e)
	o.raw(`<article id="` + p.anchor(i) + `" class="` + class + `" data-i="` + strconv.Itoa(i) + `"`)
	if n.kind == kindCompaction {
		o.raw(` data-kept="` + strconv.Itoa(p.kept(i)) + `"`)
	}
	o.raw(">\n<header><b>" + word[n.kind] + "</b>")
	if m != nil {
		about(o, m)
	}
	p.badge(o, i)
	moment(o, e, m)
	o.raw(` <a class="id" href="#` + p.anchor(i) + `">#`)
	o.text(shortID(n.id))
	o.raw("</a></header>\n")
	switch {
	case e.Type == session.TypeCompaction:
		c, _ := e.Compaction()
		p.compaction(o, i, c.Summary, c.TokensBefore, c.SystemMessage)
	case e.Type == session.TypeBranchSummary:
		b, _ := e.BranchSummary()
		p.branch(o, b.Summary, b.FromID)
	case m == nil:
		unreadable(o, e)
	default:
		p.message(o, i, m)
	}
	if err := p.instead(ctx, o, i, m, v); err != nil {
		return err
	}
	o.raw("</article>\n")
	return nil
}

// messageOf is the message of an entry, or nil.
func messageOf(e *session.Entry) *message.Message {
	if m, ok := e.CustomMessage(); ok {
		return m
	}
	if m, err := e.Message(); err == nil {
		return m
	}
	return nil
}

// about writes what the head of a message says beside its role.
func about(o *out, m *message.Message) {
	switch m.Role {
	case message.RoleUser:
		if !m.UserWords() {
			said(o, "by "+originWord(m.Source()))
		}
	case message.RoleAssistant:
		said(o, cmp.Or(m.ResponseModel, m.Model))
	case message.RoleCustom:
		said(o, m.CustomType)
		if !m.Display {
			said(o, "not shown to the user")
		}
	case message.RoleBashExecution:
		if m.ExcludeFromContext {
			said(o, "not shown to the model")
		}
	default:
		if !m.Role.Known() {
			said(o, string(m.Role))
		}
	}
}

func originWord(or message.Origin) string {
	switch or {
	case message.OriginHook:
		return "a hook"
	case message.OriginShell:
		return "a command"
	case message.OriginTask:
		return "another agent"
	case message.OriginInjected, message.OriginUser:
	}
	return "a program"
}

func said(o *out, s string) {
	if s = line(s); s != "" {
		o.raw(" <span>")
		o.text(s)
		o.raw("</span>")
	}
}

func moment(o *out, e *session.Entry, m *message.Message) {
	at := e.Time()
	if at.IsZero() && m != nil {
		at = m.Time()
	}
	when(o, at)
}

// when writes a time, in UTC: the page says the same to everyone.
func when(o *out, at time.Time) {
	if at = at.UTC(); at.Year() < 1 || at.Year() > 9999 || at.IsZero() {
		return
	}
	o.raw(` <time datetime="` + at.Format("2006-01-02T15:04:05Z") + `">` + at.Format("2006-01-02 15:04") + `</time>`)
}

func (p *Page) message(o *out, i int, m *message.Message) {
	switch m.Role {
	case message.RoleBashExecution:
		shell(o, m)
	case message.RoleToolResult:
		result(o, m)
	case message.RoleSystem:
		system(o, m)
	case message.RoleCompactionSummary:
		p.compaction(o, i, m.Summary, m.TokensBefore, nil)
	case message.RoleBranchSummary:
		p.branch(o, m.Summary, m.FromID)
	case message.RoleUser:
		if !m.UserWords() {
			folded(o, "injected", line(m.Text()), func() { content(o, m) })
			return
		}
		content(o, m)
	case message.RoleCustom:
		if !m.Display {
			folded(o, "injected", line(m.Text()), func() { content(o, m) })
			return
		}
		content(o, m)
	default:
		content(o, m)
	}
	answer(o, m)
}

// folded writes what is open only when the reader asks for it.
func folded(o *out, class, summary string, body func()) {
	o.raw(`<details class="` + class + `"><summary>`)
	o.text(summary)
	o.raw("</summary>\n")
	body()
	o.raw("</details>\n")
}

// answer writes how an answer ended and what it cost.
func answer(o *out, m *message.Message) {
	switch m.StopReason {
	case message.StopError, message.StopAborted, message.StopLength:
		o.raw(`<p class="bad">`)
		switch m.StopReason {
		case message.StopAborted:
			o.raw("Cancelled")
		case message.StopLength:
			o.raw("Cut off: the answer was too long")
		default:
			o.raw("Failed")
		}
		if m.ErrorMessage != "" {
			o.raw(": ")
			o.text(m.ErrorMessage)
		}
		o.raw("</p>\n")
	default:
	}
	u := m.Usage
	if u == nil || u.Total() == 0 && u.Cost == 0 {
		return
	}
	o.raw(`<p class="usage">`)
	o.raw(number(u.Prompt()) + " tokens in")
	if u.CacheRead > 0 {
		o.raw(" (" + number(u.CacheRead) + " from the cache)")
	}
	o.raw(", " + number(u.Output) + " out")
	if u.Cost > 0 {
		o.raw(", " + dollars(u.Cost))
	}
	o.raw("</p>\n")
}

func dollars(f float64) string {
	if f < 0.01 {
		return fmt.Sprintf("$%.4f", f)
	}
	return fmt.Sprintf("$%.2f", f)
}

func (p *Page) compaction(o *out, i int, summary string, tokens int64, sys *message.Message) {
	o.raw("<p>What was said before was compacted")
	if tokens > 0 {
		o.raw(" from " + number(tokens) + " tokens")
	}
	o.raw("; it stands above as it was. From here on the model sees the summary")
	if at := p.kept(i); at >= 0 && p.nodes[i].ref != "" {
		o.raw(" and what was said from ")
		p.ref(o, at)
		o.raw(" on")
	} else {
		o.raw(" alone")
	}
	o.raw(".</p>\n")
	if sys != nil {
		folded(o, "more", "System text at this place", func() { system(o, sys) })
	}
	folded(o, "more", "Summary", func() { markdown(o, summary) })
}

func (p *Page) branch(o *out, summary, from string) {
	o.raw("<p>The conversation came here from another branch")
	if at, ok := p.byID[from]; ok && from != "" && p.nodes[at].shown() {
		o.raw(", which ended at ")
		p.ref(o, at)
	} else if ok {
		if at = p.above(at); at >= 0 {
			o.raw(", which ended at ")
			p.ref(o, at)
		}
	}
	o.raw(".</p>\n")
	folded(o, "more", "Summary of that branch", func() { markdown(o, summary) })
}

// unreadable writes a record that is no message that this package knows.
func unreadable(o *out, e *session.Entry) {
	why := "This record is of a type that clew does not know; the model sees nothing of it."
	if e.Type == session.TypeMessage {
		why = "This message can't be read; the model sees nothing of it."
	}
	o.raw("<p>" + why + "</p>\n")
	folded(o, "more", "The record", func() { pre(o, string(e.Raw())) })
}

// instead writes what edits make of an entry.
func (p *Page) instead(ctx context.Context, o *out, i int, m *message.Message, v *view) error {
	for _, at := range p.edits[i] {
		n := &p.nodes[at]
		if !n.omits && (m == nil || !session.Replaceable(m.Role)) {
			continue // such an edit has no effect
		}
		attr := ` data-e="` + strconv.Itoa(at) + `"`
		if p.on[i] && v.edits[i] != at {
			attr += " hidden"
		}
		if n.omits {
			o.raw(`<p class="instead"` + attr + ">An edit takes this out: the model does not see it.</p>\n")
			continue
		}
		e, err := p.store.Get(ctx, n.id)
		if err != nil {
			return err
		}
		c, ok := e.ContextEdit()
		if !ok {
			continue // another record has the same id
		}
		now := message.ParseContent(c.Content)
		o.raw(`<details class="instead"` + attr + "><summary>The model sees this instead: ")
		o.text(line(m.WithContent(now).Text()))
		o.raw("</summary>\n")
		blocks(o, now, m.Role)
		o.raw("</details>\n")
	}
	return nil
}

func shell(o *out, m *message.Message) {
	o.raw(`<pre class="command">$ `)
	o.text(m.Command)
	o.raw("</pre>\n")
	ended := ""
	switch {
	case m.Cancelled:
		ended = "cancelled"
	case m.ExitCode != nil && *m.ExitCode != 0:
		ended = "exit code " + strconv.Itoa(*m.ExitCode)
	}
	output(o, m.Output, "Output", ended)
	if m.Truncated {
		o.raw(`<p class="usage">The output was cut`)
		if m.FullOutputPath != "" {
			o.raw("; the whole was in <code>")
			o.text(m.FullOutputPath)
			o.raw("</code>")
		}
		o.raw("</p>\n")
	}
}

func result(o *out, m *message.Message) {
	name := cmp.Or(line(m.ToolName), "a tool")
	diff := ""
	if jsonx.IsObject(m.Details) {
		diff = jsonx.StringAt(m.Details, "diff")
	}
	if diff != "" {
		o.raw("<details class=\"diff\" open><summary>Change</summary>\n")
		coloured(o, diff)
		o.raw("</details>\n")
	}
	ended := ""
	if m.IsError {
		ended = "failed"
	}
	var texts []string
	var rest []message.Block
	for _, b := range m.Content {
		if b.Type == message.BlockText {
			texts = append(texts, b.Text)
		} else {
			rest = append(rest, b)
		}
	}
	output(o, strings.Join(texts, "\n"), name, ended)
	blocks(o, rest, m.Role)
	if whole, ok := session.SpilledOf(m); ok {
		o.raw(`<p class="usage">This is an excerpt. The whole, ` + size(whole.Size) + `, is stored beside the session.</p>` + "\n")
	}
}

// output writes what a tool or a command printed, folded.
func output(o *out, s, name, ended string) {
	class, head := "output", name
	if ended != "" {
		class, head = "output bad", name+", "+ended
	}
	s = strings.TrimRight(s, "\n")
	switch n := strings.Count(s, "\n") + 1; {
	case s == "":
		head += ": nothing"
	case n == 1:
		head += ": " + line(s)
	default:
		head += ", " + count(n, "line") + ": " + line(s)
	}
	if s == "" {
		o.raw(`<p class="` + class + `">`)
		o.text(head)
		o.raw("</p>\n")
		return
	}
	folded(o, class, head, func() { pre(o, s) })
}

func system(o *out, m *message.Message) {
	folded(o, "more", cmp.Or(line(m.Text()), "System text"), func() {
		if t := m.Text(); t != "" {
			pre(o, t)
		}
		for _, s := range m.Sections {
			o.raw("<h4>")
			o.text(line(s.Name))
			o.raw("</h4>\n")
			pre(o, cmp.Or(s.Text, "(taken away)"))
		}
		for _, t := range []struct {
			what string
			list json.RawMessage
		}{{"Tools added", m.ToolsAdded}, {"Tools removed", m.ToolsRemoved}} {
			if t.list == nil {
				continue
			}
			o.raw("<h4>" + t.what + "</h4>\n")
			pre(o, indent(t.list))
		}
	})
}
