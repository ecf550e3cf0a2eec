package gemini

import (
	"bytes"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/model"
)

// stream puts a response together again from its chunks, each of which is a
// response with more parts.
type stream struct {
	c   *Client
	out *model.Emitter

	parts    [][]byte
	usage    []byte
	finish   []byte // the candidate that had a finish reason
	feedback []byte
	id, mod  string
	began    bool
	block    int    // the number of the block that pieces belong to
	kind     string // of that block
}

// Begin implements model.StreamReader.
func (s *stream) Begin() { *s = stream{c: s.c, out: s.out, block: -1} }

// Event implements model.StreamReader.
func (s *stream) Event(e model.ServerEvent) (bool, error) {
	err := s.take(e.Data)
	return s.out.Began(), err
}

func (s *stream) take(data []byte) error {
	obj := jsonx.One(data)
	if !jsonx.IsObject(obj) {
		return s.c.e.Unreadable("stream", data)
	}
	if fail := jsonx.Get(obj, "error"); jsonx.IsObject(fail) {
		err := model.ErrorFromBody(s.c.e.Provider, int(jsonx.CountAt(fail, "code")), nil, obj)
		if err.Kind == model.KindUnknown {
			err.Kind = model.KindServer
		}
		return err
	}
	s.began = true
	if id := jsonx.StringAt(obj, "responseId"); id != "" {
		s.id = id
	}
	if m := jsonx.StringAt(obj, "modelVersion"); m != "" {
		s.mod = m
	}
	if f := jsonx.Get(obj, "promptFeedback"); f != nil {
		s.feedback = bytes.Clone(f)
	}
	candidate := firstCandidate(obj)
	if jsonx.StringAt(candidate, "finishReason") != "" {
		s.finish = bytes.Clone(candidate)
	}
	for _, p := range elements(jsonx.Get(jsonx.Get(candidate, "content"), "parts")) {
		if err := s.part(bytes.Clone(p)); err != nil {
			return err
		}
	}
	if u := jsonx.Get(obj, "usageMetadata"); jsonx.IsObject(u) {
		s.usage = bytes.Clone(u)
		return s.out.Emit(model.Event{Kind: model.EventUsage, Usage: usage(u)})
	}
	return nil
}

func (s *stream) part(p []byte) error {
	kind, event := "other", model.Event{}
	switch {
	case jsonx.IsObject(jsonx.Get(p, "functionCall")):
		kind = "call"
	case isText(p) && thought(p):
		kind, event = "thinking", model.Event{Kind: model.EventThinking, Text: jsonx.StringAt(p, "text")}
	case isText(p):
		kind, event = "text", model.Event{Kind: model.EventText, Text: jsonx.StringAt(p, "text")}
	}
	if kind != s.kind || kind == "call" || kind == "other" {
		s.block++
		s.kind = kind
	}
	call := jsonx.Get(p, "functionCall")
	if kind == "call" && jsonx.StringAt(call, "id") == "" { // older models give none
		call = jsonx.Set(call, "id", jsonx.Quote(s.c.callID(s.id, s.block)))
		p = jsonx.Set(p, "functionCall", call)
	}
	s.parts = append(s.parts, p)
	if kind == "call" {
		if err := s.out.Emit(model.Event{Kind: model.EventCall, Block: s.block, ID: jsonx.StringAt(call, "id"), Name: jsonx.StringAt(call, "name")}); err != nil {
			return err
		}
		event = model.Event{Kind: model.EventArguments, Text: string(jsonx.Get(call, "args"))}
	}
	if event.Kind == "" {
		return nil
	}
	event.Block = s.block
	return s.out.Emit(event)
}

// End implements model.StreamReader.
func (s *stream) End() error {
	switch {
	case !s.began:
		return s.c.e.Fail("stream", model.KindDropped, errNothing)
	case s.finish == nil && jsonx.StringAt(s.feedback, "blockReason") == "":
		return s.c.e.Fail("stream", model.KindDropped, errEnded)
	}
	return nil
}

// Whole returns the response as the API would have answered it.
func (s *stream) Whole() []byte {
	candidate := s.finish
	if candidate == nil {
		candidate = []byte(`{}`)
	}
	var content, o jsonx.Object
	content.Raw("parts", jsonx.Array(merge(s.parts)))
	content.Str("role", "model")
	if s.finish != nil || len(s.parts) > 0 {
		o.Raw("candidates", jsonx.Array([][]byte{jsonx.Set(candidate, "content", content.Bytes())}))
	}
	o.Raw("promptFeedback", s.feedback)
	o.Raw("usageMetadata", s.usage)
	o.OptStr("modelVersion", s.mod)
	o.OptStr("responseId", s.id)
	return o.Bytes()
}

// Partial returns what had arrived. Calls come whole.
func (s *stream) Partial() *model.Answer {
	if len(s.parts) == 0 && s.usage == nil {
		return &model.Answer{}
	}
	a, err := s.c.read("stream", s.Whole())
	if err != nil {
		return &model.Answer{}
	}
	return a
}
