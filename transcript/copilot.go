package transcript

import (
	"cmp"
	"strings"
	"time"

	"github.com/clew-dev/clew/message"
)

// copilot reads the event logs of GitHub Copilot CLI: one event a line, {"type", "data",
// "id", "timestamp", "parentId"}, in the order in which they happened. The types are those
// of https://github.com/github/copilot-sdk, session-events.
type copilot struct {
	*builder
	model  string
	answer *node            // the last answer
	call   string           // of the API that it is of
	before map[string]*node // what stood last before an event
	kept   *node            // what stood last when a compaction began
	begun  bool             // one has begun and not ended
	typed  map[string]value // commands that the user ran, by call id
}

func readCopilot(s *source, b *builder) error {
	s.asLines()
	c := &copilot{builder: b, before: map[string]*node{}, typed: map[string]value{}}
	return s.objects(func(line int, obj value) error {
		f := obj.fields()
		c.event(line, f, f["data"].fields())
		return nil
	})
}

func (c *copilot) event(line int, f, d fields) {
	typ, id, at := f.str("type"), f.str("id"), f["timestamp"].time()
	c.before[id] = c.tip
	if f.has("agentId") || d.has("parentToolCallId") {
		c.note(Lost, "subagent", line, id, "events of other agents that this one started")
		return
	}
	switch typ {
	case "session.start":
		h := &c.t.Header
		h.ID, h.Cwd, h.Timestamp = d.str("sessionId"), d["context"].str("cwd"), d["startTime"].time()
		c.model = cmp.Or(d.str("selectedModel"), c.model)
	case "session.resume":
		c.model = cmp.Or(d.str("selectedModel"), c.model)
	case "session.model_change":
		c.model = cmp.Or(d.str("newModel"), c.model)
	case "session.title_changed":
		c.name = cmp.Or(d.str("title"), c.name)
	case "system.message":
		c.system(d.str("content"), at, line, id)
	case "user.message":
		c.user(line, d, at, id)
	case "assistant.message":
		c.assistant(line, d, at, id)
	case "assistant.usage":
		if u := copilotUsage(f["data"]); u != nil && c.answer != nil {
			c.answer.msg.Usage = u
		}
	case "tool.user_requested":
		c.typed[d.str("toolCallId")] = d["arguments"]
	case "tool.execution_complete":
		c.completed(line, d, at, id)
	case "session.compaction_start":
		c.kept, c.begun = c.tip, true
	case "session.compaction_complete":
		c.compacted(line, f["data"], at, id)
	case "session.truncation":
		c.note(Lost, "truncation", line, id, "places where the program dropped old messages from its context")
	case "session.snapshot_rewind":
		if to, known := c.before[d.str("upToEventId")]; known {
			c.tip = to
		}
		c.note(Aside, "event:"+typ, line, id, "places where the user went back; what was left is a branch")
	case "session.context_cleared":
		c.tip = nil
		c.note(Aside, "event:"+typ, line, id, "places where the user began anew; what was before is a branch")
	default:
		c.note(Aside, "event:"+typ, line, id, "events of the type "+printable(typ, 40)+", which are no part of the conversation")
	}
}

// user adds what the user said, apart from what the program put around it for the model.
func (c *copilot) user(line int, d fields, at time.Time, id string) {
	if n := len(d["attachments"].list()); n > 0 {
		c.note(Lost, "attachments", line, id, "attachments, which are not recorded as the model saw them")
	}
	said := d.str("content")
	sent := cmp.Or(d.str("transformedContent"), said)
	before, after, found := strings.Cut(sent, "\n\n"+said)
	if !found {
		before, after, found = strings.Cut(sent, said)
	}
	own := message.OriginUser
	switch {
	case d.str("source") != "" || d["isAutopilotContinuation"].bool():
		own = message.OriginInjected
	case !found:
		c.note(Aside, "transformed", line, id, "messages that the program sent in other words")
		before, after = "", ""
	}
	n := 0
	for i, text := range []string{before, said, after} {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		whose := message.OriginInjected
		if i == 1 {
			whose = own
		}
		c.userText(whose, text, at, line, id+sub(n))
		n++
	}
	if n == 0 {
		c.empty(line, id)
	}
}

func (c *copilot) assistant(line int, d fields, at time.Time, id string) {
	var blocks []message.Block
	if text := d.str("reasoningText"); text != "" {
		blocks = append(blocks, message.ThinkingBlock(text, ""))
	}
	if d.has("reasoningOpaque") || d.has("encryptedContent") {
		c.note(Lost, "sealed-reasoning", line, id, "reasoning that only the model's maker can read; the program drops it too when it resumes")
	}
	if text := d.str("content"); text != "" {
		blocks = append(blocks, message.TextBlock(text))
	}
	for _, r := range d["toolRequests"].list() {
		call := r.str("toolCallId")
		args := r.get("arguments")
		if r.str("type") == "custom" && args.isString() {
			args = object("input", args.str())
		}
		blocks = append(blocks, message.ToolCallBlock(call, r.str("name"), c.callArguments(args, line, call)))
	}
	if len(blocks) == 0 {
		c.empty(line, id)
		return
	}
	// An answer is split where it reasons anew.
	if call := d.str("apiCallId"); call == "" || call != c.call || c.answer != c.tip {
		c.answer = c.say(&message.Message{
			Role: message.RoleAssistant, API: apiChat, Provider: "github-copilot", StopReason: message.StopEnd,
			Model: cmp.Or(d.str("model"), c.model, c.opt.Model.ID),
		}, at, line, id)
		c.call = call
	}
	m := c.answer.msg
	m.Content = append(m.Content, blocks...)
	if c.nameCalls(blocks) {
		m.StopReason = message.StopToolUse
	}
}

// copilotUsage reads the usage of a call, whose input includes the cache.
func copilotUsage(v value) *message.Usage {
	u := &message.Usage{
		Input: v.int("inputTokens"), Output: v.int("outputTokens"), Reasoning: v.int("reasoningTokens"),
		CacheRead: v.int("cacheReadTokens"), CacheWrite: v.int("cacheWriteTokens"),
	}
	u.Input = max(u.Input-u.CacheRead-u.CacheWrite, 0)
	return nonzero(u)
}

// completed adds the result of a call, or a command that the user ran.
func (c *copilot) completed(line int, d fields, at time.Time, id string) {
	call, failed := d.str("toolCallId"), d.has("success") && !d["success"].bool()
	text := d["result"].str("content")
	if failed {
		text = cmp.Or(text, d["error"].str("message"))
	}
	if args, typed := c.typed[call]; typed {
		c.say(&message.Message{Role: message.RoleBashExecution, Command: args.str("command"), Output: text}, at, line, id)
		return
	}
	blocks := []message.Block{message.TextBlock(text)}
	for _, r := range d["result"].list("binaryResultsForLlm") {
		if r.str("type") == "image" && r.str("data") != "" {
			blocks = append(blocks, message.ImageBlock(r.str("mimeType"), r.str("data")))
			continue
		}
		c.note(Lost, "binary-result", line, id, "results that are no text")
	}
	c.result(call, "", blocks, failed, at, line, id)
}

// compacted adds a compaction. What was said while it was made is kept.
func (c *copilot) compacted(line int, d value, at time.Time, id string) {
	kept, begun := c.kept, c.begun
	c.kept, c.begun = nil, false
	if d.has("success") && !d.bool("success") || d.str("summaryContent") == "" {
		c.note(Aside, "event:compaction-failed", line, id, "compactions that failed")
		return
	}
	var first *node
	if begun {
		for n := c.tip; n != nil && n != kept; n = n.parent {
			first = n
		}
	}
	c.compaction(Rewrite{
		Kind: "compaction", Line: line, Summary: d.str("summaryContent"), TokensBefore: d.int("preCompactionTokens"), Trigger: d.str("trigger"),
	}, first, nil, at, id)
}
