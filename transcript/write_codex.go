package transcript

import (
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/wire"
)

// codexVersion is the version of Codex whose lines are written.
const codexVersion = "0.144.2"

// writeCodex writes a rollout: a session_meta line, and each item of the Responses
// API as a line, with the model before and the usage behind what it goes with.
func writeCodex(w *writer) error {
	log, err := w.normalized(wire.OpenAIResponses)
	if err != nil {
		return err
	}
	c := &codexWriter{log: log, custom: map[string]string{}, rendered: map[int][]value{}}
	c.meta()
	var at slot
	for i := range c.list.Turns {
		t := &c.list.Turns[i]
		if from := t.Parts[0].From; from >= 0 {
			at = c.slots[from]
		} // else a result that was put in, which goes with its call
		if t.Kind != wire.TurnResults {
			c.usage()
		}
		switch {
		case at.cut != nil && t.Parts[0].From >= 0:
			c.flush()
			c.begin(at.cut)
		case at.kept:
			c.keep(t, at)
		default:
			c.flush()
			c.turn(t)
		}
	}
	c.usage()
	c.flush()
	return nil
}

type codexWriter struct {
	*log
	model    string
	custom   map[string]string // calls that were no functions: their item ids
	rendered map[int][]value   // by item, for what a compaction kept
	last     session.Item
	lastFrom int
	pending  *message.Message // the answer whose usage is still to be written
	total    message.Usage
	open     *cutting // the compaction that is still to be written
	history  []value  // what it kept
}

// record writes a line at the time of the item before it.
func (c *codexWriter) record(typ string, payload value) {
	at := c.header.Timestamp
	if c.last.Message != nil {
		at = when(c.last)
	}
	c.recordAt(typ, at, payload)
}

func (c *codexWriter) recordAt(typ string, at time.Time, payload value) {
	c.line(object("timestamp", stamp(at), "type", typ, "payload", payload))
}

func (c *codexWriter) meta() {
	var base value
	if c.list.System != "" {
		base = object("text", c.list.System)
	}
	at := c.header.Timestamp
	c.recordAt("session_meta", at, object(
		"id", c.sessionID(), "timestamp", stamp(at), "cwd", c.header.Cwd, "originator", "clew", "cli_version", codexVersion,
		"source", "cli", "model_provider", optional(c.provider()), "base_instructions", base,
	))
}

// provider returns whose models answered last, where these speak the API of Codex. It resumes
// a session only with a provider that is set up, and without one with its own.
func (c *codexWriter) provider() string {
	for i := len(c.items) - 1; i >= 0; i-- {
		if m := c.items[i].Message; m.Role == message.RoleAssistant && m.Provider != "" {
			if m.API == apiResponses {
				return m.Provider
			}
			return ""
		}
	}
	return ""
}

// turn writes the items of a turn.
func (c *codexWriter) turn(t *wire.Turn) {
	for _, it := range c.render(t) {
		from := it.from
		if from >= 0 {
			c.last, c.lastFrom = c.items[from], from
			if m := c.last.Message; m.Role == message.RoleAssistant {
				c.turnContext(m)
				c.pending = m
			}
		}
		c.record("response_item", it.item)
		// A result that was put in goes with its call.
		c.rendered[c.lastFrom] = append(c.rendered[c.lastFrom], it.item)
		if m := c.last.Message; from >= 0 && m.UserWords() {
			c.record("event_msg", object("type", "user_message", "message", m.Text()))
		}
	}
}

// codexItem is an item and the place of what it comes from, or -1.
type codexItem struct {
	item value
	from int
}

// render makes the items of a turn.
func (c *codexWriter) render(t *wire.Turn) (out []codexItem) {
	one := *c.list
	one.Turns = []wire.Turn{*t}
	one.System, one.Tools = "", nil
	req := wire.Render(&one)
	for i, raw := range req.Messages {
		from := -1
		if len(req.From[i]) > 0 {
			from = c.slots[req.From[i][0]].item
		}
		out = append(out, codexItem{c.restore(raw, from), from})
	}
	if t.Kind == wire.TurnAssistant && len(out) > 0 && out[0].from >= 0 {
		return answerItems(c.items[out[0].from].Message, out)
	}
	return out
}

// turnContext tells the model, where it is another one than before.
func (c *codexWriter) turnContext(m *message.Message) {
	if m.Model == c.model {
		return
	}
	c.model = m.Model
	c.record("turn_context", object(
		"cwd", c.header.Cwd, "approval_policy", "on-request", "sandbox_policy", object("type", "read-only"),
		"model", m.Model, "summary", "auto",
	))
}

// restore makes a call that was no function one again.
func (c *codexWriter) restore(raw []byte, from int) value {
	item := value(raw)
	switch item.str("type") {
	case "function_call":
		if from < 0 {
			return item
		}
		if args := scanned(item.str("arguments")); item.str("name") == "local_shell" && args.str("type") == "exec" {
			return object("type", "local_shell_call", "call_id", item.str("call_id"), "status", "completed", "action", args)
		}
		for _, b := range c.items[from].Message.ToolCalls() {
			call, id, _ := strings.Cut(b.ID, "|")
			if call != item.str("call_id") || !strings.HasPrefix(id, "ctc_") {
				continue
			}
			input := value(b.Arguments).get("input")
			if !input.isString() {
				continue
			}
			c.custom[call] = id
			return object(
				"type", "custom_tool_call", "id", id, "status", "completed", "call_id", call,
				"name", item.str("name"), "input", value(jsonx.Clean(input)),
			)
		}
	case "function_call_output":
		if _, ok := c.custom[item.str("call_id")]; ok {
			return jsonx.Set(item, "type", []byte(`"custom_tool_call_output"`))
		}
	}
	return item
}

// usage writes what the last answer cost. Codex counts the cache as part of the
// input.
func (c *codexWriter) usage() {
	m := c.pending
	c.pending = nil
	if m == nil || m.Usage == nil || nonzero(&message.Usage{
		Input: m.Usage.Input, Output: m.Usage.Output, CacheRead: m.Usage.CacheRead, CacheWrite: m.Usage.CacheWrite,
	}) == nil {
		return
	}
	u := m.Usage
	if u.CacheWrite > 0 {
		c.report.add(Lost, "cache-write", 0, "", "tokens written to a cache, which Codex counts as input")
	}
	c.total.Input += u.Input + u.CacheWrite
	c.total.Output += u.Output
	c.total.CacheRead += u.CacheRead
	c.total.Reasoning += u.Reasoning
	info := object("total_token_usage", codexUsage(&c.total), "last_token_usage", codexUsage(u))
	c.record("event_msg", object("type", "token_count", "info", info, "rate_limits", nil))
}

func codexUsage(u *message.Usage) value {
	input := u.Input + u.CacheRead + u.CacheWrite
	return object(
		"input_tokens", input, "cached_input_tokens", u.CacheRead, "output_tokens", u.Output,
		"reasoning_output_tokens", u.Reasoning, "total_tokens", input+u.Output,
	)
}

// begin remembers a compaction, until it is known what it kept.
func (c *codexWriter) begin(b *cutting) {
	c.open, c.history = b, nil
	for i := b.kept; i < b.before; i++ {
		c.history = append(c.history, c.rendered[i]...)
	}
}

// keep adds what stands again behind the compaction to what it kept: the items of the
// original, where that was written.
func (c *codexWriter) keep(t *wire.Turn, at slot) {
	of := c.items[at.item].Entry.CopyOf()
	for i := range c.items[:at.item] {
		if t.Parts[0].From < 0 {
			break
		}
		if items := c.rendered[i]; c.items[i].Entry.ID == of && len(items) > 0 {
			c.history = append(c.history, items...)
			return
		}
	}
	for _, it := range c.render(t) {
		c.history = append(c.history, it.item)
	}
}

// flush writes the compaction: its summary, and the items that stand behind it. One
// that only its maker can read is given back as it was.
func (c *codexWriter) flush() {
	b := c.open
	if b == nil {
		return
	}
	c.open = nil
	text := wire.SummaryForm(b.summary).Wrap(b.summary.Summary)
	history := c.history
	view, _ := b.entry.Compaction()
	if opaque := value(view.Details).get("source", "compaction"); opaque.isObject() && view.Summary == encrypted {
		text, history = "", append(history, opaque)
	} else {
		content := array(object("type", "input_text", "text", text))
		history = append([]value{object("type", "message", "role", "user", "content", content)}, history...)
	}
	c.recordAt("compacted", b.entry.Time(), object("message", text, "replacement_history", array(history...)))
}
