package transcript

import (
	"cmp"
	"strings"
	"time"

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
	p.Alternate, p.FirstUser = false, false
	log, err := w.normalized(p)
	if err != nil {
		return err
	}
	c := &claudeWriter{log: log, id: w.sessionID(), heads: map[int]string{}}
	if c.list.System != "" {
		w.report.add(Lost, "system", 0, "", "system texts, which Claude Code has its own of")
	}
	for i := range c.list.Turns {
		t := &c.list.Turns[i]
		if from := t.Parts[0].From; from >= 0 && c.slots[from].cut != nil {
			c.compaction(*c.slots[from].cut)
			continue
		}
		c.turn(t)
	}
	return nil
}

type claudeWriter struct {
	*log
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
	var members []any
	switch {
	case t.Kind != wire.TurnAssistant:
		members = []any{"type", "user", "message", msg}
		if from >= 0 && m.Role != message.RoleToolResult && m.Source() != message.OriginUser {
			members = append(members, "isMeta", true)
		}
	case from >= 0 && m.Role == message.RoleAssistant:
		entry := c.items[from].Entry.ID
		members = []any{
			"type", "assistant",
			"message", claudeAnswer(msg.get("content"), m, "msg_"+plainID(c.derived("message", entry))),
			"requestId", "req_" + plainID(c.derived("request", entry)),
		}
	default:
		members = []any{"type", "assistant", "message", msg}
	}
	at := c.header.Timestamp
	if m != nil {
		at = when(c.last)
	}
	c.record(id, at, members...)
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

// record writes a line with what every line has, under the one before it.
func (c *claudeWriter) record(id string, at time.Time, members ...any) {
	parent := value("null")
	if c.parent != "" {
		parent = quoted(c.parent)
	}
	head := []any{
		"parentUuid", parent, "isSidechain", false, "userType", "external", "cwd", c.header.Cwd,
		"sessionId", c.id, "version", claudeVersion, "gitBranch", "",
	}
	c.line(object(append(append(head, members...), "uuid", id, "timestamp", stamp(at))...))
	c.parent = id
}

var claudeStops = map[message.StopReason]string{
	message.StopToolUse: "tool_use", message.StopLength: "max_tokens", message.StopDeferred: "pause_turn",
}

// claudeAnswer is an answer in the form of the Messages API.
func claudeAnswer(content value, m *message.Message, id string) value {
	u := m.Usage
	if u == nil {
		u = &message.Usage{}
	}
	return object(
		"id", id, "type", "message", "role", "assistant", "model", cmp.Or(m.Model, "unknown"), "content", content,
		"stop_reason", cmp.Or(claudeStops[m.StopReason], "end_turn"), "stop_sequence", nil,
		"usage", object(
			"input_tokens", u.Input, "cache_creation_input_tokens", u.CacheWrite,
			"cache_read_input_tokens", u.CacheRead, "output_tokens", u.Output,
		),
	)
}

// compaction writes a boundary and the summary. What it kept is named by its first
// and last line.
func (c *claudeWriter) compaction(b cutting) {
	logical := c.parent
	boundary, summary := c.derived("boundary", b.entry.ID), c.derived("summary", b.entry.ID)
	c.parent = ""
	head := ""
	for i := b.kept; i < b.before && head == ""; i++ {
		head = c.heads[i] // what is never sent has no line
	}
	var kept value
	if head != "" {
		kept = object("headUuid", head, "anchorUuid", summary, "tailUuid", logical)
	}
	info, _ := b.entry.Compaction()
	c.record(boundary, b.entry.Time(),
		"logicalParentUuid", optional(logical), "type", "system", "subtype", "compact_boundary",
		"content", "Conversation compacted", "isMeta", false, "level", "info",
		"compactMetadata", object("trigger", "auto", "preTokens", info.TokensBefore, "preservedSegment", kept))
	c.record(summary, b.entry.Time(),
		"type", "user", "message", object("role", "user", "content", wire.SummaryForm(b.summary).Wrap(b.summary.Summary)),
		"isVisibleInTranscriptOnly", true, "isCompactSummary", true)
}

// plainID returns the digits of a UUID.
func plainID(s string) string { return strings.ReplaceAll(s, "-", "") }
