package transcript

import (
	"encoding/json"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/wire"
)

// claudeVersion is the version of Claude Code whose lines are written.
const claudeVersion = "2.0.76"

// writeClaude writes lines as Claude Code keeps them: each has a uuid of its own and
// the parentUuid of the one before, an answer is one line, each result another.
func writeClaude(w *writer) error {
	p := wire.Anthropic
	p.Alternate, p.FirstUser, p.MaxBytes = false, false, 0
	msgs, slots, ids := w.log()
	same, target := sameMaker(msgs)
	list, notes, err := wire.Normalize(same, p, target, wire.Options{CloseOpenCalls: true})
	if err != nil {
		return err
	}
	w.wireNotes(notes, ids)
	w.aside()
	c := &claudeWriter{writer: w, list: list, id: w.sessionID(), slots: slots, heads: map[int]string{}}
	if list.System != "" {
		w.report.add(Lost, "system", 0, "", "system texts, which Claude Code has its own of")
	}
	if len(list.Tools) > 0 {
		w.report.add(Lost, "tools", 0, "", "definitions of tools, which Claude Code has its own of")
	}
	for i := range list.Turns {
		t := &list.Turns[i]
		if from := t.Parts[0].From; from >= 0 && slots[from].cut != nil {
			c.compaction(*slots[from].cut)
			continue
		}
		c.turn(t)
	}
	return nil
}

type claudeWriter struct {
	*writer
	list   *wire.List
	slots  []slot
	id     string // of the session
	parent string
	heads  map[int]string // the first line of each item
	last   session.Item
	n      int
}

// turn writes a turn: results one a line, all else as one.
func (c *claudeWriter) turn(t *wire.Turn) {
	if t.Kind != wire.TurnResults {
		c.message(*t)
		return
	}
	for i := range t.Parts {
		c.message(wire.Turn{Kind: t.Kind, Parts: t.Parts[i : i+1]})
	}
}

func (c *claudeWriter) message(t wire.Turn) {
	from := t.Parts[0].From
	if from >= 0 {
		from = c.slots[from].item
		c.last = c.items[from]
	}
	m := c.last.Message
	one := *c.list
	one.Turns = []wire.Turn{t}
	msg := value(wire.Render(&one).Messages[0])
	id := c.next(from)
	o := c.envelope()
	if t.Kind == wire.TurnAssistant {
		o.Str("type", "assistant")
		if from >= 0 && m.Role == message.RoleAssistant {
			o.Raw("message", claudeAnswer(msg.get("content"), m, "msg_"+plainID(c.derived("message", c.items[from].Entry.ID))))
			o.Str("requestId", "req_"+plainID(c.derived("request", c.items[from].Entry.ID)))
		} else {
			o.Raw("message", msg)
		}
	} else {
		o.Str("type", "user")
		o.Raw("message", msg)
		if from >= 0 && m.Role != message.RoleToolResult && m.Source() != message.OriginUser {
			o.Bool("isMeta", true)
		}
	}
	c.finish(o, id)
	if from >= 0 {
		if _, ok := c.heads[from]; !ok {
			c.heads[from] = id
		}
	}
}

func (c *claudeWriter) next(from int) string {
	c.n++
	if from >= 0 {
		return c.derived("line", c.items[from].Entry.ID, c.n)
	}
	return c.derived("line", c.n)
}

func (c *claudeWriter) envelope() *jsonx.Object {
	var o jsonx.Object
	if c.parent == "" {
		o.Raw("parentUuid", []byte("null"))
	} else {
		o.Str("parentUuid", c.parent)
	}
	o.Bool("isSidechain", false)
	o.Str("userType", "external")
	o.Str("cwd", c.header.Cwd)
	o.Str("sessionId", c.id)
	o.Str("version", claudeVersion)
	o.Str("gitBranch", "")
	return &o
}

func (c *claudeWriter) finish(o *jsonx.Object, id string) {
	o.Str("uuid", id)
	at := c.header.Timestamp
	if c.last.Message != nil {
		at = when(c.last)
	}
	o.Str("timestamp", stamp(at))
	c.line(o.Bytes())
	c.parent = id
}

// claudeAnswer is an answer in the form of the Messages API.
func claudeAnswer(content value, m *message.Message, id string) []byte {
	var o jsonx.Object
	o.Str("id", id)
	o.Str("type", "message")
	o.Str("role", "assistant")
	o.Str("model", firstOf(m.Model, "unknown"))
	o.Raw("content", content)
	switch m.StopReason {
	case message.StopToolUse:
		o.Str("stop_reason", "tool_use")
	case message.StopLength:
		o.Str("stop_reason", "max_tokens")
	case message.StopDeferred:
		o.Str("stop_reason", "pause_turn")
	default:
		o.Str("stop_reason", "end_turn")
	}
	o.Raw("stop_sequence", []byte("null"))
	u := m.Usage
	if u == nil {
		u = &message.Usage{}
	}
	var usage jsonx.Object
	usage.Int("input_tokens", u.Input)
	usage.Int("cache_creation_input_tokens", u.CacheWrite)
	usage.Int("cache_read_input_tokens", u.CacheRead)
	usage.Int("output_tokens", u.Output)
	o.Raw("usage", usage.Bytes())
	return o.Bytes()
}

// compaction writes a boundary and the summary. What it kept is named by its first
// and last line.
func (c *claudeWriter) compaction(b cutting) {
	logical := c.parent
	boundary, summary := c.derived("boundary", b.entry.ID), c.derived("summary", b.entry.ID)
	c.parent = ""
	o := c.envelope()
	if logical != "" {
		o.Str("logicalParentUuid", logical)
	}
	o.Str("type", "system")
	o.Str("subtype", "compact_boundary")
	o.Str("content", "Conversation compacted")
	o.Bool("isMeta", false)
	o.Str("level", "info")
	var meta jsonx.Object
	meta.Str("trigger", "auto")
	view, _ := b.entry.Compaction()
	meta.Int("preTokens", view.TokensBefore)
	head := ""
	for i := b.kept; i < b.before && head == ""; i++ {
		head = c.heads[i] // what is never sent has no line
	}
	if head != "" {
		var seg jsonx.Object
		seg.Str("headUuid", head)
		seg.Str("anchorUuid", summary)
		seg.Str("tailUuid", logical)
		meta.Raw("preservedSegment", seg.Bytes())
	}
	o.Raw("compactMetadata", meta.Bytes())
	c.stamped(o, boundary, b)
	s := c.envelope()
	s.Str("type", "user")
	var msg jsonx.Object
	msg.Str("role", "user")
	msg.Str("content", wire.SummaryForm(b.summary).Wrap(b.summary.Summary))
	s.Raw("message", json.RawMessage(msg.Bytes()))
	s.Bool("isVisibleInTranscriptOnly", true)
	s.Bool("isCompactSummary", true)
	c.stamped(s, summary, b)
}

func (c *claudeWriter) stamped(o *jsonx.Object, id string, b cutting) {
	o.Str("uuid", id)
	o.Str("timestamp", stamp(b.entry.Time()))
	c.line(o.Bytes())
	c.parent = id
}

// plainID returns the digits of a UUID.
func plainID(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		if s[i] != '-' {
			out = append(out, s[i])
		}
	}
	return string(out)
}
