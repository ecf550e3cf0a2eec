package token

import (
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
	var all *message.Message
	var texts []string
	var sections ordered[string]
	var tools ordered[[]byte]
	for _, m := range msgs {
		if m.Role != message.RoleSystem {
			continue
		}
		if all == nil {
			all = &message.Message{Role: message.RoleSystem, Timestamp: m.Timestamp}
		}
		if text := m.Text(); text != "" {
			texts = append(texts, text)
		}
		for _, s := range m.Sections {
			if s.Text == "" {
				sections.remove(s.Name)
			} else {
				sections.set(s.Name, s.Text)
			}
		}
		jsonx.Elements(m.ToolsRemoved, func(val []byte) bool {
			tools.remove(toolName(val))
			return true
		})
		jsonx.Elements(m.ToolsAdded, func(val []byte) bool {
			tools.set(toolName(val), val)
			return true
		})
	}
	if text := strings.Join(texts, "\n\n"); text != "" {
		all.Content = []message.Block{message.TextBlock(text)}
	}
	for name, text := range sections.all {
		all.Sections = append(all.Sections, message.Section{Name: name, Text: text})
	}
	var defs [][]byte
	for _, def := range tools.all {
		defs = append(defs, def)
	}
	if defs != nil {
		all.ToolsAdded = jsonx.Array(defs)
	}
	return all
}

// toolName returns the name of a tool given by its definition or by its name alone.
func toolName(val []byte) string {
	if jsonx.IsObject(val) {
		val = jsonx.Get(val, "name")
	}
	name, _ := jsonx.String(val)
	return name
}

// sectionTexts returns the texts of sections, of those with the same name the last.
func sectionTexts(sections []message.Section) []string {
	var o ordered[string]
	for _, s := range sections {
		o.set(s.Name, s.Text)
	}
	texts := make([]string, 0, len(sections))
	for _, text := range o.all {
		texts = append(texts, text)
	}
	return texts
}

// ordered is a map that keeps the order in which its keys came.
type ordered[V any] struct {
	at   map[string]int
	keys []string
	vals []V
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
	o.keys, o.vals = append(o.keys, key), append(o.vals, val)
}

func (o *ordered[V]) remove(key string) { delete(o.at, key) }

// all calls yield with the keys in order; what was removed stands elsewhere or nowhere.
func (o *ordered[V]) all(yield func(key string, val V) bool) {
	for i, key := range o.keys {
		if at, ok := o.at[key]; ok && at == i && !yield(key, o.vals[i]) {
			return
		}
	}
}
