package transcript

import (
	"slices"
	"strings"
)

// geminiRecord is a message of a log, or a place where the context was replaced.
type geminiRecord struct {
	id   string
	msg  value
	line int

	cut     bool // it is such a place
	summary string
	first   string // the first message that was kept
}

// log reads a session that is recorded a line at a time: a message is written anew
// each time it grows, $rewindTo takes back what came from a message on, and $set
// changes what is known of the session; with messages it replaces the context.
func (g *gemini) log(s *source) error {
	var list []geminiRecord
	find := func(id string) int {
		return slices.IndexFunc(list, func(r geminiRecord) bool { return id != "" && r.id == id })
	}
	put := func(line int, msg value) {
		id := msg.str("id")
		if i := find(id); i >= 0 {
			list[i].msg = slices.Clone(msg)
			return
		}
		list = append(list, geminiRecord{id: id, msg: slices.Clone(msg), line: line})
	}
	err := s.objects(func(line int, obj value) error {
		set := obj.get("$set")
		switch {
		case obj.has("$rewindTo"):
			i := max(find(obj.str("$rewindTo")), 0)
			for range list[i:] {
				g.note(Aside, "rewound", line, obj.str("$rewindTo"), "messages that were taken back")
			}
			list = list[:i]
		case set.get("messages").isArray():
			g.head(set)
			list = geminiReplaced(list, line, set.list("messages"))
		case set.isObject():
			g.head(set)
		case obj.get("messages").isArray(), obj.has("sessionId") && !obj.has("content"):
			g.head(obj)
			for _, v := range obj.list("messages") {
				put(line, v)
			}
		default:
			put(line, obj)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.cut {
			g.compaction(Rewrite{Kind: "compaction", Line: r.line, Summary: r.summary}, g.byID[r.first], nil, g.tip.atTime(), "")
			continue
		}
		g.message(r.msg, r.line)
	}
	return nil
}

// geminiReplaced returns the log after its context was replaced, which is also how a session
// begins that goes on. With a snapshot among the new messages it was compacted, and what was
// before one that is known stays; else what is not among them was taken back.
func geminiReplaced(list []geminiRecord, line int, now []value) []geminiRecord {
	// A program that starts puts its own context first, at times alone.
	now = slices.DeleteFunc(now, func(m value) bool {
		return m.str("type") == "user" && strings.HasPrefix(contentText(m), "<session_context>")
	})
	if len(now) == 0 {
		return list
	}
	known := map[string]bool{}
	for _, r := range list {
		known[r.id] = r.id != ""
	}
	cut := geminiRecord{line: line}
	var fresh []geminiRecord
	for _, m := range now {
		id := m.str("id")
		text, ok := snapshotOf(m)
		switch {
		case known[id]:
			if cut.first == "" {
				cut.first = id
			}
		case ok && !cut.cut:
			cut.cut, cut.id, cut.summary = true, id, text
		default:
			fresh = append(fresh, geminiRecord{id: id, msg: slices.Clone(m), line: line})
		}
	}
	if cut.cut {
		return append(append(list, cut), fresh...)
	}
	var out []geminiRecord
	for i, r := range slices.Backward(list) {
		if r.cut && slices.ContainsFunc(now, func(m value) bool { return m.str("id") == r.id }) {
			out = slices.Clone(list[:i+1])
			break
		}
	}
	before := map[string]bool{}
	for _, r := range out {
		before[r.id] = true
	}
	for _, m := range now {
		if id := m.str("id"); !before[id] {
			out = append(out, geminiRecord{id: id, msg: slices.Clone(m), line: line})
		}
	}
	return out
}

// contentText returns the text of a message.
func contentText(m value) string {
	var g gemini
	g.builder = newBuilder(&Transcript{}, ReadOptions{})
	return textOf(g.parts(m.get("content"), 0))
}

// snapshotOf returns the text of a message that is the summary of what was before it.
func snapshotOf(m value) (string, bool) {
	text := contentText(m)
	if m.bool(wrappedSummary) {
		text, _ = strings.CutPrefix(text, snapshotOpen)
		return strings.TrimSuffix(text, snapshotClose), true
	}
	return text, m.str("type") == "user" && strings.HasPrefix(strings.TrimSpace(text), snapshotMark)
}
