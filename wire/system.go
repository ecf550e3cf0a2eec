package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// prompt returns the system text and the definitions in force, one for each name that
// is sent. Of system messages in the middle it keeps what they change.
func (n *normalizer) prompt() (text string, tools []json.RawMessage) {
	var systems []*message.Message
	begun := false // by a message that is not of the system
	n.updates = map[int]string{}
	for i, m := range n.msgs {
		switch m.Role {
		case message.RoleSystem:
			kept := *m
			kept.ToolsAdded = n.soundTools(i, m)
			if begun && n.p.MidSystem != MidSystemFold {
				n.updates[i] = updateText(m)
				kept.Content, kept.Sections = nil, nil
			}
			systems = append(systems, &kept)
		case message.RoleCompactionSummary:
			n.summary, begun = i, true
		default:
			begun = true
		}
	}
	all := message.ReplaySystem(systems)
	if all == nil {
		return "", nil
	}
	var parts []string
	if text := all.Text(); text != "" {
		parts = append(parts, text)
	}
	for _, s := range all.Sections {
		if !blank(s.Text) {
			parts = append(parts, s.Text)
		}
	}
	seen := map[string]bool{}
	jsonx.Elements(all.ToolsAdded, func(tool []byte) bool {
		name := jsonx.StringAt(tool, "name")
		sent, _ := n.p.toolName(name)
		if seen[sent] {
			n.note(NoteTool, -1, "tool %q would be sent under the name of another; it is left out", name)
			return true
		}
		seen[sent] = true
		tools = append(tools, tool)
		return true
	})
	return strings.Join(parts, "\n\n"), tools
}

func (n *normalizer) soundTools(i int, m *message.Message) json.RawMessage {
	var sound [][]byte
	jsonx.Elements(m.ToolsAdded, func(tool []byte) bool {
		if jsonx.StringAt(tool, "name") != "" && sendableObject(tool) {
			sound = append(sound, tool)
		} else {
			n.note(NoteTool, i, "a tool without a name or with a schema too deep to send was added; it is left out")
		}
		return true
	})
	return jsonx.Array(sound)
}

// update adds what a system message in the middle changes.
func (n *normalizer) update(i int) {
	switch text, ok := n.updates[i]; {
	case !ok: // it is in the prompt
	case text == "":
		n.note(NoteEmpty, i, "the system message says nothing")
	case n.p.MidSystem == MidSystemMessage:
		n.push(Turn{TurnSystem, []Part{textPart(i, text)}})
	default:
		n.user(i, []Part{textPart(i, systemForm.Wrap(text))})
	}
}

// updateText says what a system message in the middle changes; "" for nothing.
func updateText(m *message.Message) string {
	var parts []string
	if text := m.Text(); !blank(text) {
		parts = append(parts, text)
	}
	for _, sec := range m.Sections {
		if sec.Text == "" {
			parts = append(parts, fmt.Sprintf("The section %q of the system prompt no longer applies.", sec.Name))
		} else {
			parts = append(parts, fmt.Sprintf("The section %q of the system prompt now reads:\n\n%s", sec.Name, sec.Text))
		}
	}
	if names := message.ToolNames(m.ToolsRemoved); len(names) > 0 {
		parts = append(parts, "Tools that are no longer there: "+strings.Join(names, ", ")+".")
	}
	if names := message.ToolNames(m.ToolsAdded); len(names) > 0 {
		parts = append(parts, "Tools that were added: "+strings.Join(names, ", ")+".")
	}
	return strings.Join(parts, "\n\n")
}
