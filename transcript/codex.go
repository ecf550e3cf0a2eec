package transcript

import (
	"cmp"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// codex reads the rollouts of Codex. A response_item is an item of the Responses
// API; items of one response follow each other until a token_count event or
// something that is no part of an answer.
type codex struct {
	*builder
	model    string
	provider string
	seenMeta bool
	answer   *node // the answer that further items belong to
	answered bool  // a result came since
	usageOf  *node // the answer that the next token_count is for
	total    string
	size     int64              // of the context after the last call, as it was reported
	items    map[string][]*node // what each item became, for what a compaction kept
	// plainUser says that what stands in user messages is the user's: a list for
	// the API, not a rollout.
	plainUser bool
}

func readCodex(s *source, b *builder) error {
	s.asLines()
	c := newCodex(b)
	c.plainUser = false
	return s.objects(func(line int, obj value) error {
		c.line(line, obj)
		return nil
	})
}

func newCodex(b *builder) *codex {
	return &codex{builder: b, provider: "openai", items: map[string][]*node{}, plainUser: true}
}

func (c *codex) line(line int, obj value) {
	f := obj.fields()
	at, p := f["timestamp"].time(), f["payload"]
	switch typ := f.str("type"); typ {
	case "session_meta":
		c.session(line, p, at)
	case "turn_context":
		c.answer = nil
		if m := p.str("model"); m != "" {
			c.model = m
		}
		c.note(Aside, "line:turn_context", line, "", "settings of a turn; its model is with the answers")
	case "response_item":
		c.item(line, p, at)
	case "event_msg":
		c.event(line, p)
	case "compacted":
		c.compacted(line, p, at)
	case "":
		if f.has("id") && f.has("timestamp") {
			c.session(line, obj, at)
			return
		}
		c.note(Damaged, "no-type", line, f.str("id"), "lines without a type")
	case "message", "reasoning", "function_call", "function_call_output", "local_shell_call":
		// The first versions wrote items without an envelope.
		c.item(line, obj, at)
	default:
		c.note(Aside, "line:"+typ, line, "", "lines of the type "+printable(typ, 40)+", which are no part of the conversation")
	}
}

func (c *codex) session(line int, p value, at time.Time) {
	if inner := p.get("meta"); inner.isObject() {
		p = inner
	}
	if c.seenMeta {
		c.note(Aside, "line:session_meta", line, "", "further heads of the same session")
		return
	}
	c.seenMeta = true
	h := &c.t.Header
	h.ID, h.Cwd = p.str("id"), p.str("cwd")
	if h.Timestamp = p.time("timestamp"); h.Timestamp.IsZero() {
		h.Timestamp = at
	}
	if s := p.str("model_provider"); s != "" {
		c.provider = s
	}
	text := p.str("base_instructions", "text")
	if text == "" {
		text = cmp.Or(p.str("base_instructions"), p.str("instructions"))
	}
	if text != "" {
		c.system(text, h.Timestamp, line, "base_instructions")
	}
	if p.has("dynamic_tools") {
		c.note(Lost, "tools", line, "", "definitions of tools")
	}
}

// item adds an item of the Responses API.
func (c *codex) item(line int, p value, at time.Time) {
	f := p.fields()
	typ, before := f.str("type"), len(c.nodes)
	defer func() {
		switch {
		case len(c.nodes) > before:
			c.items[itemKey(f)] = c.nodes[before:len(c.nodes):len(c.nodes)]
		case c.answer != nil && !c.answered:
			c.items[itemKey(f)] = []*node{c.answer}
		}
	}()
	switch typ {
	case "message":
		role := f.str("role")
		if role == "assistant" {
			c.part(line, at, c.outputText(f, line)...)
			return
		}
		c.answer = nil
		c.said(role, f["content"], line, at, "")
	case "reasoning":
		c.part(line, at, reasoningBlock(f))
	case "function_call", "custom_tool_call", "local_shell_call":
		c.part(line, at, c.responsesCall(f, line))
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		blocks, isError := c.responsesOutput(f["output"], line)
		id := cmp.Or(f.str("call_id"), f.str("id"))
		if full := c.callIDs[id]; full != "" {
			id = full
		}
		c.result(id, "", blocks, isError, at, line, "")
		c.answered = true
	case "ghost_snapshot", "other":
		c.note(Aside, "item:"+typ, line, "", "items that are no part of the conversation")
	case "compaction", "compaction_summary":
		c.note(Lost, "item:"+typ, line, f.str("id"), "compactions that only their maker can read")
	default:
		if block, ok := opaque(p); ok {
			c.note(Aside, "item:"+typ, line, f.str("id"), "items of another type, kept as they are")
			c.part(line, at, block)
			return
		}
		c.note(Lost, "item", line, f.str("id"), "items without a known type")
	}
}

// part adds blocks to the answer.
func (c *codex) part(line int, at time.Time, blocks ...message.Block) {
	if len(blocks) == 0 {
		return
	}
	if c.answer == nil || c.answered {
		c.answer = c.say(&message.Message{
			Role: message.RoleAssistant, API: apiResponses, Provider: c.provider, Model: c.model, StopReason: message.StopEnd,
		}, at, line, "")
		c.answered = false
		c.usageOf = c.answer
	}
	m := c.answer.msg
	m.Content = append(m.Content, blocks...)
	if c.nameCalls(blocks) {
		m.StopReason = message.StopToolUse
	}
}

// said adds a message of the user or the developer, apart by who said it.
func (c *codex) said(role string, content value, line int, at time.Time, key string) {
	blocks := c.openAIContent(content, line)
	if len(blocks) == 0 {
		return
	}
	if role != "user" {
		text := textOf(blocks)
		c.system(text, at, line, key)
		return
	}
	whose := codexMarks.origin
	if c.plainUser {
		whose = wireOrigin
	}
	c.words(blocks, whose, at, line, "")
}

func (c *codex) event(line int, p value) {
	typ := p.str("type")
	switch typ {
	case "token_count":
		info := p.get("info")
		if total := string(info.get("total_token_usage")); info.isObject() && total != c.total {
			c.total = total
			if u := openAIUsage(info.get("last_token_usage")); u != nil {
				c.size = u.Total()
				if c.usageOf != nil && c.usageOf.msg.Usage == nil {
					c.usageOf.msg.Usage = u
				} else {
					c.note(Lost, "usage", line, "", "usage of calls that left no answer")
				}
			}
			c.answer = nil
		}
	case "user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "context_compacted":
		c.note(Aside, "event:"+typ, line, "", "events that repeat what stands elsewhere")
	case "turn_aborted":
		c.answer = nil
		c.note(Aside, "event:"+typ, line, "", "interruptions")
	case "thread_name_updated":
		c.name = cmp.Or(p.str("thread_name"), c.name)
	case "thread_rolled_back":
		c.rollback(line, p)
	default:
		c.note(Aside, "event:"+typ, line, "", "events of the program, which are no part of the conversation")
	}
}

// rollback goes back before the last turns: what comes next hangs where they
// began.
func (c *codex) rollback(line int, p value) {
	c.answer = nil
	for n := p.int("num_turns"); n > 0 && c.tip != nil; n-- {
		for c.tip != nil && (c.tip.msg == nil || !c.tip.msg.UserWords()) {
			c.tip = c.tip.parent
		}
		if c.tip != nil {
			c.tip = c.tip.parent
		}
	}
	c.note(Aside, "event:thread_rolled_back", line, "", "places where the user went back; what was left is a branch")
}

// compacted adds a compaction. What the program kept is behind it again: the
// messages it lists need not follow one another.
func (c *codex) compacted(line int, p value, at time.Time) {
	c.answer = nil
	rw := Rewrite{Kind: "compaction", Line: line, Summary: p.str("message"), TokensBefore: c.size}
	var kept []value
	var details jsonx.Object
	for _, it := range p.list("replacement_history") {
		switch typ := it.str("type"); {
		case typ == "compaction" || typ == "compaction_summary":
			rw.Encrypted = true
			details.Raw("compaction", it)
		case typ == "message" && rw.Summary != "" && it.str("role") == "user" && strings.Contains(c.plain(it.get("content")), rw.Summary):
			// The summary itself, with the words that introduce it.
			rw.Summary = c.plain(it.get("content"))
		default:
			kept = append(kept, it)
		}
	}
	if rw.Summary == "" {
		c.note(Lost, "encrypted-summary", line, "", "summaries that only the model's maker can read")
	}
	c.compaction(rw, nil, details.Bytes(), at, "")
	copied := map[*node]bool{}
	for _, it := range kept {
		of := c.items[itemKey(it.fields())]
		for _, n := range of {
			// Several items can be one answer, and two messages can say the same.
			if !copied[n] || n.msg.Role == message.RoleUser || n.msg.Role == message.RoleSystem {
				c.again(n, at, line, "")
				copied[n] = true
			}
		}
		if of == nil {
			c.item(line, it, at)
		}
	}
	c.answer = nil
}

// itemKey tells an item from others: by what the API tells it by.
func itemKey(f fields) string {
	switch typ := f.str("type"); {
	case f.has("call_id"):
		return typ + " " + f.str("call_id")
	case typ == "message":
		return typ + " " + f.str("role") + " " + contentKey(f["content"])
	case f.has("id"):
		return typ + " " + f.str("id")
	default:
		return typ + string(f["encrypted_content"]) + string(f["summary"])
	}
}

// contentKey is the same for the same content, in whatever order its members stand.
func contentKey(content value) string {
	var key strings.Builder
	for _, part := range content.list() {
		if s := part.str("text"); s != "" {
			key.WriteString(s)
		} else {
			key.Write(part)
		}
		key.WriteByte(0)
	}
	return cmp.Or(key.String(), string(content))
}

func (c *codex) plain(content value) string {
	return textOf(c.openAIContent(content, 0))
}
