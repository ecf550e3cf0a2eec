package openai

import (
	"bytes"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

// itemStream puts a response together again from its events.
type itemStream struct {
	c   *Responses
	out *model.Emitter

	base  []byte // the response as it began, then as it ended
	ended bool
	items []*item
	place map[int64]int // of output_index in items
}

// item is an item of the output in the making.
type item struct {
	typ      string
	raw      []byte // as it began; as it ended once done
	done     bool
	text     strings.Builder // of a message, or the arguments of a call
	thoughts strings.Builder
	parts    int // of the reasoning's summary
}

// Begin implements model.StreamReader.
func (s *itemStream) Begin() { *s = itemStream{c: s.c, out: s.out, place: map[int64]int{}} }

// Event implements model.StreamReader.
func (s *itemStream) Event(e model.ServerEvent) (bool, error) {
	err := s.take(e)
	return s.out.Began(), err
}

func (s *itemStream) take(e model.ServerEvent) error {
	if string(e.Data) == "[DONE]" {
		return nil
	}
	obj := jsonx.One(e.Data)
	typ := jsonx.StringAt(obj, "type")
	if typ == "" {
		typ = e.Name
	}
	switch typ {
	case "response.created", "response.in_progress", "response.queued":
		s.base = bytes.Clone(jsonx.Get(obj, "response"))
		return nil
	case "response.completed", "response.incomplete", "response.done":
		s.base, s.ended = bytes.Clone(jsonx.Get(obj, "response")), true
		return s.out.Emit(model.Event{Kind: model.EventUsage, Usage: responsesUsage(jsonx.Get(s.base, "usage"))})
	case "response.failed":
		return s.failed(jsonx.Get(obj, "response"))
	case "error":
		return s.failed(obj)
	case "response.output_item.added":
		return s.added(obj)
	case "response.output_item.done":
		return s.finished(obj)
	}
	if obj == nil {
		return s.c.e.Unreadable("stream", e.Data)
	}
	return s.delta(typ, obj)
}

func (s *itemStream) failed(obj []byte) error {
	if obj == nil {
		obj = []byte(`{}`)
	}
	if jsonx.StringAt(obj, "type") == "error" { // the type names the event, not the error
		obj = jsonx.Set(bytes.Clone(obj), "type", []byte(`""`))
	}
	err := model.ErrorFromBody(s.c.e.Provider, 0, nil, obj)
	if err.Kind == model.KindUnknown {
		err.Kind = model.KindServer
	}
	return err
}

// at returns the item an event is about; nil for one that has not begun.
func (s *itemStream) at(obj []byte) (it *item, n int) {
	index, _ := jsonx.Int(jsonx.Get(obj, "output_index"))
	n, ok := s.place[index]
	if !ok {
		return nil, 0
	}
	return s.items[n], n
}

func (s *itemStream) added(obj []byte) error {
	raw := bytes.Clone(jsonx.Get(obj, "item"))
	if !jsonx.IsObject(raw) {
		return s.c.e.Unreadable("stream", obj)
	}
	index, _ := jsonx.Int(jsonx.Get(obj, "output_index"))
	n := len(s.items)
	s.place[index] = n
	it := &item{typ: jsonx.StringAt(raw, "type"), raw: raw}
	s.items = append(s.items, it)
	if it.typ == "function_call" {
		id := jsonx.StringAt(raw, "call_id")
		if own := jsonx.StringAt(raw, "id"); own != "" {
			id += "|" + own
		}
		return s.out.Emit(model.Event{Kind: model.EventCall, Block: n, ID: id, Name: jsonx.StringAt(raw, "name")})
	}
	return nil
}

func (s *itemStream) finished(obj []byte) error {
	it, _ := s.at(obj)
	if it == nil {
		if err := s.added(obj); err != nil {
			return err
		}
		it, _ = s.at(obj)
	}
	raw := bytes.Clone(jsonx.Get(obj, "item"))
	if !jsonx.IsObject(raw) {
		return s.c.e.Unreadable("stream", obj)
	}
	it.raw, it.done = raw, true
	return nil
}

func (s *itemStream) delta(typ string, obj []byte) error {
	it, n := s.at(obj)
	if it == nil {
		return nil // of something new
	}
	text := jsonx.StringAt(obj, "delta")
	switch typ {
	case "response.output_text.delta":
		it.text.WriteString(text)
		return s.out.Emit(model.Event{Kind: model.EventText, Block: n, Text: text})
	case "response.function_call_arguments.delta":
		it.text.WriteString(text)
		return s.out.Emit(model.Event{Kind: model.EventArguments, Block: n, Text: text})
	case "response.reasoning_summary_part.added":
		if it.parts++; it.parts > 1 {
			it.thoughts.WriteString("\n\n")
			return s.out.Emit(model.Event{Kind: model.EventThinking, Block: n, Text: "\n\n"})
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		it.thoughts.WriteString(text)
		return s.out.Emit(model.Event{Kind: model.EventThinking, Block: n, Text: text})
	}
	return nil
}

// End implements model.StreamReader.
func (s *itemStream) End() error {
	switch {
	case s.base == nil && len(s.items) == 0:
		return s.c.e.Fail("stream", model.KindDropped, errNothing)
	case !s.ended:
		return s.c.e.Fail("stream", model.KindDropped, errEnded)
	}
	return nil
}

// Whole returns the response as the API would have answered it. The items as
// they ended count; some servers leave them out of the last event.
func (s *itemStream) Whole() []byte {
	base := s.base
	if !jsonx.IsObject(base) {
		base = []byte(`{}`)
	}
	var done [][]byte
	for _, it := range s.items {
		if it.done {
			done = append(done, it.raw)
		}
	}
	if len(done) > 0 || !jsonx.IsArray(jsonx.Get(base, "output")) {
		base = jsonx.Set(base, "output", jsonx.Array(done))
	}
	return base
}

// Partial returns what had arrived: whole items, and the text of others.
func (s *itemStream) Partial() *model.Answer {
	a := &model.Answer{}
	for _, it := range s.items {
		switch {
		case it.done:
			s.c.readItem(a, it.raw)
		case it.typ == "function_call":
			a.BadCalls = append(a.BadCalls, model.BadCall{ID: jsonx.StringAt(it.raw, "call_id"), Name: jsonx.StringAt(it.raw, "name"), Text: it.text.String()})
		case it.typ == "message" && it.text.Len() > 0:
			a.Blocks = append(a.Blocks, message.TextBlock(it.text.String()))
		case it.typ == "reasoning" && it.thoughts.Len() > 0:
			a.Blocks = append(a.Blocks, message.ThinkingBlock(it.thoughts.String(), ""))
		}
	}
	return a
}
