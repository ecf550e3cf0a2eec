package transcript

import (
	"cmp"
	"strings"
	"time"

	"github.com/clew-dev/clew/message"
)

// openCode reads exports of opencode: an info of the session and its messages,
// each an info with parts. The calls of an answer and their results are one part.
// A compaction is a user message with a part of that type and the answer that is
// its summary.
type openCode struct {
	*builder
	byID      map[string]*node
	calls     map[string]bool               // the ids of calls so far
	compacted map[string]openCodeCompaction // by the id of the user message
}

// openCodeResult is a part that holds a call and its result.
type openCodeResult struct {
	callID string
	part   value
}

type openCodeCompaction struct {
	line    int
	auto    bool
	firstID string
}

func readOpenCode(s *source, b *builder) error {
	if s.doc == nil {
		return wrongShape(s, "one JSON value")
	}
	o := &openCode{builder: b, byID: map[string]*node{}, calls: map[string]bool{}, compacted: map[string]openCodeCompaction{}}
	list := s.doc.list()
	if s.doc.isObject() {
		info := s.doc.get("info")
		b.t.Header.ID, b.t.Header.Cwd = info.str("id"), info.str("directory")
		b.t.Header.Timestamp = info.time("time", "created")
		b.name = info.str("title")
		list = s.doc.list("messages")
	}
	for i, v := range list {
		info, parts := v.get("info").fields(), v.list("parts")
		switch role := info.str("role"); role {
		case "user":
			o.user(info, parts, i+1)
		case "assistant":
			o.answer(info, parts, i+1)
		default:
			b.note(Lost, "role:"+role, i+1, info.str("id"), "messages of a role that has no place here")
		}
	}
	return nil
}

func (o *openCode) user(info fields, parts []value, line int) {
	id, at := info.str("id"), info["time"].time("created")
	if s := info.str("system"); s != "" {
		o.note(Lost, "system", line, id, "system texts that came with one message")
	}
	var said, put []message.Block
	for _, p := range parts {
		f := p.fields()
		switch typ := f.str("type"); typ {
		case "text":
			switch {
			case f["ignored"].bool():
				o.note(Aside, "ignored", line, f.str("id"), "texts that were not sent to the model")
			case f["synthetic"].bool():
				put = append(put, message.TextBlock(f.str("text")))
			default:
				said = append(said, message.TextBlock(f.str("text")))
			}
		case "file":
			if block, ok := o.file(f, line); ok {
				said = append(said, block)
			}
		case "compaction":
			o.compacted[id] = openCodeCompaction{line, f["auto"].bool(), f.str("tail_start_id")}
			return
		case "subtask":
			put = append(put, message.TextBlock(f.str("prompt")))
		default:
			o.note(Aside, "part:"+typ, line, f.str("id"), "parts that are no part of what was said")
		}
	}
	if len(said) > 0 {
		o.byID[id] = o.builder.user(message.OriginUser, said, at, line, id)
	}
	if len(put) > 0 {
		n := o.builder.user(message.OriginInjected, put, at, line, id+"/synthetic")
		if o.byID[id] == nil {
			o.byID[id] = n
		}
	}
}

// file reads an attached file. Files of text stand in a part of their own too.
func (o *openCode) file(f fields, line int) (message.Block, bool) {
	mime, url := f.str("mime"), f.str("url")
	switch {
	case mime == "text/plain" || mime == "application/x-directory":
		o.note(Aside, "text-file", line, f.str("id"), "attached texts, which stand in a part of their own")
		return message.Block{}, false
	case strings.HasPrefix(mime, "image/"):
		return o.imageURL(url, line), true
	}
	o.note(Lost, "file", line, f.str("id"), "attached files that are no images; a line of text stands for each")
	return message.TextBlock(linked("file", cmp.Or(f.str("filename"), mime))), true
}

// answer adds the steps of an answer: each is a call of the model.
func (o *openCode) answer(info fields, parts []value, line int) {
	id, at := info.str("id"), info["time"].time("created")
	if c, ok := o.compacted[info.str("parentID")]; ok && info["summary"].bool() {
		o.summary(c, parts, at, id)
		return
	}
	start := func() *message.Message {
		return &message.Message{
			Role: message.RoleAssistant, API: apiChat, Provider: info.str("providerID"), Model: info.str("modelID"), StopReason: message.StopEnd,
		}
	}
	step, m, results := 0, start(), []openCodeResult(nil)
	flush := func() {
		if len(m.Content) > 0 {
			n := o.say(m, at, line, id+sub(step))
			if o.byID[id] == nil {
				o.byID[id] = n
			}
			for i, r := range results {
				o.toolResult(r, at, line, id+sub(step)+"/result"+itoa(i))
			}
			step++
		}
		m, results = start(), nil
	}
	steps := false
	for _, p := range parts {
		f := p.fields()
		switch typ := f.str("type"); typ {
		case "text":
			if s := f.str("text"); s != "" {
				m.Content = append(m.Content, message.TextBlock(s))
			}
		case "reasoning":
			if s := f.str("text"); s != "" {
				sig := cmp.Or(f["metadata"].str("anthropic", "signature"), f["metadata"].str("signature"))
				if sig != "" {
					m.API = apiAnthropic
				}
				m.Content = append(m.Content, message.ThinkingBlock(s, sig))
			}
		case "tool":
			call := o.callID(f, line)
			m.Content = append(m.Content, message.ToolCallBlock(call, f.str("tool"), o.arguments(f["state"].get("input"), line, call)))
			m.StopReason = message.StopToolUse
			results = append(results, openCodeResult{call, p})
		case "step-start":
			flush()
		case "step-finish":
			m.Usage, steps = openCodeUsage(f["tokens"]), true
			flush()
		default:
			o.note(Aside, "part:"+typ, line, f.str("id"), "parts that are no part of what was said")
		}
	}
	if !steps {
		m.Usage = openCodeUsage(info["tokens"])
	}
	if e := info["error"]; e.has() {
		m.StopReason, m.ErrorMessage = message.StopError, cmp.Or(e.str("data", "message"), e.str("name"))
		if e.str("name") == "MessageAbortedError" {
			m.StopReason = message.StopAborted
		}
	}
	flush()
}

// callID returns the id of a call. Where another call has the same one, as where ids
// were masked, it is made distinct.
func (o *openCode) callID(f fields, line int) string {
	id := f.str("callID")
	if id == "" || o.calls[id] {
		o.note(Made, "call-id", line, id, "calls without an id of their own; they get one")
		for n := len(o.calls); id == "" || o.calls[id]; n++ {
			id = cmp.Or(f.str("callID"), "call") + "_" + itoa(n)
		}
	}
	o.calls[id] = true
	return id
}

func (o *openCode) toolResult(r openCodeResult, at time.Time, line int, key string) {
	call, p, state := r.callID, r.part, r.part.get("state")
	if end := state.time("time", "end"); !end.IsZero() {
		at = end
	}
	switch status := state.str("status"); status {
	case "completed":
		blocks := []message.Block{message.TextBlock(state.str("output"))}
		for _, a := range state.list("attachments") {
			if block, ok := o.file(a.fields(), line); ok {
				blocks = append(blocks, block)
			}
		}
		o.result(call, p.str("tool"), blocks, false, at, line, key)
		if state.has("time", "compacted") {
			o.note(Aside, "cleared-result", line, call, "results that the program left out of later requests; they are whole here")
		}
	case "error":
		o.result(call, p.str("tool"), []message.Block{message.TextBlock(state.str("error"))}, true, at, line, key)
	default:
		o.note(Aside, "unfinished-call", line, call, "calls that were "+cmp.Or(status, "not run")+" when the file was written")
	}
}

func (o *openCode) summary(c openCodeCompaction, parts []value, at time.Time, key string) {
	var text []string
	for _, p := range parts {
		if p.str("type") == "text" {
			text = append(text, p.str("text"))
		}
	}
	rw := Rewrite{Kind: "compaction", Line: c.line, Summary: strings.Join(text, "\n\n"), Trigger: "manual"}
	if c.auto {
		rw.Trigger = "auto"
	}
	if rw.Summary == "" {
		o.note(Lost, "no-summary", c.line, key, "compactions without a summary")
	}
	o.compaction(rw, o.byID[c.firstID], nil, at, key)
}

// openCodeUsage reads tokens, whose input is without the cache. Later versions
// count reasoning beside the output.
func openCodeUsage(v value) *message.Usage {
	if !v.isObject() {
		return nil
	}
	u := &message.Usage{
		Input: v.int("input"), Output: v.int("output"), Reasoning: v.int("reasoning"),
		CacheRead: v.int("cache", "read"), CacheWrite: v.int("cache", "write"),
	}
	if u.Reasoning > u.Output || v.int("total") == u.Input+u.Output+u.Reasoning+u.CacheRead+u.CacheWrite {
		u.Output += u.Reasoning
	}
	return nonzero(u)
}
