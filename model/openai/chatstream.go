package openai

import (
	"bytes"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/model"
)

// chatStream puts a completion together again from its chunks.
type chatStream struct {
	c   *Chat
	out *model.Emitter

	id, modelName    string
	text, refusal    strings.Builder
	reasoning        strings.Builder
	field            string // that reasoning came in
	calls            []*chatCall
	finish           string
	usage            []byte
	began, completed bool
	blocks           int         // how many have begun
	textBlock, think int         // their numbers, from 1
	parts            []*chatPart // content that came in parts
	byIndex          map[int]int // place in calls by the API's index
}

// chatPart is a part of the content: a text or reasoning that grows, or something
// else as it came.
type chatPart struct {
	kind string // "text", "thinking" or ""
	text strings.Builder
	raw  []byte
}

type chatCall struct {
	id, name string
	args     strings.Builder
	block    int
}

// Begin implements model.StreamReader.
func (s *chatStream) Begin() {
	*s = chatStream{c: s.c, out: s.out, byIndex: map[int]int{}}
}

// Event implements model.StreamReader.
func (s *chatStream) Event(e model.ServerEvent) (bool, error) {
	err := s.take(e)
	return s.out.Began(), err
}

func (s *chatStream) take(e model.ServerEvent) error {
	if string(e.Data) == "[DONE]" {
		s.completed = true
		return nil
	}
	obj := jsonx.One(e.Data)
	if fail := jsonx.Get(obj, "error"); !jsonx.IsNull(fail) || e.Name == "error" {
		return s.failed(obj, fail)
	}
	if !jsonx.IsObject(obj) {
		return s.c.e.Unreadable("stream", e.Data)
	}
	s.began = true
	if id := jsonx.StringAt(obj, "id"); id != "" {
		s.id = id
	}
	if m := jsonx.StringAt(obj, "model"); m != "" {
		s.modelName = m
	}
	choice := firstChoice(obj)
	for _, u := range [][]byte{jsonx.Get(obj, "usage"), jsonx.Get(choice, "usage")} {
		if jsonx.IsObject(u) {
			s.usage = bytes.Clone(u)
			if err := s.out.Emit(model.Event{Kind: model.EventUsage, Usage: chatUsage(u)}); err != nil {
				return err
			}
		}
	}
	if choice == nil {
		return nil
	}
	if reason := jsonx.StringAt(choice, "finish_reason"); reason != "" {
		s.finish = reason
	}
	return s.delta(jsonx.Get(choice, "delta"))
}

func (s *chatStream) failed(obj, fail []byte) error {
	if obj == nil {
		obj = []byte(`{}`)
	}
	err := model.ErrorFromBody(s.c.e.Provider, errorStatus(fail), nil, obj)
	if err.Kind == model.KindUnknown {
		err.Kind = model.KindServer
	}
	return err
}

func (s *chatStream) delta(d []byte) error {
	for _, field := range reasoningFields {
		// A server may send the same under two names; the first one counts.
		if text := jsonx.StringAt(d, field); text != "" && (s.field == "" || s.field == field) {
			s.field = field
			s.reasoning.WriteString(text)
			s.begin(&s.think)
			if err := s.out.Emit(model.Event{Kind: model.EventThinking, Block: s.think - 1, Text: text}); err != nil {
				return err
			}
			break
		}
	}
	content := jsonx.Get(d, "content")
	text, isText := jsonx.String(content)
	switch {
	case !isText && jsonx.IsArray(content):
		var thinking string
		if text, thinking = s.addParts(content); thinking != "" {
			s.begin(&s.think)
			if err := s.out.Emit(model.Event{Kind: model.EventThinking, Block: s.think - 1, Text: thinking}); err != nil {
				return err
			}
		}
	case len(s.parts) > 0: // Mistral: reasoning in parts, then the answer as text
		s.grow("text", text)
	default:
		s.text.WriteString(text)
	}
	if text != "" {
		s.begin(&s.textBlock)
		if err := s.out.Emit(model.Event{Kind: model.EventText, Block: s.textBlock - 1, Text: text}); err != nil {
			return err
		}
	}
	s.refusal.WriteString(jsonx.StringAt(d, "refusal"))
	var err error
	jsonx.Elements(jsonx.Get(d, "tool_calls"), func(call []byte) bool {
		err = s.call(call)
		return err == nil
	})
	return err
}

func (s *chatStream) begin(block *int) {
	if *block == 0 {
		s.blocks++
		*block = s.blocks
	}
}

// addParts takes content in parts and returns its text and its reasoning.
func (s *chatStream) addParts(content []byte) (text, thinking string) {
	if len(s.parts) == 0 {
		s.grow("text", s.text.String())
	}
	jsonx.Elements(content, func(part []byte) bool {
		switch jsonx.StringAt(part, "type") {
		case "text":
			text += jsonx.StringAt(part, "text")
			s.grow("text", jsonx.StringAt(part, "text"))
		case "thinking":
			thinking += reasoningOf(part)
			s.grow("thinking", reasoningOf(part))
		default:
			s.parts = append(s.parts, &chatPart{raw: bytes.Clone(part)})
		}
		return true
	})
	return text, thinking
}

// grow adds to the last part, if it is of the kind, else begins one. Neighbours
// of a kind are pieces of one.
func (s *chatStream) grow(kind, text string) {
	if text == "" {
		return
	}
	n := len(s.parts)
	if n == 0 || s.parts[n-1].kind != kind {
		s.parts = append(s.parts, &chatPart{kind: kind})
		n++
	}
	s.parts[n-1].text.WriteString(text)
}

// json returns the part as the API would have answered it.
func (p *chatPart) json() []byte {
	var o jsonx.Object
	switch p.kind {
	case "text":
		o.Str("type", "text")
		o.Str("text", p.text.String())
	case "thinking":
		var t jsonx.Object
		t.Str("type", "text")
		t.Str("text", p.text.String())
		o.Str("type", "thinking")
		o.Raw("thinking", jsonx.Array([][]byte{t.Bytes()}))
	default:
		return p.raw
	}
	return o.Bytes()
}

// call takes a piece of a tool call. Pieces belong together by index; where a
// server sends none, by id, and a piece with neither belongs to the last call.
func (s *chatStream) call(d []byte) error {
	id := jsonx.StringAt(d, "id")
	f := jsonx.Get(d, "function")
	n, has := jsonx.Int(jsonx.Get(d, "index"))
	at, known := s.byIndex[int(n)]
	switch {
	case has && known && id != "" && s.calls[at].id != "" && s.calls[at].id != id:
		known = false // two calls with one index, as some servers number them
	case !has:
		known = len(s.calls) > 0 && (id == "" || s.calls[len(s.calls)-1].id == id)
		at = len(s.calls) - 1
	}
	if !known {
		at = len(s.calls)
		s.blocks++
		s.calls = append(s.calls, &chatCall{id: id, name: jsonx.StringAt(f, "name"), block: s.blocks - 1})
		if s.calls[at].id == "" {
			s.calls[at].id = s.c.e.NewID()
		}
		if has {
			s.byIndex[int(n)] = at
		}
		if err := s.out.Emit(model.Event{Kind: model.EventCall, Block: s.calls[at].block, ID: s.calls[at].id, Name: s.calls[at].name}); err != nil {
			return err
		}
	} else if name := jsonx.StringAt(f, "name"); name != "" && s.calls[at].name == "" {
		s.calls[at].name = name
	}
	c := s.calls[at]
	args := jsonx.Get(f, "arguments")
	text, ok := jsonx.String(args)
	if !ok && jsonx.IsObject(args) {
		text = string(args)
	}
	c.args.WriteString(text)
	return s.out.Emit(model.Event{Kind: model.EventArguments, Block: c.block, Text: text})
}

// End implements model.StreamReader. A finish reason is an end too: some servers
// send no [DONE].
func (s *chatStream) End() error {
	switch {
	case !s.began:
		return s.c.e.Fail("stream", model.KindDropped, errNothing)
	case s.finish == "" && !s.completed:
		return s.c.e.Fail("stream", model.KindDropped, errEnded)
	}
	return nil
}

// Whole returns the completion as the API would have answered it.
func (s *chatStream) Whole() []byte {
	var msg jsonx.Object
	msg.Str("role", "assistant")
	switch {
	case len(s.parts) > 0:
		parts := make([][]byte, len(s.parts))
		for i, p := range s.parts {
			parts[i] = p.json()
		}
		msg.Raw("content", jsonx.Array(parts))
	case s.text.Len() > 0:
		msg.Str("content", s.text.String())
	}
	if s.field != "" {
		msg.Str(s.field, s.reasoning.String())
	}
	msg.OptStr("refusal", s.refusal.String())
	if len(s.calls) > 0 {
		calls := make([][]byte, len(s.calls))
		for i, c := range s.calls {
			var f, o jsonx.Object
			f.Str("name", c.name)
			f.Str("arguments", c.args.String())
			o.Str("id", c.id)
			o.Str("type", "function")
			o.Raw("function", f.Bytes())
			calls[i] = o.Bytes()
		}
		msg.Raw("tool_calls", jsonx.Array(calls))
	}
	var choice, o jsonx.Object
	choice.Raw("message", msg.Bytes())
	choice.OptStr("finish_reason", s.finish)
	o.OptStr("id", s.id)
	o.OptStr("model", s.modelName)
	o.Raw("choices", jsonx.Array([][]byte{choice.Bytes()}))
	o.Raw("usage", s.usage)
	return o.Bytes()
}

// Partial returns what had arrived. The last call is not whole, whatever its
// arguments look like.
func (s *chatStream) Partial() *model.Answer {
	if !s.began {
		return &model.Answer{}
	}
	var cut []*chatCall
	if n := len(s.calls); n > 0 && s.finish == "" {
		cut, s.calls = s.calls[n-1:], s.calls[:n-1]
	}
	a, err := s.c.read("stream", s.Whole())
	if err != nil {
		return &model.Answer{}
	}
	for _, c := range cut {
		a.BadCalls = append(a.BadCalls, model.BadCall{ID: c.id, Name: c.name, Text: c.args.String()})
	}
	return a
}
