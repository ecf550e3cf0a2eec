package wire

import (
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// pi turns what is no message of a model into user messages and leaves the rest as
// it is stored, as pi does before its provider layer.
func (n *normalizer) pi() *List {
	l := &List{profile: n.p, target: n.t}
	add := func(i int, raw []byte) {
		l.Turns = append(l.Turns, Turn{TurnStored, []Part{{Kind: PartStored, From: i, Raw: n.clean(raw)}}})
	}
	for i, m := range n.msgs {
		switch m.Role {
		case message.RoleSystem, message.RoleUser, message.RoleAssistant, message.RoleToolResult:
			add(i, m.JSON())
		case message.RoleCustom:
			add(i, piUser(message.EncodeBlocks(m.Content), m.Timestamp))
		case message.RoleBashExecution:
			if m.ExcludeFromContext {
				n.note(NoteExcluded, i, "the user kept this command out of the context")
				continue
			}
			add(i, piText(shellText(m), m.Timestamp))
		case message.RoleBranchSummary, message.RoleCompactionSummary:
			f := SummaryForm(m)
			add(i, piText(f.Wrap(m.Summary), m.Timestamp))
		default:
			n.note(NoteUnknownRole, i, "a message of role %q is not sent", m.Role)
		}
	}
	return l
}

func piText(text string, timestamp int64) []byte {
	return piUser(message.EncodeBlocks([]message.Block{message.TextBlock(strings.ToValidUTF8(text, "\uFFFD"))}), timestamp)
}

func piUser(content []byte, timestamp int64) []byte {
	var o jsonx.Object
	o.Str("role", string(message.RoleUser))
	o.Raw("content", content)
	o.Int("timestamp", timestamp)
	return o.Bytes()
}
