package token

import (
	"encoding/json"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// ReplaySystem returns one system message with the prompt and the tools that are
// in force after all system messages of msgs, or nil when there is none. Texts
// are joined by an empty line; a section replaces the one of its name, or takes
// it away when it has no text; of tools with the same name the latest counts.
//
// A context is counted and sent with this message in the place of all its
// system messages.
func ReplaySystem(msgs []*message.Message) *message.Message {
	var r replay
	for _, m := range msgs {
		if m.Role == message.RoleSystem {
			r.add(m)
		}
	}
	return r.message()
}

type replay struct {
	seen     bool
	at       int64
	texts    []string
	sections ordered[string]
	tools    ordered[json.RawMessage]
}

func (r *replay) add(m *message.Message) {
	if !r.seen {
		r.seen, r.at = true, m.Timestamp
	}
	if text := m.Text(); text != "" {
		r.texts = append(r.texts, text)
	}
	for _, s := range m.Sections {
		if s.Text == "" {
			r.sections.remove(s.Name)
		} else {
			r.sections.set(s.Name, s.Text)
		}
	}
	jsonx.Elements(m.ToolsRemoved, func(val []byte) bool {
		r.tools.remove(toolName(val))
		return true
	})
	jsonx.Elements(m.ToolsAdded, func(val []byte) bool {
		r.tools.set(toolName(val), val)
		return true
	})
}

// toolName returns the name of a tool given by its definition or by its name alone.
func toolName(val []byte) string {
	if jsonx.IsObject(val) {
		val = jsonx.Get(val, "name")
	}
	name, _ := jsonx.String(val)
	return name
}

func (r *replay) message() *message.Message {
	if !r.seen {
		return nil
	}
	m := &message.Message{Role: message.RoleSystem, Timestamp: r.at}
	if text := strings.Join(r.texts, "\n\n"); text != "" {
		m.Content = []message.Block{message.TextBlock(text)}
	}
	r.sections.each(func(name, text string) {
		m.Sections = append(m.Sections, message.Section{Name: name, Text: text})
	})
	var tools []byte
	r.tools.each(func(_ string, val json.RawMessage) {
		if tools == nil {
			tools = append(tools, '[')
		} else {
			tools = append(tools, ',')
		}
		tools = append(tools, val...)
	})
	if tools != nil {
		m.ToolsAdded = append(tools, ']')
	}
	return m
}

// sectionTexts returns the texts of sections, of those with the same name the last.
func sectionTexts(sections []message.Section) []string {
	var o ordered[string]
	for _, s := range sections {
		o.set(s.Name, s.Text)
	}
	texts := make([]string, 0, len(sections))
	o.each(func(_, text string) { texts = append(texts, text) })
	return texts
}

// ordered is a map that keeps the order in which its keys came.
type ordered[V any] struct {
	at   map[string]int
	keys []string
	vals []V
	gone []bool
}

func (o *ordered[V]) set(key string, val V) {
	if i, ok := o.at[key]; ok {
		o.vals[i] = val
		return
	}
	if o.at == nil {
		o.at = map[string]int{}
	}
	o.at[key] = len(o.keys)
	o.keys, o.vals, o.gone = append(o.keys, key), append(o.vals, val), append(o.gone, false)
}

func (o *ordered[V]) remove(key string) {
	if i, ok := o.at[key]; ok {
		o.gone[i] = true
		delete(o.at, key)
	}
}

func (o *ordered[V]) each(fn func(key string, val V)) {
	for i, key := range o.keys {
		if !o.gone[i] {
			fn(key, o.vals[i])
		}
	}
}
