package clew

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clew-dev/clew/message"
)

// Serialize writes messages as text to be read, for a model that is to summarize
// them and not to go on with them. Each part is labelled: [User], [Assistant],
// [Assistant thinking], [Assistant tool calls], [Tool result], ... A line of content
// that begins with a bracket gets a backslash before it, so nothing that a tool has
// written can pass for a part of its own. Nothing is shortened; images are named.
func Serialize(msgs []*message.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		for _, p := range parts(m) {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "[%s]: %s\n", p.label, escapeLabels(p.text))
		}
	}
	return b.String()
}

type part struct{ label, text string }

func parts(m *message.Message) []part {
	switch m.Role {
	case message.RoleUser:
		return contentParts("User", m)
	case message.RoleSystem:
		return contentParts("System", m)
	case message.RoleCustom:
		return contentParts("Note", m)
	case message.RoleToolResult:
		label := "Tool result"
		if m.IsError {
			label = "Tool error"
		}
		return contentParts(label, m)
	case message.RoleAssistant:
		return answerParts(m)
	case message.RoleBashExecution:
		return []part{{"Shell", "$ " + m.Command + "\n" + m.Output}}
	case message.RoleCompactionSummary:
		return []part{{"Summary of what was before", m.Summary}}
	case message.RoleBranchSummary:
		return []part{{"Summary of another branch", m.Summary}}
	}
	return nil
}

func contentParts(label string, m *message.Message) []part {
	text := m.Text()
	for _, b := range m.Content {
		if b.Type == message.BlockImage {
			text += "\n(an image)"
		}
	}
	if text = strings.TrimPrefix(text, "\n"); text == "" {
		return nil
	}
	return []part{{label, text}}
}

func answerParts(m *message.Message) []part {
	var thinking, said, called []string
	for _, b := range m.Content {
		switch b.Type {
		case message.BlockText:
			said = append(said, b.Text)
		case message.BlockThinking:
			if b.Text != "" {
				thinking = append(thinking, b.Text)
			}
		case message.BlockToolCall:
			called = append(called, callText(b))
		default:
		}
	}
	var out []part
	for _, p := range []part{
		{"Assistant thinking", strings.Join(thinking, "\n")},
		{"Assistant", strings.Join(said, "\n")},
		{"Assistant tool calls", strings.Join(called, "; ")},
	} {
		if p.text != "" {
			out = append(out, p)
		}
	}
	return out
}

// callText writes a call as name(argument=value, ...), values as JSON.
func callText(b message.Block) string {
	var args map[string]json.RawMessage
	if json.Unmarshal(b.Arguments, &args) != nil {
		return b.Name + "(" + string(b.Arguments) + ")"
	}
	list := make([]string, 0, len(args))
	for _, name := range slices.Sorted(maps.Keys(args)) {
		list = append(list, name+"="+string(args[name]))
	}
	return b.Name + "(" + strings.Join(list, ", ") + ")"
}

func escapeLabels(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n").Replace(text)
	var b strings.Builder
	first := true
	for line := range strings.Lines(text) {
		if !first && strings.HasPrefix(strings.TrimLeft(line, " \t\\"), "[") {
			b.WriteByte('\\')
		}
		first = false
		b.WriteString(line)
	}
	return b.String()
}
