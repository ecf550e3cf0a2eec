// Package wire converts the neutral messages of a context to a provider's API format and validates every list before it
// is sent.
//
//	req, notes, err := wire.Build(msgs, wire.Anthropic, wire.Target{
//		Provider: "anthropic", Model: "claude-opus-4-5", TakesImages: true,
//	}, wire.Options{})
//	body := req.Body(wire.Anthropic, wire.Anthropic.Head("claude-opus-4-5", 8192))
//	// {"model":...,"max_tokens":8192,"tools":[...],"system":[...],"messages":[...]}
//
// [Build] is three pure functions: [Normalize] pairs calls with results, settles roles and decides what may be sent at
// all; [Render] writes JSON from the parts as they were stored; [Validate] reads that JSON again and lists what a
// provider would refuse. In Build it skips long values that were checked before. What a provider accepts is data: a
// [Profile].
//
// Providers cache by prefix, and some bind signed thinking to what stands before it. So
// when messages are added to a list, System, Tools and all rendered messages but the
// last stay the same bytes; the last does too, or, where the profile merges neighbours
// of one role, gets blocks at its end. Exceptions say something new about what was sent
// before: the result of a call that was settled because a later answer showed that the
// conversation went on, a second compaction summary, a system message that changes the
// tools or is folded ([MidSystemFold]), and another target.
package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"sync/atomic"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// Request holds the parts of a request body that come from the context.
type Request struct {
	Profile  string            // the name of the profile it was rendered for
	System   json.RawMessage   // nil for none; without a SystemField it is the first of Messages
	Messages []json.RawMessage // the elements of the messages member
	Tools    json.RawMessage   // nil for none
	// From says for each of Messages which messages of the list given to Normalize are
	// in it, as indexes in the order of their parts; none for words of wire's own.
	From [][]int
	// Thinks says that the request turns thinking on, for Validate.
	Thinks bool

	list *list
}

// Build is Normalize, Render and Validate: the one way to a list that is sent or counted.
// The notes of Normalize are given with a [ValidationError] too.
func Build(msgs []*message.Message, p Profile, t Target, o Options) (*Request, []Note, error) {
	n, l, err := newNormalizer(msgs, p, t, o)
	if err != nil {
		return nil, nil, err
	}
	// Turn by turn, while the bytes of one are in the processor's cache.
	n.spare = &slab[Part]{}
	v := newValidator(&p, msgs)
	r, turn := render(l, len(msgs), size(msgs, t), v.message)
	notes := n.run(func(m *message.Message) { v.src.add(m, p.Thinking) }, turn)
	return r, notes, v.verdict(r)
}

// Render writes a list as JSON for the profile it was normalized for.
func Render(l *List) *Request {
	n := 0
	for i := range l.Turns {
		n += room(l.Turns[i].Parts)
	}
	r, turn := render(l, len(l.Turns), n, func([]byte, []span) {})
	for i := range l.Turns {
		turn(&l.Turns[i])
	}
	return r
}

// size is about what messages have when they are rendered, rather more.
func size(msgs []*message.Message, t Target) (n int) {
	for _, m := range msgs {
		n += len(m.Raw()) + 32*(1+len(m.Content))
		if m.Raw() != nil && t.TakesImages {
			continue
		}
		for k := range m.Content {
			switch b := &m.Content[k]; {
			case m.Raw() == nil:
				n += len(b.Text) + len(b.Text)/8 + len(b.Signature) + len(b.Arguments) + len(b.Data)
			case b.Type == message.BlockImage:
				n -= len(b.Data) // a line of text takes its place
			}
		}
	}
	return n
}

// render returns a request without messages, and what adds those of a turn. Each message is
// given to read, with the values in it that are sound by construction. The messages have
// about size bytes.
func render(l *List, messages, size int, read func(msg []byte, sound []span)) (r *Request, turn func(*Turn)) {
	p := &l.profile
	r = &Request{
		Profile: p.Name, Messages: make([]json.RawMessage, 0, messages), From: make([][]int, 0, messages),
	}
	w := &writer{p: p, t: l.target, r: r, read: read, from: make([]int, 0, messages)}
	if p.form != formPi && p.form != formNone {
		r.list = newList(l, size)
		w.e.buf = r.list.buf
	}
	switch p.form {
	case formAnthropic:
		return r, w.anthropic(l)
	case formChat:
		return r, w.chat(l)
	case formResponses:
		return r, w.responses(l)
	case formGemini:
		return r, w.gemini(l)
	case formPi, formNone:
	}
	return r, func(t *Turn) { w.add(t.Parts, t.Parts[0].Raw) }
}

type writer struct {
	p    *Profile
	t    Target
	r    *Request
	e    encoder // of messages
	head encoder // of the system text and the tools
	from []int   // of all messages
	read func(msg []byte, sound []span)
}

// add appends a message that holds parts.
func (w *writer) add(parts []Part, msg json.RawMessage) {
	start := len(w.from)
	var from []int // nil for none
	for i := range parts {
		if f := parts[i].From; f >= 0 && (len(w.from) == start || w.from[len(w.from)-1] != f) {
			w.from = append(w.from, f)
			from = w.from[start:len(w.from):len(w.from)]
		}
	}
	w.r.Messages = append(w.r.Messages, msg)
	w.r.From = append(w.r.From, from)
	w.read(msg, w.e.sound)
	w.e.sound = w.e.sound[:0]
	if w.r.list != nil && len(w.e.buf) < cap(w.e.buf) {
		w.e.buf = append(w.e.buf, ',')
		w.r.list.buf = w.e.buf
	}
}

// Size returns the size in bytes of the parts, without what a body has beside them.
func (r *Request) Size() int64 {
	n := int64(len(r.System) + len(r.Tools))
	for _, m := range r.Messages {
		n += int64(len(m)) + 1
	}
	return n
}

// Body returns a request body: the members of head, a JSON object as [Profile.Head] makes
// it, then what comes from the context. What grows stands last, so that a body is the
// start of the next one but for what closes it. A nil head is for looking at the context.
// The body may share its memory with Messages.
func (r *Request) Body(p Profile, head json.RawMessage) json.RawMessage {
	e := &encoder{buf: append([]byte(nil), bytes.TrimSuffix(head, []byte("}"))...)}
	if head == nil {
		e.open('{')
	}
	if p.form == formAnthropic && head != nil { // the order in which the API caches
		e.raw(p.ToolsField, r.Tools).raw(p.SystemField, r.System)
	} else {
		e.raw(p.SystemField, r.System).raw(p.ToolsField, r.Tools)
	}
	before := e.array(p.MessagesField).end()
	if body := r.list.body(before, r.Messages); body != nil {
		return body
	}
	return joined(before, r.Messages, "]}")
}

// A list is the memory of messages that were written one after the other, with a comma
// behind each. It begins with room for what a body has before them, so that the first body
// needs no copy of them.
type list struct {
	buf   []byte
	start int         // of the first message
	taken atomic.Bool // a body has the room
}

func newList(l *List, size int) *list {
	const head = 2 << 10
	start, system := head, len(l.System)+len(l.System)/8
	for _, t := range l.Tools {
		start += len(t) + len(t)/8 + 64
	}
	start += system
	return &list{buf: make([]byte, start, start+size+system+256), start: start}
}

// body returns a body, or nil where there is no room or the messages are not all as they
// were written: some were changed, or came from elsewhere.
func (l *list) body(before []byte, msgs []json.RawMessage) json.RawMessage {
	if l == nil || len(before) > l.start || len(l.buf) == cap(l.buf) || len(msgs) == 0 {
		return nil
	}
	at := l.start
	for _, m := range msgs {
		if len(m) == 0 || at+len(m) >= len(l.buf) || &m[0] != &l.buf[at] {
			return nil
		}
		at += len(m) + 1
	}
	if at != len(l.buf) || !l.taken.CompareAndSwap(false, true) {
		return nil
	}
	from := l.start - len(before)
	copy(l.buf[from:], before)
	l.buf[at-1] = ']'
	return append(l.buf, '}')[from : at+1 : at+1]
}

// Head returns the members of a body that name the model and the greatest length of
// the answer in tokens, 0 for what the API does; the Messages API wants a limit.
func (p Profile) Head(model string, maxOutput int64) json.RawMessage {
	var o, config jsonx.Object
	limit := map[form]string{formAnthropic: "max_tokens", formChat: "max_completion_tokens", formResponses: "max_output_tokens"}[p.form]
	if p.form == formGemini { // it has the model in the address
		if maxOutput > 0 {
			config.Int("maxOutputTokens", maxOutput)
			o.Raw("generationConfig", config.Bytes())
		}
		return o.Bytes()
	}
	o.Str("model", model)
	if maxOutput > 0 && limit != "" {
		o.Int(limit, maxOutput)
	}
	if p.form == formResponses {
		o.Bool("store", false) // the whole conversation is in each request
	}
	return o.Bytes()
}

// List returns Messages as one JSON array.
func (r *Request) List() json.RawMessage {
	return joined([]byte{'['}, r.Messages, "]")
}

// joined copies the elements of an array once, between what opens and what closes it.
func joined(before []byte, elements []json.RawMessage, after string) json.RawMessage {
	parts, between, comma := make([][]byte, 0, 2*len(elements)+2), before, []byte{','}
	for _, e := range elements {
		parts = append(parts, between, e)
		between = comma
	}
	if len(elements) == 0 {
		parts = append(parts, before)
	}
	return bytes.Join(append(parts, []byte(after)), nil)
}

// encoder writes JSON values one after the other into chunks that many of them share.
// Commas come by themselves.
type encoder struct {
	buf   []byte
	start int    // of the value in buf
	sound []span // the long values in it that are sound by construction: see span
}

const (
	minChunk = 4 << 10
	maxChunk = 1 << 20
)

func (e *encoder) begin(n int) *encoder {
	if cap(e.buf)-len(e.buf) < n {
		e.buf = make([]byte, 0, max(n, min(2*cap(e.buf), maxChunk), minChunk))
	}
	e.start, e.sound = len(e.buf), e.sound[:0]
	return e
}

func (e *encoder) end() json.RawMessage { return e.buf[e.start:len(e.buf):len(e.buf)] }

func room(parts []Part) int {
	n := 64
	for i := range parts {
		p := &parts[i]
		n += 100 + len(p.Text) + len(p.Signature) + len(p.Arguments) + len(p.Data) + len(p.Raw) + len(p.ID) + len(p.Name) + room(p.Content)
	}
	return n
}

// value begins a value: a comma where one stands before it.
func (e *encoder) value() {
	if n := len(e.buf); n > e.start && e.buf[n-1] != '{' && e.buf[n-1] != '[' && e.buf[n-1] != ':' {
		e.buf = append(e.buf, ',')
	}
}

// open begins an object or an array, close ends as many as there are characters.
func (e *encoder) open(c byte) *encoder {
	e.value()
	e.buf = append(e.buf, c)
	return e
}

func (e *encoder) close(c string) *encoder {
	e.buf = append(e.buf, c...)
	return e
}

func (e *encoder) key(k string) *encoder {
	e.value()
	e.buf = append(e.buf, '"')
	e.buf = append(e.buf, k...)
	e.buf = append(e.buf, '"', ':')
	return e
}

// object begins a member that is an object, array one that is an array.
func (e *encoder) object(k string) *encoder { return e.key(k).open('{') }
func (e *encoder) array(k string) *encoder  { return e.key(k).open('[') }

// raw writes a member that is sound JSON already, unless there is none.
func (e *encoder) raw(k string, val []byte) *encoder {
	if k != "" && val != nil {
		e.key(k)
		e.buf = append(e.buf, val...)
		e.mark(len(val))
	}
	return e
}

// mark notes that the last n bytes are a sound value. A few bytes are checked faster than noted.
func (e *encoder) mark(n int) {
	if to := len(e.buf) - e.start; n > 64 && to <= math.MaxInt32 {
		e.sound = append(e.sound, span{int32(to - n), int32(to)}) //nolint:gosec // compared above
	}
}

func (e *encoder) str(k, s string) *encoder {
	e.key(k)
	e.buf = jsonx.AppendQuote(e.buf, s)
	return e
}

func (e *encoder) opt(k, s string) *encoder {
	if s != "" {
		e.str(k, s)
	}
	return e
}

func (e *encoder) element(val json.RawMessage) {
	e.value()
	e.buf = append(e.buf, val...)
}

// texts writes a member with the texts of parts, joined by line breaks.
func (e *encoder) texts(k string, parts []Part) *encoder {
	e.key(k)
	from, first := len(e.buf), true
	e.buf = append(e.buf, '"')
	for i := range parts {
		if parts[i].Kind != PartText && parts[i].Kind != PartThinking {
			continue
		}
		if !first {
			e.buf = append(e.buf, '\\', 'n')
		}
		first = false
		text := parts[i].Text
		e.buf = append(e.buf, text[1:len(text)-1]...)
	}
	e.buf = append(e.buf, '"')
	e.mark(len(e.buf) - from)
	return e
}

// dataURL writes a member with an image as a data URL.
func (e *encoder) dataURL(k string, p *Part) *encoder {
	e.str(k, "data:"+p.MIMEType+";base64,")
	e.buf = append(e.buf[:len(e.buf)-1], p.Data[1:]...)
	return e
}
