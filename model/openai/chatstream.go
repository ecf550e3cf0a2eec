package openai

import (
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
	parts            [][]byte    // content that came in parts
	byIndex          map[int]int // place in calls by the API's index
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
	obj := valid(e.Data)
	if fail := jsonx.Get(obj, "error"); !jsonx.IsNull(fail) || e.Name == "error" {
		return s.failed(obj, fail)
	}
	if !jsonx.IsObject(obj) {
		return s.c.e.Unreadable("stream", e.Data)
	}
	s.began = true
	if id := str(obj, "id"); id != "" {
		s.id = id
	}
	if m := str(obj, "model"); m != "" {
		s.modelName = m
	}
	choice := firstChoice(obj)
	for _, u := range [][]byte{jsonx.Get(obj, "usage"), jsonx.Get(choice, "usage")} {
		if jsonx.IsObject(u) {
			s.usage = clone(u)
			if err := s.out.Emit(model.Event{Kind: model.EventUsage, Usage: chatUsage(u)}); err != nil {
				return err
			}
		}
	}
	if choice == nil {
		return nil
	}
	if reason := str(choice, "finish_reason"); reason != "" {
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
		if text := str(d, field); text != "" && (s.field == "" || s.field == field) {
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
	text, ok := jsonx.String(content)
	if !ok && jsonx.IsArray(content) {
		text = s.addParts(content)
	} else {
		s.text.WriteString(text)
	}
	if text != "" {
		s.begin(&s.textBlock)
		if err := s.out.Emit(model.Event{Kind: model.EventText, Block: s.textBlock - 1, Text: text}); err != nil {
			return err
		}
	}
	s.refusal.WriteString(str(d, "refusal"))
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

// addParts takes content in parts and returns its text. Neighbouring texts are
// pieces of one.
func (s *chatStream) addParts(content []byte) (text string) {
	jsonx.Elements(content, func(part []byte) bool {
		if str(part, "type") == "text" {
			piece := str(part, "text")
			text += piece
			if n := len(s.parts); n > 0 && str(s.parts[n-1], "type") == "text" {
				s.parts[n-1] = jsonx.Set(s.parts[n-1], "text", jsonx.Quote(str(s.parts[n-1], "text")+piece))
				return true
			}
		}
		s.parts = append(s.parts, clone(part))
		return true
	})
	return text
}

// call takes a piece of a tool call. Pieces belong together by index; where a
// server sends none, by id, and a piece with neither belongs to the last call.
func (s *chatStream) call(d []byte) error {
	id := str(d, "id")
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
		s.calls = append(s.calls, &chatCall{id: id, name: str(f, "name"), block: s.blocks - 1})
		if s.calls[at].id == "" {
			s.calls[at].id = s.c.e.NewID()
		}
		if has {
			s.byIndex[int(n)] = at
		}
		if err := s.out.Emit(model.Event{Kind: model.EventCall, Block: s.calls[at].block, ID: s.calls[at].id, Name: s.calls[at].name}); err != nil {
			return err
		}
	} else if name := str(f, "name"); name != "" && s.calls[at].name == "" {
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

// completion returns the completion as the API would have answered it.
func (s *chatStream) completion() []byte {
	var msg jsonx.Object
	msg.Str("role", "assistant")
	switch {
	case len(s.parts) > 0:
		msg.Raw("content", join(s.parts))
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
		msg.Raw("tool_calls", join(calls))
	}
	var choice, o jsonx.Object
	choice.Raw("message", msg.Bytes())
	choice.OptStr("finish_reason", s.finish)
	o.OptStr("id", s.id)
	o.OptStr("model", s.modelName)
	o.Raw("choices", join([][]byte{choice.Bytes()}))
	o.Raw("usage", s.usage)
	return o.Bytes()
}

// partial returns what had arrived. The last call is not whole, whatever its
// arguments look like.
func (s *chatStream) partial() *model.Answer {
	if !s.began {
		return &model.Answer{}
	}
	var cut []*chatCall
	if n := len(s.calls); n > 0 && s.finish == "" {
		cut, s.calls = s.calls[n-1:], s.calls[:n-1]
	}
	a, err := s.c.read("stream", s.completion())
	if err != nil {
		return &model.Answer{}
	}
	for _, c := range cut {
		a.BadCalls = append(a.BadCalls, model.BadCall{ID: c.id, Name: c.name, Text: c.args.String()})
	}
	return a
}
