package transcript

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clew-dev/clew/message"
)

// claude reads the files of Claude Code: one line for each block of an answer,
// which share the message's id and repeat its usage, linked by parentUuid; a
// compact_boundary line and a user message with isCompactSummary where the
// conversation was compacted.
type claude struct {
	*builder
	at      map[string]*node // what a line became, or what it hangs under when it became nothing
	answers map[string]*node // by message id
	calls   map[string]*node // answers by the ids of their calls
	results map[string]*node // by the ids of their calls
	main    *node            // the end of the main path
	begun   bool             // a message was seen
	agent   bool             // the file is that of an agent of another session
	titles  map[string]string
	// moved has the last lines that compactions kept: what names one as its parent
	// afterwards hangs under the compaction.
	moved map[string]*node
	// hooks has the lines of progress. They follow one another from the first call of a turn
	// on, and may be written after its end: what hangs under one does not leave out what
	// came since. https://github.com/anthropics/claude-code/issues/35024
	hooks map[string]bool
	queue claudeQueue
}

func readClaude(s *source, b *builder) error {
	s.asLines()
	c := &claude{
		builder: b, at: map[string]*node{}, answers: map[string]*node{}, calls: map[string]*node{},
		results: map[string]*node{}, titles: map[string]string{}, moved: map[string]*node{},
		hooks: map[string]bool{},
	}
	if err := s.objects(func(line int, obj value) error {
		c.line(line, obj.fields())
		return nil
	}); err != nil {
		return err
	}
	c.close()
	return nil
}

func (c *claude) line(line int, f fields) {
	typ, id := f.str("type"), f.str("uuid")
	if id != "" {
		if _, seen := c.at[id]; seen {
			c.note(Aside, "repeated-line", line, id, "lines that stand in the file twice")
			return
		}
	}
	side := f["isSidechain"].bool()
	if typ == "user" || typ == "assistant" {
		// An agent has a file of its own, where all lines are of its sidechain.
		c.agent = c.agent || side && !c.begun
		c.begun = true
	}
	task := side && c.agent
	side = side && !c.agent
	if side && !c.opt.Sidechains {
		if id != "" {
			c.note(Lost, "sidechain", line, id, "lines of other agents (sidechains); option Sidechains takes them in")
			c.at[id] = nil
		}
		return
	}
	if !side && (typ == "user" || typ == "assistant") {
		if s := f.str("sessionId"); s != "" {
			c.t.Header.ID = s
		}
		if c.t.Header.Cwd == "" {
			c.t.Header.Cwd = f.str("cwd")
		}
		if c.t.Header.Timestamp.IsZero() {
			c.t.Header.Timestamp = f["timestamp"].time()
		}
	}
	before := c.tip
	switch typ {
	case "user":
		c.user(line, f, side || task)
	case "assistant":
		c.assistant(line, f)
	case "system":
		c.system(line, f)
	case "attachment":
		c.attachment(line, f)
	case "summary", "custom-title", "ai-title":
		c.titles[f.str("leafUuid")] = cmp.Or(f.str("summary"), f.str("customTitle"), f.str("aiTitle"), f.str("title"))
	case "queue-operation":
		c.queued(line, f)
	default:
		kind := typ
		if typ == "progress" {
			kind += ":" + f["data"].str("type")
		}
		c.note(Aside, "line:"+kind, line, id, "lines of the type "+printable(typ, 40)+", which are no part of the conversation")
	}
	if id != "" {
		if _, done := c.at[id]; !done {
			c.at[id] = c.parent(f, line)
			if typ == "progress" {
				c.hooks[id] = true
			}
		}
	}
	if c.tip != before && !side {
		c.main = c.tip
	}
}

// parent returns what a line hangs under.
func (c *claude) parent(f fields, line int) *node {
	id := f.str("parentUuid")
	if id == "" {
		id = f.str("logicalParentUuid")
	}
	if id == "" {
		return nil
	}
	if n := c.moved[id]; n != nil {
		return n
	}
	n, known := c.at[id]
	if !known {
		if c.main != nil && f.str("parentUuid") != "" {
			c.note(Damaged, "missing-parent", line, id, "lines whose parent is not in the file; they hang under the one before")
		}
		return c.main
	}
	// What follows on one of several results follows on all of them.
	if n != nil && n.answer != nil {
		n = n.answer
	}
	if n != nil && n.last != nil {
		n = n.last
	}
	if c.hooks[id] && n != nil && n.answer != nil && c.main.follows(n) {
		n = c.main
		c.at[id] = n
	}
	return n
}

// follows reports whether a node is behind another on a path. It goes back no further than
// to where the other was added.
func (n *node) follows(other *node) bool {
	for n != nil && n.place > other.place {
		n = n.parent
	}
	return n == other
}

func (c *claude) user(line int, f fields, task bool) {
	at, id := f["timestamp"].time(), f.str("uuid")
	content := f["message"].get("content")
	if f["isCompactSummary"].bool() {
		c.summary(line, f, content)
		return
	}
	said, results := c.anthropicBlocks(content, line)
	if len(said) == 0 && len(results) == 0 {
		c.empty(line, id)
		return
	}
	parent := c.parent(f, line)
	for i, r := range results {
		callID, blocks, isError := c.anthropicResult(r, line)
		if c.results[callID] != nil {
			c.note(Aside, "second-result", line, callID, "further results of a call that has one")
			continue
		}
		answer := c.calls[callID]
		c.tip = parent
		if answer != nil {
			if c.tip = answer; answer.last != nil {
				c.tip = answer.last
			}
			if c.tip.kids > 0 && c.main != nil {
				c.tip = c.main // the conversation went on before the result came
			}
		}
		n := c.result(callID, "", blocks, isError, at, line, id+sub(i))
		if c.results[callID] = n; answer != nil {
			n.answer, answer.last = answer, n
		}
		parent = n
	}
	if f.has("toolUseResult") && len(results) > 0 {
		c.note(Aside, "toolUseResult", line, id, "tool results in the form the program kept for itself")
	}
	if len(said) > 0 {
		c.tip = parent
		c.said(said, f, task, at, line, id)
	}
	c.at[id] = c.tip
}

func (c *claude) assistant(line int, f fields) {
	id, m := f.str("uuid"), f["message"].fields()
	model := m.str("model")
	if model == "<synthetic>" {
		what := "answers that the program wrote itself"
		if f["isApiErrorMessage"].bool() {
			what = "errors that the program wrote as answers"
		}
		c.note(Aside, "synthetic-answer", line, id, what)
		return
	}
	blocks, _ := c.anthropicBlocks(m["content"], line)
	key := cmp.Or(m.str("id"), f.str("requestId"), id)
	usage := anthropicUsage(m["usage"])
	n := c.answers[key]
	if n == nil {
		if len(blocks) == 0 {
			c.empty(line, id)
			return
		}
		if c.tip = c.parent(f, line); !f["isSidechain"].bool() {
			c.tip = c.deliver(c.tip)
		}
		n = c.say(&message.Message{
			Role: message.RoleAssistant, API: apiAnthropic, Provider: "anthropic", Model: model,
		}, f["timestamp"].time(), line, cmp.Or(id, key))
		c.answers[key] = n
	}
	// A line that was written again under another uuid has the same call.
	blocks = slices.DeleteFunc(blocks, func(b message.Block) bool {
		return b.Type == message.BlockToolCall && c.calls[b.ID] == n
	})
	n.msg.Content = append(n.msg.Content, blocks...)
	for i := range blocks {
		if blocks[i].Type == message.BlockToolCall {
			c.names[blocks[i].ID] = blocks[i].Name
			c.calls[blocks[i].ID] = n
		}
	}
	// Each line repeats the usage as it was when the line was written.
	if usage != nil && (n.msg.Usage == nil || usage.Output >= n.msg.Usage.Output) {
		n.msg.Usage = usage
	}
	if r := m.str("stop_reason"); r != "" || n.msg.StopReason == "" || n.msg.StopReason == message.StopEnd {
		n.msg.StopReason = anthropicStop(r, n.msg.Content)
	}
	c.at[id] = n
}

func (c *claude) system(line int, f fields) {
	id, sub := f.str("uuid"), f.str("subtype")
	at := f["timestamp"].time()
	switch sub {
	case "compact_boundary":
		meta := f["compactMetadata"]
		c.tip = c.parent(f, line)
		if c.tip == nil {
			c.tip = c.main
		}
		c.tip = c.deliver(c.tip)
		var first *node
		if head := meta.str("preservedSegment", "headUuid"); head != "" {
			if first = c.at[head]; first != nil && first.answer != nil {
				first = first.answer
			}
		}
		n := c.compaction(Rewrite{
			Kind: "compaction", Line: line, TokensBefore: meta.int("preTokens"), Trigger: meta.str("trigger"),
		}, first, nil, at, id)
		c.at[id] = n
		// What is kept stands before the compaction, or behind it as a part of the path.
		tail := meta.str("preservedSegment", "tailUuid")
		if _, before := c.at[tail]; before {
			c.moved[tail] = n
		}
	case "microcompact_boundary":
		meta := f["microcompactMetadata"]
		c.tip = c.parent(f, line)
		var edits *node
		for i, call := range meta.list("compactedToolIds") {
			if target := c.results[call.str()]; target != nil {
				n := c.edit(target, "[cleared]", false, at, line, id+"/"+itoa(i))
				if edits == nil {
					edits = n
				}
			}
		}
		if edits != nil {
			edits.rewrite = &Rewrite{Kind: "clear-results", Line: line, TokensBefore: meta.int("preTokens"), Trigger: meta.str("trigger")}
			c.at[id] = c.tip
		}
	case "local_command":
		if s := f.str("content"); s != "" {
			c.tip = c.parent(f, line)
			c.at[id] = c.userText(message.OriginShell, s, at, line, id)
		}
	default:
		c.note(Aside, "line:system:"+sub, line, id, "notices of the program, which are no part of the conversation")
	}
}

// summary takes the text of a compaction, which stands in a user message.
func (c *claude) summary(line int, f fields, content value) {
	blocks, _ := c.anthropicBlocks(content, line)
	text := textOf(blocks)
	id := f.str("uuid")
	n := c.at[f.str("parentUuid")]
	if n == nil || n.rewrite == nil || n.rewrite.Summary != "" {
		c.tip = c.parent(f, line)
		n = c.compaction(Rewrite{Kind: "compaction", Line: line}, nil, nil, f["timestamp"].time(), id)
	}
	n.rewrite.Summary = text
	c.at[id] = n
}

// attachment takes the user's words out of what was added to a prompt; the rest
// is not in the file as the model saw it.
func (c *claude) attachment(line int, f fields) {
	a := f["attachment"].fields()
	typ, id := a.str("type"), f.str("uuid")
	if typ == "queued_command" && a.str("commandMode") != "task-notification" {
		if said, _ := c.anthropicBlocks(a["prompt"], line); len(said) > 0 {
			c.heard(textOf(said), true)
			c.tip = c.parent(f, line)
			c.said(said, f, false, f["timestamp"].time(), line, id)
			c.at[id] = c.tip
			return
		}
	}
	if s := a["content"]; s.isString() && typ != "" && s.str() != "" && strings.Contains(typ, "hook") {
		c.tip = c.parent(f, line)
		c.at[id] = c.userText(message.OriginHook, s.str(), f["timestamp"].time(), line, id)
		return
	}
	c.note(Lost, "attachment:"+typ, line, id, "attachments, which are not recorded as the model saw them")
}

func (c *claude) close() {
	c.main = c.deliver(c.main)
	c.tip = c.main
	for leaf, title := range c.titles {
		if n, ok := c.at[leaf]; leaf == "" || ok && n != nil {
			c.name = max(c.name, title) // maps have no order
			continue
		}
		c.note(Aside, "line:summary", 0, "", "titles of other sessions")
	}
	for _, n := range c.nodes {
		if n.rewrite != nil && n.rewrite.Kind == "compaction" && n.rewrite.Summary == "" {
			c.note(Lost, "no-summary", n.line, n.key, "compactions whose summary is not in the file")
		}
	}
}

// sub marks the parts of one line, the first not at all.
func sub(i int) string {
	if i == 0 {
		return ""
	}
	return "/" + itoa(i)
}
