package message

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
)

// ReplaySystem returns one system message with the prompt and the tools that are in force after all system messages
// of msgs, or nil when there is none. A context is counted and sent with this message in the place of all of them.
//
// Texts are joined by an empty line. A section or tool that is set again keeps its place; one that was taken away and
// comes back goes to the end. A message takes tools away before it adds some, so that one message can replace a tool.
func ReplaySystem(msgs []*Message) *Message {
	var all *Message
	var texts []string
	var tools []Section
	for _, m := range msgs {
		if m.Role != RoleSystem {
			continue
		}
		if all == nil {
			all = &Message{Role: RoleSystem, Timestamp: m.Timestamp}
		}
		if text := m.Text(); strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
		for _, s := range m.Sections {
			all.Sections = put(all.Sections, s.Name, s.Text)
		}
		for _, name := range ToolNames(m.ToolsRemoved) {
			tools = put(tools, name, "")
		}
		jsonx.Elements(m.ToolsAdded, func(tool []byte) bool {
			tools = put(tools, jsonx.StringAt(tool, "name"), string(tool))
			return true
		})
	}
	if texts != nil {
		all.Content = []Block{TextBlock(strings.Join(texts, "\n\n"))}
	}
	if len(tools) > 0 {
		var defs [][]byte
		for _, t := range tools {
			defs = append(defs, []byte(t.Text))
		}
		all.ToolsAdded = jsonx.Array(defs)
	}
	return all
}

// put sets the section of a name, or takes it away when there is no text.
func put(list []Section, name, text string) []Section {
	i := slices.IndexFunc(list, func(s Section) bool { return s.Name == name })
	switch {
	case i >= 0 && text == "":
		return slices.Delete(list, i, i+1)
	case i >= 0:
		list[i].Text = text
	case text != "":
		list = append(list, Section{name, text})
	}
	return list
}

// ToolNames returns the names in an array of names or of tools.
func ToolNames(arr json.RawMessage) (names []string) {
	jsonx.Elements(arr, func(val []byte) bool {
		if jsonx.IsObject(val) {
			val = jsonx.Get(val, "name")
		}
		if name, ok := jsonx.String(val); ok {
			names = append(names, name)
		}
		return true
	})
	return names
}
