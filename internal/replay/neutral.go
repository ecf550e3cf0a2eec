package replay

import (
	"github.com/clew-dev/clew/internal/replay/measure"
	"github.com/clew-dev/clew/message"
)

// place says what the instruments do with a message.
type place uint8

const (
	placeIn     place = iota // part of the conversation
	placeAlways              // sent again with every request: the prompt, rules, reminders
	placeOut                 // never sent
)

// neutral returns a message as the measures see it.
func neutral(m *message.Message) (n measure.Message, at place) {
	n.Text = m.Text()
	switch m.Role {
	case message.RoleSystem:
		for _, s := range m.Sections {
			n.Text += "\n" + s.Text
		}
		return n, placeAlways
	case message.RoleUser:
		switch m.Source() {
		case message.OriginUser:
			n.Kind = measure.User
		case message.OriginInjected, message.OriginHook:
			return n, placeAlways
		default:
		}
	case message.RoleAssistant:
		n.Kind = measure.Agent
		for _, b := range m.Content {
			switch b.Type {
			case message.BlockThinking:
				n.Hidden += b.Text + "\n"
			case message.BlockToolCall:
				n.Calls = append(n.Calls, measure.Call{ID: b.ID, Name: b.Name, Arguments: b.Arguments})
			default:
			}
		}
	case message.RoleToolResult:
		n.CallID, n.Failed = m.ToolCallID, m.IsError
	case message.RoleBashExecution:
		n.Text = m.Command + "\n" + m.Output
		if m.ExcludeFromContext {
			return n, placeOut
		}
	case message.RoleCustom:
	case message.RoleBranchSummary, message.RoleCompactionSummary:
		n.Kind, n.Text = measure.Summary, m.Summary
	default:
		return n, placeOut
	}
	return n, placeIn
}
