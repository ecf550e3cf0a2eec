package transcript

import (
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// writePi writes a session in pi's format, version 3. The whole path is written
// as its records stand. The context becomes a session of its own: the compaction
// first, keeping nothing before it, then the messages as the edits have them.
func writePi(w *writer) error {
	h := session.Header{ID: w.header.ID, Timestamp: w.header.Timestamp, Cwd: w.header.Cwd, ParentSession: w.header.ParentSession}
	if w.opt.Full {
		w.line(h.JSON())
		w.records()
		return nil
	}
	h.ID = w.derived("context", w.leaf)
	w.line(h.JSON())
	p := &piWriter{writer: w, items: map[*session.Entry][]session.Item{}}
	for _, it := range w.items {
		p.items[it.Entry] = append(p.items[it.Entry], it)
	}
	at := h.Timestamp
	if len(w.active) > 0 {
		at = w.active[0].Time()
	}
	if w.model.ID != "" {
		p.record(settings(session.TypeModelChange, w.derived("model")[:8], stamp(at), "provider", w.model.Provider, "modelId", w.model.ID))
	}
	if w.level != "" && w.level != "off" {
		p.record(settings(session.TypeThinkingLevel, w.derived("level")[:8], stamp(at), "thinkingLevel", w.level))
	}
	for _, e := range w.active {
		p.entry(e)
	}
	return nil
}

// records writes the path. What begins a group of records that the path does not go
// through to its end is left out: with it the group would count as torn.
func (w *writer) records() {
	parent := ""
	for i, e := range w.path {
		if lines, ok := e.Group(); ok && !wholeGroup(w.path[i+1:], lines) {
			w.report.add(Aside, "part-group", 0, e.ID, "marks of passes that the path does not go through")
			continue
		}
		w.line(e.WithIdentity(e.ID, parent).Raw())
		parent = e.ID
	}
}

func wholeGroup(rest []*session.Entry, lines int) bool {
	if lines > len(rest) {
		return false
	}
	for _, e := range rest[:lines] {
		if !session.GroupEntry(e) {
			return false
		}
	}
	return true
}

type piWriter struct {
	*writer
	items  map[*session.Entry][]session.Item
	parent string
}

// record writes an entry under the one before it.
func (p *piWriter) record(raw []byte) {
	e, err := session.ParseEntry(raw)
	if err != nil {
		return // it was an entry before
	}
	p.line(e.WithIdentity(e.ID, p.parent).Raw())
	p.parent = e.ID
}

func (p *piWriter) entry(e *session.Entry) {
	raw := e.Raw()
	switch e.Type {
	case session.TypeCompaction:
		if len(p.breaks) == 0 || p.breaks[0].entry != e {
			return // one that a later one replaces
		}
		p.record(jsonx.Set(raw, "firstKeptEntryId", jsonx.Quote(e.ID)))
	case session.TypeMessage, session.TypeCustomMessage, session.TypeBranchSummary:
		for _, it := range p.items[e] {
			if it.Edit != nil {
				raw = edited(e, it.Message)
			}
			if it.Message.Role == message.RoleAssistant && it.Message.Usage == nil && e.Type == session.TypeMessage {
				none := (&message.Usage{}).JSON() // pi expects one of every answer
				raw = jsonx.Set(raw, "message", jsonx.Set(jsonx.Get(raw, "message"), "usage", none))
			}
			p.record(raw)
		}
	case session.TypeContextEdit:
		// What it changed is written as it is now.
	case session.TypeModelChange, session.TypeThinkingLevel, session.TypeSessionInfo:
		p.record(raw)
	case session.TypeCustom:
		if c, _ := e.Custom(); strings.HasPrefix(c.CustomType, "clew.") {
			return
		}
		p.record(raw)
	default:
		p.report.add(Aside, "entry:"+string(e.Type), 0, e.ID, "entries of the type "+printable(string(e.Type), 40)+", which are no part of the context")
	}
}

func edited(e *session.Entry, m *message.Message) []byte {
	if e.Type == session.TypeMessage {
		return jsonx.Set(e.Raw(), "message", m.JSON())
	}
	return jsonx.Set(e.Raw(), "content", message.EncodeBlocks(m.Content))
}

func settings(typ session.Type, id, at string, pairs ...any) []byte {
	return object(append([]any{"type", string(typ), "id", id, "parentId", nil, "timestamp", at}, pairs...)...)
}
