package transcript

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// gemini reads what Gemini CLI keeps: a list of contents of its API (a
// checkpoint), alone or as history, or a recorded session with messages of the
// types user and gemini, whose calls and results stand together.
type gemini struct {
	*builder
	byID     map[string]*node
	answered map[string]bool // calls that have their result
	open     []string        // calls that wait for their results, where they have no ids
	toolNo   int
}

func readGemini(s *source, b *builder) error {
	g := &gemini{builder: b, byID: map[string]*node{}, answered: map[string]bool{}}
	if s.doc == nil {
		return g.log(s)
	}
	list := s.doc.list()
	for _, name := range []string{"messages", "history", "contents"} {
		if len(list) == 0 {
			list = s.doc.list(name)
		}
	}
	if s.doc.isObject() {
		g.head(s.doc)
	}
	for i, v := range list {
		g.message(v, i+1)
	}
	return nil
}

func (g *gemini) head(v value) {
	h := &g.t.Header
	if h.ID == "" {
		h.ID = v.str("sessionId")
	}
	if h.Timestamp.IsZero() {
		h.Timestamp = v.time("startTime")
	}
	g.name = cmp.Or(v.str("summary"), g.name)
}

func (g *gemini) message(v value, line int) {
	f := v.fields()
	if f["parts"].isArray() {
		g.content(f, line)
		return
	}
	at := f["timestamp"].time()
	switch typ := f.str("type"); typ {
	case "user":
		g.said(f, at, line)
	case "gemini", "model", "assistant":
		g.recorded(f, at, line)
	case "info", "error", "warning":
		g.note(Aside, "message:"+typ, line, f.str("id"), "notices of the program, which are no part of the conversation")
	default:
		g.note(Lost, "message:"+typ, line, f.str("id"), "messages of a type that has no place here")
	}
}

// said adds what the user said, and results. Most of these stand with their calls as well.
func (g *gemini) said(f fields, at time.Time, line int) {
	parts := []value{f["content"]}
	if f["content"].isArray() {
		parts = f["content"].list()
	}
	var blocks []message.Block
	for _, p := range parts {
		r := p.get("functionResponse")
		if !r.isObject() {
			blocks = append(blocks, g.parts(p, line)...)
		} else if id := r.str("id"); id == "" || !g.answered[id] {
			id, out := g.response(r, line)
			g.answered[id] = true
			g.result(id, r.str("name"), out, r.has("response", "error"), at, line, f.str("id")+"/"+id)
		}
	}
	if len(blocks) > 0 {
		g.words(blocks, at, line, f.str("id"))
		g.byID[f.str("id")] = g.tip
	}
}

// recorded adds an answer of a recorded session with the results of its calls.
func (g *gemini) recorded(f fields, at time.Time, line int) {
	m := &message.Message{Role: message.RoleAssistant, API: apiGemini, Provider: "google", Model: f.str("model"), StopReason: message.StopEnd}
	content := g.parts(f["content"], line)
	has := func(t message.BlockType) bool {
		return slices.ContainsFunc(content, func(b message.Block) bool { return b.Type == t })
	}
	// Content with calls or thinking in it has all of them.
	if whole := has(message.BlockThinking) || has(message.BlockToolCall); !whole {
		for _, th := range f["thoughts"].list() {
			text := strings.TrimSpace(th.str("subject") + "\n" + th.str("description"))
			if text != "" {
				m.Content = append(m.Content, message.ThinkingBlock(text, ""))
			}
		}
		for _, call := range f["toolCalls"].list() {
			content = append(content, message.ToolCallBlock(call.str("id"), call.str("name"), g.arguments(call.get("args"), line, call.str("id"))))
		}
	}
	for _, b := range content {
		if b.Type == message.BlockToolCall {
			m.StopReason = message.StopToolUse
			delete(g.answered, b.ID) // a compaction writes what it keeps anew
		}
	}
	m.Content = append(m.Content, content...)
	if t := f["tokens"]; t.isObject() {
		cached := min(t.int("cached"), t.int("input"))
		m.Usage = nonzero(&message.Usage{
			Input: t.int("input") - cached + t.int("tool"), CacheRead: cached,
			Output: t.int("output") + t.int("thoughts"), Reasoning: t.int("thoughts"),
		})
	}
	if len(m.Content) == 0 {
		g.empty(line, f.str("id"))
		return
	}
	g.byID[f.str("id")] = g.say(m, at, line, f.str("id"))
	for i, call := range f["toolCalls"].list() {
		if !call.has("result") && call.str("status") == "" {
			continue
		}
		var blocks []message.Block
		for _, part := range call.list("result") {
			_, b := g.response(part.get("functionResponse"), line)
			blocks = append(blocks, b...)
		}
		status := call.str("status")
		done := call.time("timestamp")
		if done.IsZero() {
			done = at
		}
		g.answered[call.str("id")] = true
		g.result(call.str("id"), call.str("name"), blocks, status == "error" || status == "cancelled", done, line, f.str("id")+"/result"+itoa(i))
	}
}

// parts reads text and files.
func (g *gemini) parts(content value, line int) (blocks []message.Block) {
	if content.isString() {
		if s := content.str(); s != "" {
			return []message.Block{message.TextBlock(s)}
		}
		return nil
	}
	list := content.list()
	if content.isObject() {
		list = []value{content}
	}
	for _, p := range list {
		if block, ok := g.part(p, line); ok {
			blocks = append(blocks, block)
		}
	}
	return blocks
}

func (g *gemini) part(p value, line int) (message.Block, bool) {
	f := p.fields()
	sig := f.str("thoughtSignature")
	switch {
	case p.isString():
		return message.TextBlock(p.str()), p.str() != ""
	case f["functionCall"].isObject():
		call := f["functionCall"]
		id := call.str("id")
		if id == "" {
			g.toolNo++
			id = call.str("name") + "_" + itoa(g.toolNo)
		}
		g.open = append(g.open, id)
		block := message.ToolCallBlock(id, call.str("name"), g.arguments(call.get("args"), line, id))
		block.Signature = sig
		return block, true
	case f["inlineData"].isObject():
		d := f["inlineData"]
		return message.ImageBlock(d.str("mimeType"), d.str("data")), true
	case f["fileData"].isObject():
		g.note(Lost, "image-link", line, "", "files that are only referred to; a line of text stands for each")
		return message.TextBlock(linked("file", f["fileData"].str("fileUri"))), true
	case f["thought"].bool():
		return message.ThinkingBlock(f.str("text"), sig), f.str("text") != "" || sig != ""
	case f.has("text"):
		block := message.TextBlock(f.str("text"))
		block.Signature = sig
		return block, f.str("text") != "" || sig != ""
	case f.has("executableCode"), f.has("codeExecutionResult"):
		g.note(Lost, "code", line, "", "code that the provider ran, which has no place here")
		return message.Block{}, false
	}
	g.note(Lost, "part", line, "", "parts of a message that have no place here")
	return message.Block{}, false
}

// content adds one content of the API.
func (g *gemini) content(f fields, line int) {
	var blocks []message.Block
	var results []value
	for _, p := range f["parts"].list() {
		if r := p.get("functionResponse"); r.isObject() {
			results = append(results, r)
		} else if block, ok := g.part(p, line); ok {
			blocks = append(blocks, block)
		}
	}
	if f.str("role") == "model" {
		m := &message.Message{Role: message.RoleAssistant, API: apiGemini, Provider: "google", StopReason: message.StopEnd, Content: blocks}
		if g.nameCalls(blocks) {
			m.StopReason = message.StopToolUse
		}
		if len(blocks) > 0 {
			g.say(m, time.Time{}, line, "")
		}
		return
	}
	for _, r := range results {
		id, out := g.response(r, line)
		g.result(id, r.str("name"), out, r.has("response", "error"), time.Time{}, line, "")
	}
	if len(blocks) > 0 {
		g.words(blocks, time.Time{}, line, "")
	}
}

// words adds a user message; what the program puts in begins with a tag of its
// own.
func (g *gemini) words(blocks []message.Block, at time.Time, line int, key string) {
	if strings.HasPrefix(strings.TrimSpace(blocks[0].Text), snapshotMark) {
		g.note(Aside, "snapshot", line, "", "summaries of a conversation that is not in the file")
	}
	g.user(geminiMarks.origin(blocks[0]), blocks, at, line, key)
}

// response reads the response of a function: the text that is its output, or the
// JSON of it.
func (g *gemini) response(r value, line int) (id string, blocks []message.Block) {
	if id = r.str("id"); id == "" && len(g.open) > 0 {
		for i, open := range g.open {
			if g.names[open] == r.str("name") {
				id = open
				g.open = append(g.open[:i:i], g.open[i+1:]...)
				break
			}
		}
	}
	resp := r.get("response")
	out := resp.get("output")
	if !out.has() {
		out = resp.get("error")
	}
	switch {
	case out.isString():
		blocks = append(blocks, message.TextBlock(out.str()))
	case resp.has():
		blocks = append(blocks, message.TextBlock(string(jsonx.Clean(json.RawMessage(resp)))))
	}
	for _, p := range r.list("parts") {
		if block, ok := g.part(p, line); ok {
			blocks = append(blocks, block)
		}
	}
	return id, blocks
}
