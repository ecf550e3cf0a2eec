package token

import (
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// imageUnits is what pi counts for an image, whatever its size.
const imageUnits = 4800

// Chars4 returns the counter of pi: UTF-16 units divided by four, rounded up for each
// message, arguments as JavaScript writes them, and 4,800 units for an image. Call ids,
// signatures and the overhead of a message are not counted; excluded shell runs and
// failed answers are. It is for results that are the same as pi's, and low for every
// model: by a third and more for Claude, and by a factor of 2 to 5 for Chinese.
func Chars4() Counter { return chars4{} }

type chars4 struct{}

func (chars4) Name() string { return "chars4" }

// guard is how much too low the count was for Claude, 8 messages and more, at the
// 99th percentile.
func (chars4) guard() float64 { return 2.3 }

func (chars4) Text(s string) int64 { return ceilDiv(utf16Len(s), 4) }

func (c chars4) Message(m *message.Message) int64 {
	var parts Categories
	c.split(m, &parts)
	return parts.Total()
}

func (chars4) split(m *message.Message, into *Categories) {
	var parts [NumCategories]millis
	countUnits(m, &parts)
	apportion(&parts, 4, into)
}

func countUnits(m *message.Message, parts *[NumCategories]millis) {
	own, answer := categoryOf(m), m.Role == message.RoleAssistant
	switch m.Role {
	case message.RoleUser, message.RoleToolResult, message.RoleCustom:
	case message.RoleSystem:
		for i, s := range m.Sections {
			if !slices.ContainsFunc(m.Sections[i+1:], func(o message.Section) bool { return o.Name == s.Name }) {
				parts[own] += units(s.Text)
			}
		}
		parts[Tools] += millis(stringifyLen(m.ToolsAdded))
	case message.RoleAssistant:
		if contentIsString(m) {
			return // pi walks over its letters and finds no blocks
		}
	case message.RoleBashExecution:
		parts[own] += units(m.Command) + units(m.Output)
		return
	case message.RoleBranchSummary, message.RoleCompactionSummary:
		parts[own] += units(m.Summary)
		return
	default:
		return
	}
	for i := range m.Content {
		switch b := &m.Content[i]; {
		case b.Type == message.BlockText:
			parts[own] += units(b.Text)
		case b.Type == message.BlockImage && !answer:
			parts[Images] += imageUnits
		case b.Type == message.BlockThinking && answer:
			parts[Thinking] += units(b.Text)
		case b.Type == message.BlockToolCall && answer:
			parts[ToolCalls] += units(b.Name) + argumentUnits(b)
		}
	}
}

func units(s string) millis { return millis(utf16Len(s)) }

func argumentUnits(b *message.Block) millis {
	if b.Arguments == nil {
		if b.Raw() == nil {
			return 2 // is written as {}
		}
		return 4 // null
	}
	return millis(stringifyLen(b.Arguments))
}

// contentIsString reports a parsed message whose content is no array of blocks:
// its one block has no bytes of its own.
func contentIsString(m *message.Message) bool {
	return len(m.Content) == 1 && m.Content[0].Raw() == nil && m.Raw() != nil &&
		jsonx.IsString(jsonx.Get(m.Raw(), "content"))
}
