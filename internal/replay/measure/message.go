package measure

import (
	"encoding/json"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
)

// Kind says who a message stands for.
type Kind uint8

// The kinds.
const (
	World   Kind = iota // results of calls, output of commands, what programs put in
	User                // what the user typed
	Agent               // what the agent wrote
	Summary             // of an earlier compaction
)

// Message is one message of a neutral list.
type Message struct {
	Kind Kind
	Text string
	// Hidden is reasoning: it was seen, and never counts as a use.
	Hidden string
	Calls  []Call
	// CallID is, of a result, the call that it answers. Failed says that the call
	// failed.
	CallID string
	Failed bool
}

// Call is a call of a tool. Arguments are JSON, or, where they are not, a text.
type Call struct {
	ID, Name  string
	Arguments json.RawMessage
}

// Size returns the size of a message in UTF-16 units: what of it is text for the
// model. Reasoning counts nothing, for providers drop that of earlier turns.
func (m *Message) Size() int {
	n := Units(m.Text)
	for _, c := range m.Calls {
		n += len(c.Name) + Units(string(c.Arguments))
	}
	return n
}

// said calls fn with each text of a message that counts as its content: the text,
// and of calls the strings and numbers among the arguments, unescaped, those that
// are mere coordinates left out.
func (m *Message) said(fn func(s string)) {
	if m.Text != "" {
		fn(m.Text)
	}
	for _, c := range m.Calls {
		c.Strings(fn)
	}
}

// raw calls fn with everything that stands in a message in any way.
func (m *Message) raw(fn func(s string)) {
	m.said(fn)
	if m.Hidden != "" {
		fn(m.Hidden)
	}
	for _, c := range m.Calls {
		fn(c.Name)
		fn(string(c.Arguments))
	}
}

// Strings calls fn with each text and number among the arguments, coordinates left out;
// with all of the arguments where they are no JSON.
func (c *Call) Strings(fn func(s string)) {
	if _, err := jsonx.Scan(c.Arguments, 0); err != nil {
		if len(c.Arguments) > 0 {
			fn(string(c.Arguments))
		}
		return
	}
	leaves(c.Arguments, fn)
}

func leaves(val []byte, fn func(s string)) {
	switch {
	case jsonx.IsObject(val):
		jsonx.Members(val, func(key, v []byte) bool {
			if !coordinate(string(key)) {
				leaves(v, fn)
			}
			return true
		})
	case jsonx.IsArray(val):
		jsonx.Elements(val, func(v []byte) bool {
			leaves(v, fn)
			return true
		})
	case jsonx.IsString(val):
		if s, ok := jsonx.String(val); ok && s != "" {
			fn(s)
		}
	default:
		if n := strings.TrimSpace(string(val)); n != "" && (n[0] == '-' || n[0] >= '0' && n[0] <= '9') {
			fn(n)
		}
	}
}

// coordinate reports whether an argument says where in something rather than
// what: nobody has to remember it.
func coordinate(name string) bool {
	switch name {
	case "offset", "limit", "timeout", "line", "view_range":
		return true
	}
	return strings.HasPrefix(name, "max_")
}

// argument returns the first of the named arguments that is a string that is not
// empty.
func (c *Call) argument(names ...string) string {
	if _, err := jsonx.Scan(c.Arguments, 0); err != nil || !jsonx.IsObject(c.Arguments) {
		return ""
	}
	for _, name := range names {
		if s, ok := jsonx.String(jsonx.Get(c.Arguments, name)); ok && s != "" {
			return s
		}
	}
	return ""
}
