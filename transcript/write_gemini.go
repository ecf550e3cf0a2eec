package transcript

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/wire"
)

// writeGemini writes a session as Gemini CLI records it: a line on the session, then a line
// for each message. The results of an answer's calls stand with the calls.
func writeGemini(w *writer) error {
	p := wire.Gemini
	p.Alternate, p.FirstUser = false, false
	log, err := w.normalized(p)
	if err != nil {
		return err
	}
	g := &geminiWriter{log: log}
	if g.list.System != "" {
		w.report.add(Lost, "system", 0, "", "system texts, which Gemini CLI has its own of")
	}
	sum := sha256.Sum256([]byte(g.header.Cwd))
	start := stamp(g.header.Timestamp)
	g.line(object("sessionId", g.sessionID(), "projectHash", hex.EncodeToString(sum[:]), "startTime", start, "lastUpdated", start, "kind", "main"))
	g.each(g.compaction, g.said, g.answer)
	return nil
}

type geminiWriter struct {
	*log
	records []geminiLine
	n       int
}

// geminiLine is a message as it is written, and the item that it begins with.
type geminiLine struct {
	item int
	id   string
	json value
}

// contents returns the parts of a turn in the form of the API.
func (g *geminiWriter) contents(t wire.Turn) []value {
	one := *g.list
	one.Turns = []wire.Turn{t}
	return value(wire.Render(&one).Messages[0]).list("parts")
}

// begin starts a message.
func (g *geminiWriter) begin(from int) geminiLine {
	g.n++
	if from < 0 {
		return geminiLine{item: -1, id: g.derived("message", g.n)}
	}
	item := g.slots[from].item
	return geminiLine{item: item, id: g.derived("message", g.items[item].Entry.ID, g.n)}
}

func (g *geminiWriter) end(l geminiLine, members ...any) {
	at := g.header.Timestamp
	if l.item >= 0 {
		at = when(g.items[l.item])
	}
	l.json = object(append([]any{"id", l.id, "timestamp", stamp(at)}, members...)...)
	g.records = append(g.records, l)
	g.line(l.json)
}

func (g *geminiWriter) said(t wire.Turn) {
	g.end(g.begin(t.Parts[0].From), "type", "user", "content", array(g.contents(t)...))
}

// answer writes an answer with its results. As Gemini CLI does, its content has the text
// alone, or all parts where thinking, a signature or their order would be lost else.
func (g *geminiWriter) answer(t wire.Turn, results map[string]wire.Part) {
	l := g.begin(t.Parts[0].From)
	called := false
	parts := g.contents(t)
	whole := slices.ContainsFunc(parts, func(p value) bool {
		behind := called // calls, where it has to stay
		called = p.has("functionCall")
		return p.has("thoughtSignature") || p.has("thought") || behind && !called
	})
	content := slices.DeleteFunc(parts, func(p value) bool { return !whole && p.has("functionCall") })
	m, at := &message.Message{}, g.header.Timestamp
	if l.item >= 0 {
		m, at = g.items[l.item].Message, when(g.items[l.item])
	}
	var calls []value
	for _, c := range t.Parts {
		if c.Kind != wire.PartCall {
			continue
		}
		r := results[c.ID]
		status := "success"
		if r.IsError {
			status = "error"
		}
		result := g.contents(wire.Turn{Kind: wire.TurnResults, Parts: []wire.Part{r}})
		calls = append(calls, object("id", c.ID, "name", c.Name, "args", value(c.Arguments), "result", array(result...), "status", status, "timestamp", stamp(at)))
	}
	members := []any{"type", "gemini", "content", array(content...), "model", cmp.Or(m.Model, "unknown")}
	if len(calls) > 0 {
		members = append(members, "toolCalls", array(calls...))
	}
	if u := m.Usage; u != nil {
		input := u.Input + u.CacheRead + u.CacheWrite
		members = append(members, "tokens", object("input", input, "output", max(u.Output-u.Reasoning, 0), "cached", u.CacheRead, "thoughts", u.Reasoning, "tool", int64(0), "total", input+u.Output))
	}
	g.end(l, members...)
}

// What stands around a summary, so that Gemini CLI takes it for one of its own and carries it
// into the next. The member says that it comes off again.
const (
	snapshotOpen, snapshotClose = snapshotMark + "\n", "\n</state_snapshot>"
	wrappedSummary              = "clewSummary"
)

// compaction replaces the context by the summary and what was kept.
func (g *geminiWriter) compaction(b *cutting) {
	text := snapshotOpen + wire.SummaryForm(b.summary).Wrap(b.summary.Summary) + snapshotClose
	at := stamp(b.entry.Time())
	messages := []value{object("id", g.derived("summary", b.entry.ID), "timestamp", at, "type", "user", "content", array(object("text", text)), wrappedSummary, true)}
	for _, l := range g.records {
		if l.item >= b.kept && l.item < b.before {
			messages = append(messages, l.json)
		}
	}
	g.line(object("$set", object("messages", array(messages...), "lastUpdated", at)))
}
