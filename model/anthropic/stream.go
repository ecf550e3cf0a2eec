package anthropic

import (
	"bytes"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/model"
)

// stream puts a message together again from its events, as the bytes that the
// API would have answered without a stream; so that both are read by one reader,
// and what no one here knows survives.
type stream struct {
	c      *Client
	out    *model.Emitter
	base   []byte // the message of message_start
	blocks []*block
	place  map[int64]int // of the API's index in blocks
	usage  []byte
	stop   []byte // the delta of message_delta
	done   bool
}

// block is a content block in the making.
type block struct {
	typ   string
	raw   []byte // as it started
	texts []growing
	input strings.Builder // partial_json
	cites [][]byte
	whole bool // its end was said
}

// growing is a string member that deltas add to.
type growing struct {
	key  string
	text *strings.Builder
}

// Begin implements model.StreamReader.
func (s *stream) Begin() { *s = stream{c: s.c, out: s.out, place: map[int64]int{}} }

// Event implements model.StreamReader.
func (s *stream) Event(e model.ServerEvent) (bool, error) {
	data := jsonx.One(e.Data)
	typ, _ := jsonx.String(jsonx.Get(data, "type"))
	if typ == "" {
		typ = e.Name
	}
	err := s.take(typ, data)
	return s.out.Began(), err
}

func (s *stream) take(typ string, data []byte) error {
	index, _ := jsonx.Int(jsonx.Get(data, "index"))
	switch typ {
	case "message_start":
		s.base = bytes.Clone(jsonx.Get(data, "message"))
		s.usage = bytes.Clone(jsonx.Get(s.base, "usage"))
		return s.out.Emit(model.Event{Kind: model.EventUsage, Usage: usage(s.usage, nil)})
	case "content_block_start":
		return s.start(index, bytes.Clone(jsonx.Get(data, "content_block")))
	case "content_block_delta":
		n, ok := s.place[index]
		if !ok {
			return s.c.e.Unreadable("stream", data)
		}
		return s.delta(n, jsonx.Get(data, "delta"))
	case "content_block_stop":
		if n, ok := s.place[index]; ok {
			s.blocks[n].whole = true
		}
	case "message_delta":
		s.stop = bytes.Clone(jsonx.Get(data, "delta"))
		s.mergeUsage(jsonx.Get(data, "usage"))
		return s.out.Emit(model.Event{Kind: model.EventUsage, Usage: usage(s.usage, nil)})
	case "message_stop":
		s.done = true
	case "error":
		e := model.ErrorFromBody(s.c.e.Provider, 0, nil, data)
		if e.Kind == model.KindUnknown || e.Kind == model.KindInvalid && e.Type == "" {
			e.Kind = model.KindServer
		}
		return e
	}
	return nil // pings, and what is new
}

func (s *stream) start(index int64, raw []byte) error {
	if !jsonx.IsObject(raw) {
		return s.c.e.Unreadable("stream", raw)
	}
	b := &block{raw: raw}
	b.typ, _ = jsonx.String(jsonx.Get(raw, "type"))
	s.blocks = append(s.blocks, b)
	n := len(s.blocks) - 1
	s.place[index] = n
	switch b.typ {
	case "tool_use":
		id, _ := jsonx.String(jsonx.Get(raw, "id"))
		name, _ := jsonx.String(jsonx.Get(raw, "name"))
		return s.out.Emit(model.Event{Kind: model.EventCall, Block: n, ID: id, Name: name})
	case "text":
		text, _ := jsonx.String(jsonx.Get(raw, "text"))
		return s.out.Emit(model.Event{Kind: model.EventText, Block: n, Text: text})
	}
	return nil
}

func (s *stream) delta(n int, d []byte) error {
	b := s.blocks[n]
	typ, _ := jsonx.String(jsonx.Get(d, "type"))
	switch typ {
	case "input_json_delta":
		text, _ := jsonx.String(jsonx.Get(d, "partial_json"))
		b.input.WriteString(text)
		if b.typ == "tool_use" {
			return s.out.Emit(model.Event{Kind: model.EventArguments, Block: n, Text: text})
		}
		return nil
	case "citations_delta":
		if cite := jsonx.Get(d, "citation"); cite != nil {
			b.cites = append(b.cites, bytes.Clone(cite))
		}
		return nil
	}
	// Every other delta, known or not, names the members it adds to.
	jsonx.Members(d, func(key, val []byte) bool {
		if text, ok := jsonx.String(val); ok && string(key) != "type" {
			b.add(string(key), text)
		} else if !ok && !jsonx.IsNull(val) {
			b.raw = jsonx.Set(b.raw, string(key), bytes.Clone(val))
		}
		return true
	})
	switch typ {
	case "text_delta":
		text, _ := jsonx.String(jsonx.Get(d, "text"))
		return s.out.Emit(model.Event{Kind: model.EventText, Block: n, Text: text})
	case "thinking_delta":
		text, _ := jsonx.String(jsonx.Get(d, "thinking"))
		return s.out.Emit(model.Event{Kind: model.EventThinking, Block: n, Text: text})
	}
	return nil
}

// add adds to a string member.
func (b *block) add(key, text string) {
	for _, g := range b.texts {
		if g.key == key {
			g.text.WriteString(text)
			return
		}
	}
	g := growing{key, &strings.Builder{}}
	start, _ := jsonx.String(jsonx.Get(b.raw, key))
	g.text.WriteString(start)
	g.text.WriteString(text)
	b.texts = append(b.texts, g)
}

// json returns the block as the API would have answered it.
func (b *block) json() []byte {
	raw := b.raw
	for _, g := range b.texts {
		raw = jsonx.Set(raw, g.key, jsonx.Quote(g.text.String()))
	}
	if b.input.Len() > 0 {
		in := []byte(b.input.String())
		if jsonx.One(in) == nil {
			in = jsonx.Quote(b.input.String()) // it was cut; the reader reports it
		}
		raw = jsonx.Set(raw, "input", in)
	}
	if len(b.cites) > 0 {
		raw = jsonx.Set(raw, "citations", jsonx.Array(b.cites))
	}
	return raw
}

// mergeUsage takes the greater of two counts of the input, because some servers
// say 0 in one event where they said more in another. The output is counted as it
// grows, and the last word counts.
func (s *stream) mergeUsage(u []byte) {
	if s.usage == nil {
		s.usage = bytes.Clone(u)
		return
	}
	jsonx.Members(u, func(key, val []byte) bool {
		n, ok := jsonx.Int(val)
		if old, had := jsonx.Int(jsonx.Get(s.usage, string(key))); ok && had && old >= n && string(key) != "output_tokens" || jsonx.IsNull(val) {
			return true
		}
		s.usage = jsonx.Set(s.usage, string(key), bytes.Clone(val))
		return true
	})
}

// End implements model.StreamReader.
func (s *stream) End() error {
	if s.base == nil && len(s.blocks) == 0 && !s.done {
		return s.c.e.Fail("stream", model.KindDropped, errNothing)
	}
	if reason := jsonx.Get(s.stop, "stop_reason"); !s.done && jsonx.IsNull(reason) {
		return s.c.e.Fail("stream", model.KindDropped, errEnded)
	}
	return nil
}

// Whole returns the message as the API would have answered it.
func (s *stream) Whole() []byte {
	base := s.base
	if !jsonx.IsObject(base) {
		base = []byte(`{"type":"message","role":"assistant"}`)
	}
	blocks := make([][]byte, len(s.blocks))
	for i, b := range s.blocks {
		blocks[i] = b.json()
	}
	base = jsonx.Set(base, "content", jsonx.Array(blocks))
	jsonx.Members(s.stop, func(key, val []byte) bool {
		base = jsonx.Set(base, string(key), val)
		return true
	})
	if s.usage != nil {
		base = jsonx.Set(base, "usage", s.usage)
	}
	return base
}

// Partial returns what had arrived. A call whose end was not said is not whole,
// whatever its arguments look like.
func (s *stream) Partial() *model.Answer {
	if s.base == nil && len(s.blocks) == 0 {
		return &model.Answer{}
	}
	var cut []model.BadCall
	s.blocks = slices.DeleteFunc(s.blocks, func(b *block) bool {
		if b.whole || b.typ != "tool_use" {
			return false
		}
		id, _ := jsonx.String(jsonx.Get(b.raw, "id"))
		name, _ := jsonx.String(jsonx.Get(b.raw, "name"))
		cut = append(cut, model.BadCall{ID: id, Name: name, Text: b.input.String()})
		return true
	})
	a, err := s.c.read("stream", s.Whole())
	if err != nil {
		return &model.Answer{}
	}
	a.BadCalls = append(a.BadCalls, cut...)
	return a
}
