package transcript

import (
	"cmp"
	"fmt"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// Plain lists are what goes to an API: a list of messages, or a request body with
// one, or one message a line. There are no times in them, and only some have the
// model or usage.

// listHead reads what stands beside the messages of a body: system text, tools,
// the model.
func (b *builder) listHead(doc value, system string) {
	if !doc.isObject() {
		return
	}
	if s := doc.str("model"); s != "" && b.opt.Model.ID == "" {
		b.opt.Model.ID = s
	}
	tools := chatTools(doc.get("tools"))
	sys := doc.get(system)
	blocks, _ := b.anthropicBlocks(sys, 0)
	if len(blocks) > 0 || tools != nil {
		b.say(&message.Message{Role: message.RoleSystem, Content: blocks, ToolsAdded: tools}, time.Time{}, 0, "system")
	}
	jsonx.Members(doc, func(key, _ []byte) bool {
		switch k := string(key); k {
		case "model", "messages", "input", "output", "usage", "tools", "id", "object", "type", system:
		default:
			b.note(Aside, "member:"+k, 0, "", "settings of the request, which are no part of the conversation")
		}
		return true
	})
}

func (b *builder) requestHead(body value) { b.listHead(body, "system") }

// elements calls head with what stands around the list, and fn with each message
// of it, whichever way it comes.
func (s *source) elements(name string, head func(body value), fn func(line int, m value)) error {
	each := func(list []value) {
		for i, m := range list {
			fn(i+1, m)
		}
	}
	if s.doc == nil {
		return s.sessionsOf(name, func(body value) {
			head(body)
			each(body.list(name))
		}, fn)
	}
	head(s.doc)
	list := s.doc.list()
	if s.doc.isObject() {
		if list = s.doc.list(name); list == nil {
			list = []value{s.doc}
		}
	}
	each(list)
	return nil
}

// sessionsOf reads lines. Of those that have a list of that name, each is a session, and
// pick is called with the one that is asked for; fn is called with the others.
func (s *source) sessionsOf(name string, pick func(obj value), fn func(line int, obj value)) error {
	sessions := 0
	err := s.objects(func(line int, obj value) error {
		if !obj.get(name).isArray() {
			fn(line, obj)
			return nil
		}
		if sessions == s.opt.Select {
			pick(obj)
		}
		sessions++
		return nil
	})
	s.sessions = sessions
	if err == nil && sessions > 0 && s.opt.Select >= sessions {
		err = fmt.Errorf("%w: the file has %d sessions, and one behind them was asked for", ErrEmpty, sessions)
	}
	return err
}

func (b *builder) model(m *message.Message, f fields) {
	m.Provider = b.opt.Model.Provider
	m.Model = cmp.Or(f.str("model"), b.opt.Model.ID)
	if m.Provider == "" {
		switch m.API {
		case apiAnthropic:
			m.Provider = "anthropic"
		case apiResponses, apiChat:
			m.Provider = "openai"
		}
	}
}

// chatMessage reads a message of Chat Completions; user and answer take those that
// programs tell apart further. failed says that a result is that of a call that failed.
func (b *builder) chatMessage(f fields, at time.Time, line int, failed bool, user func([]message.Block), answer func()) {
	content := func() []message.Block { return b.openAIContent(f["content"], line) }
	switch role := f.str("role"); role {
	case "system", "developer":
		if blocks := content(); len(blocks) > 0 {
			b.say(&message.Message{Role: message.RoleSystem, Content: blocks}, at, line, "")
		}
	case "user":
		user(content())
	case "assistant":
		answer()
	case "tool":
		id := f.str("tool_call_id")
		if ids := f["tool_call_ids"].list(); id == "" && len(ids) > 0 {
			id = ids[0].str()
		}
		b.result(id, f.str("name"), content(), failed, at, line, "")
	default:
		b.otherRole(role, line)
	}
}

func (b *builder) otherRole(role string, line int) {
	b.note(Lost, "role:"+role, line, "", "messages of a role that has no place here")
}

func (b *builder) empty(line int, id string) {
	b.note(Aside, "empty", line, id, "messages without content")
}

func readChat(s *source, b *builder) error {
	functions := 0
	return s.elements("messages", b.requestHead, func(line int, v value) {
		f := v.fields()
		at := f["timestamp"].time()
		if f.str("role") == "function" {
			b.result("function_"+itoa(functions), f.str("name"), b.openAIContent(f["content"], line), false, at, line, "")
			return
		}
		b.chatMessage(f, at, line, false, func(blocks []message.Block) {
			b.words(blocks, wireOrigin, at, line, "")
		}, func() {
			m := b.chatAnswer(f, line)
			b.model(m, f)
			m.Usage = openAIUsage(f["usage"])
			if len(m.Content) == 0 {
				b.empty(line, "")
				return
			}
			if f["function_call"].isObject() {
				functions = line
			}
			b.say(m, at, line, "")
		})
	})
}

func readAnthropic(s *source, b *builder) error {
	return s.elements("messages", b.requestHead, func(line int, v value) {
		f := v.fields()
		said, results := b.anthropicBlocks(f["content"], line)
		switch role := f.str("role"); role {
		case "system":
			if len(said) > 0 {
				b.say(&message.Message{Role: message.RoleSystem, Content: said}, f["timestamp"].time(), line, "")
			}
		case "assistant":
			m := &message.Message{Role: message.RoleAssistant, API: apiAnthropic, Content: said, Usage: anthropicUsage(f["usage"])}
			b.model(m, f)
			m.StopReason = anthropicStop(f.str("stop_reason"), said)
			if len(said) == 0 {
				b.empty(line, "")
				return
			}
			b.say(m, f["timestamp"].time(), line, "")
		case "user":
			for _, r := range results {
				id, blocks, isError := b.anthropicResult(r, line)
				b.result(id, "", blocks, isError, f["timestamp"].time(), line, "")
			}
			b.words(said, wireOrigin, f["timestamp"].time(), line, "")
		default:
			b.otherRole(role, line)
		}
	})
}

// readResponses reads input items. Items that follow one another and are the
// model's are one answer.
func readResponses(s *source, b *builder) error {
	c := newCodex(b)
	head := func(body value) {
		b.listHead(body, "instructions")
		c.model, c.provider = b.opt.Model.ID, cmp.Or(b.opt.Model.Provider, "openai")
	}
	item := func(line int, v value) {
		if v.str("type") == "" && v.has("role") {
			v = jsonx.Set(v, "type", []byte(`"message"`))
		}
		c.item(line, v, v.time("timestamp"))
	}
	if s.doc.isObject() && s.doc.get("input").isString() {
		head(s.doc)
		b.userText(message.OriginUser, s.doc.str("input"), time.Time{}, 1, "")
	} else if err := s.elements("input", head, item); err != nil {
		return err
	}
	for i, v := range s.doc.list("output") {
		item(len(s.doc.list("input"))+i+1, v)
	}
	if u := openAIUsage(s.doc.get("usage")); u != nil && c.answer != nil {
		c.answer.msg.Usage = u
	}
	return nil
}
