package transcript

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/wire"
)

// openCodeVersion is the version of opencode whose exports are written.
const openCodeVersion = "1.18.33"

// writeOpenCode writes an export of opencode, which "opencode import" takes: a call and its
// result are one part, a compaction is a user message and the answer that is its summary.
func writeOpenCode(w *writer) error {
	p := wire.Anthropic
	p.Alternate, p.FirstUser = false, false
	log, err := w.normalized(p)
	if err != nil {
		return err
	}
	o := &openCodeWriter{log: log, id: w.header.ID, heads: map[int]string{}, last: w.header.Timestamp}
	if !openCodeID().MatchString(o.id) {
		o.id = "ses_" + plainID(w.derived("session"))[:26]
	}
	if o.list.System != "" {
		w.report.add(Lost, "system", 0, "", "system texts, which opencode has its own of")
	}
	o.each(o.compaction, o.said, o.answer)
	title := "Session"
	for _, it := range o.items {
		if it.Message.UserWords() {
			title = strings.Join(strings.Fields(text.Head(it.Message.Text(), 80)), " ")
			break
		}
	}
	o.line(object("info", object(
		"id", o.id, "slug", "clew-"+o.id[len(o.id)-8:], "projectID", "global", "directory", o.header.Cwd, "title", title, "version", openCodeVersion,
		"time", object("created", o.header.Timestamp.UnixMilli(), "updated", o.last.UnixMilli()),
	), "messages", array(o.messages...)))
	return nil
}

var openCodeID = text.Pattern(`^ses_[0-9A-Za-z]{8,60}$`)

type openCodeWriter struct {
	*log
	id       string // of the session
	parent   string // the user message that answers are to
	heads    map[int]string
	messages []value
	last     time.Time
	n        int
	tick     int64 // of the newest id: its time and a number, as opencode has them
}

// openCodeMessage is a message in the making.
type openCodeMessage struct {
	id    string
	at    time.Time
	of    *message.Message // what it begins with; nil where that is none of the session's
	parts []value
}

// newID returns an id of a kind. Later ones sort behind it: opencode sorts by them.
func (o *openCodeWriter) newID(kind string) string {
	o.n++
	o.tick = max(o.tick+1, o.last.UnixMilli()<<12)
	return fmt.Sprintf("%s_%012x%s", kind, o.tick&(1<<48-1), plainID(o.derived(kind, o.n))[:14])
}

func (o *openCodeWriter) begin(from int) *openCodeMessage {
	m := &openCodeMessage{}
	if from >= 0 {
		it := o.items[o.slots[from].item]
		m.of = it.Message
		if at := when(it); at.After(o.last) {
			o.last = at
		}
	}
	m.id, m.at = o.newID("msg"), o.last
	if from >= 0 {
		if item := o.slots[from].item; o.heads[item] == "" {
			o.heads[item] = m.id
		}
	}
	return m
}

func (o *openCodeWriter) part(m *openCodeMessage, typ string, members ...any) {
	m.parts = append(m.parts, object(append([]any{"id", o.newID("prt"), "sessionID", o.id, "messageID", m.id, "type", typ}, members...)...))
}

func (o *openCodeWriter) end(m *openCodeMessage, members ...any) {
	info := object(append([]any{"id", m.id, "sessionID", o.id}, members...)...)
	o.messages = append(o.messages, object("info", info, "parts", array(m.parts...)))
}

// user ends a message of the user.
func (o *openCodeWriter) user(m *openCodeMessage) {
	t := o.target(o.opt)
	o.end(m, "role", "user", "time", object("created", m.at.UnixMilli()), "agent", "build",
		"model", object("providerID", cmp.Or(t.Provider, "unknown"), "modelID", cmp.Or(t.ID, "unknown")))
	o.parent = m.id
}

func (o *openCodeWriter) said(t wire.Turn) {
	m := o.begin(t.Parts[0].From)
	for _, p := range t.Parts {
		switch p.Kind {
		case wire.PartImage:
			m.parts = append(m.parts, o.image(m, &p))
		case wire.PartText:
			var synthetic value
			if m.of == nil || !m.of.UserWords() {
				synthetic = value("true")
			}
			o.part(m, "text", "text", value(p.Text), "synthetic", synthetic)
		default:
		}
	}
	o.user(m)
}

func (o *openCodeWriter) image(m *openCodeMessage, p *wire.Part) value {
	data := value(p.Data).str()
	return object("id", o.newID("prt"), "sessionID", o.id, "messageID", m.id, "type", "file", "mime", p.MIMEType, "url", "data:"+p.MIMEType+";base64,"+data)
}

func (o *openCodeWriter) answer(t wire.Turn, results map[string]wire.Part) {
	m := o.begin(t.Parts[0].From)
	at := object("start", m.at.UnixMilli(), "end", m.at.UnixMilli())
	finish := "stop"
	for _, p := range t.Parts {
		switch p.Kind {
		case wire.PartText:
			o.part(m, "text", "text", value(p.Text), "time", at)
		case wire.PartThinking:
			if p.Redacted {
				o.report.add(Lost, "thinking", 0, "", "thinking that is encrypted")
				continue
			}
			var meta value
			if p.Signature != "" {
				meta = object("anthropic", object("signature", p.Signature))
			}
			o.part(m, "reasoning", "text", value(p.Text), "time", at, "metadata", meta)
		case wire.PartCall:
			finish = "tool-calls"
			o.part(m, "tool", "tool", p.Name, "callID", p.ID, "state", o.state(m, &p, results[p.ID], at))
		default:
		}
	}
	o.reply(m, finish, false)
}

// state is a call with its result.
func (o *openCodeWriter) state(m *openCodeMessage, call *wire.Part, result wire.Part, at value) value {
	var texts []string
	var images []value
	for _, p := range result.Content {
		if p.Kind == wire.PartImage {
			images = append(images, o.image(m, &p))
		} else {
			texts = append(texts, value(p.Text).str())
		}
	}
	out := strings.Join(texts, "\n")
	if result.IsError {
		if len(images) > 0 {
			o.report.add(Lost, "image", 0, "", "images in results that are errors")
		}
		return object("status", "error", "input", value(call.Arguments), "error", out, "time", at)
	}
	var attached value
	if len(images) > 0 {
		attached = array(images...)
	}
	return object("status", "completed", "input", value(call.Arguments), "output", out, "title", "", "metadata", object(), "time", at, "attachments", attached)
}

// reply ends an answer.
func (o *openCodeWriter) reply(m *openCodeMessage, finish string, summary bool) {
	of := m.of
	if of == nil {
		of = &message.Message{}
	}
	u := of.Usage
	if u == nil {
		u = &message.Usage{}
	}
	members := []any{
		"role", "assistant", "parentID", o.parent, "mode", "build", "agent", "build",
		"path", object("cwd", o.header.Cwd, "root", o.header.Cwd), "cost", int64(0),
		"tokens", object("input", u.Input, "output", max(u.Output-u.Reasoning, 0), "reasoning", u.Reasoning, "cache", object("read", u.CacheRead, "write", u.CacheWrite), "total", u.Total()),
		"modelID", cmp.Or(of.Model, "unknown"), "providerID", cmp.Or(of.Provider, "unknown"),
		"time", object("created", m.at.UnixMilli(), "completed", m.at.UnixMilli()), "finish", finish,
	}
	if summary {
		members = append(members, "summary", true)
	}
	o.end(m, members...)
}

// compaction writes the request for a summary, and the summary.
func (o *openCodeWriter) compaction(b *cutting) {
	if at := b.entry.Time(); at.After(o.last) {
		o.last = at
	}
	asked := o.begin(-1)
	tail := ""
	for i := b.kept; i < b.before && tail == ""; i++ {
		tail = o.heads[i]
	}
	o.part(asked, "compaction", "auto", true, "tail_start_id", optional(tail))
	o.user(asked)
	summary := o.begin(-1)
	o.part(summary, "text", "text", wire.SummaryForm(b.summary).Wrap(b.summary.Summary))
	o.reply(summary, "stop", true)
}
