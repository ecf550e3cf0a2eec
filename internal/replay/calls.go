package replay

import (
	"github.com/clew-dev/clew/internal/replay/measure"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Kind says what a part of a context is.
type Kind uint8

// The kinds, in the order in which they are drawn.
const (
	KindOverhead Kind = iota // system prompt and tools
	KindUser
	KindAgent
	KindCalls
	KindResults
	KindInjected
	KindSummary
	NumKinds
)

var kindNames = [NumKinds]string{"overhead", "user", "answers", "calls", "results", "injected", "summaries"}

func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return "?"
}

// A block is a part of a context that a cache holds whole or not at all.
type block struct {
	id     blockID
	tokens int
	parts  [NumKinds]int
	result bool // of a call: it stays with what is before it
	turn   bool // a turn begins with it
}

// blockID tells blocks apart: src is the message, or what else it is, and form what
// was made of it.
type blockID struct{ src, form int }

// What src is where it is no message.
const (
	srcOverhead = -1
	srcSummary  = -2
)

// The forms of a message.
const (
	formWhole = iota
	formMasked
	formOffloaded
)

// call is a call of the provider: the context is the blocks before the answer.
type call struct {
	upTo int // blocks before it
	out  int // tokens of the answer
	gap  int64
}

// recording is a session as it would have gone without any rewrite.
type recording struct {
	blocks []block
	calls  []call
	model  string
}

func (r *recording) tokens() int {
	n := 0
	for _, b := range r.blocks {
		n += b.tokens
	}
	return n
}

// record lists what was said and the calls. What a rewrite put in, summaries and
// copies of what it kept, is left out.
func record(s *Session) *recording {
	r := &recording{}
	var last int64
	for _, e := range s.Path {
		m := said(e)
		if m == nil || e.CopyOf() != "" {
			continue
		}
		n, where := neutral(m)
		if where == placeOut || m.Role == message.RoleSystem {
			continue // the prompt is part of the overhead
		}
		b := block{id: blockID{src: len(r.blocks)}, result: m.Role == message.RoleToolResult, turn: n.Kind == measure.User}
		text := toTokens(measure.Units(n.Text))
		b.tokens = toTokens(n.Size())
		switch {
		case m.Role == message.RoleAssistant:
			b.parts[KindAgent] = text
			b.parts[KindCalls] = b.tokens - text
		case b.result:
			b.parts[KindResults] = b.tokens
		case n.Kind == measure.User:
			b.parts[KindUser] = b.tokens
		default:
			b.parts[KindInjected] = b.tokens
		}
		if m.Role == message.RoleAssistant {
			c := call{upTo: len(r.blocks), out: b.tokens + toTokens(measure.Units(n.Hidden))}
			if m.Timestamp > 0 && last > 0 {
				c.gap = m.Timestamp - last
			}
			r.calls = append(r.calls, c)
			if m.Model != "" {
				r.model = m.Model
			}
		}
		if m.Timestamp > 0 {
			last = m.Timestamp
		}
		r.blocks = append(r.blocks, b)
	}
	return r
}

// said returns the message of an entry, nil for one that has none: what a pass left of
// a message that it took out was not said.
func said(e *session.Entry) *message.Message {
	switch e.Type {
	case session.TypeMessage:
		if m, err := e.Message(); err == nil {
			return m
		}
	case session.TypeCustomMessage:
		if m, ok := e.CustomMessage(); ok && m.CustomType != session.CustomExcerpt {
			return m
		}
	default:
	}
	return nil
}

func toTokens(units int) int { return (units + measure.CharsPerToken - 1) / measure.CharsPerToken }
