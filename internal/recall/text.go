package recall

import (
	"fmt"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// Text returns what a message says, as text: what is searched, and what Page pages.
//
// A message of one text is that text, and nothing else. Other texts and blocks are
// joined by line breaks: reasoning after a line [thinking], a call after a line
// [call NAME] with its arguments as lines "name: value", in which strings stand
// as they are and not as JSON. An image is a line that says so; its data is in the
// JSON of the message alone. A shell run is its command after "$ ", then its output.
func Text(m *message.Message) string {
	switch m.Role {
	case message.RoleBashExecution:
		return "$ " + m.Command + "\n" + m.Output
	case message.RoleCompactionSummary, message.RoleBranchSummary:
		return m.Summary
	default:
	}
	if len(m.Content) == 1 && m.Content[0].Type == message.BlockText && len(m.Sections) == 0 && m.ErrorMessage == "" &&
		m.ToolsAdded == nil && m.ToolsRemoved == nil {
		return m.Content[0].Text
	}
	var t lines
	t.blocks(m.Content)
	for _, s := range m.Sections {
		t.add("[section "+s.Name+"]", s.Text)
	}
	if m.ToolsAdded != nil {
		t.add("[tools added]", string(m.ToolsAdded))
	}
	if m.ToolsRemoved != nil {
		t.add("[tools removed]", string(m.ToolsRemoved))
	}
	if m.ErrorMessage != "" {
		t.add("[error]", m.ErrorMessage)
	}
	return t.b.String()
}

// BlocksText is Text for content alone.
func BlocksText(blocks []message.Block) string {
	if len(blocks) == 1 && blocks[0].Type == message.BlockText {
		return blocks[0].Text
	}
	var t lines
	t.blocks(blocks)
	return t.b.String()
}

// lines joins texts by line breaks.
type lines struct {
	b     strings.Builder
	begun bool
}

func (t *lines) add(texts ...string) {
	for _, s := range texts {
		if t.begun {
			t.b.WriteByte('\n')
		}
		t.begun = true
		t.b.WriteString(s)
	}
}

func (t *lines) blocks(blocks []message.Block) {
	for i := range blocks {
		b := &blocks[i]
		switch b.Type {
		case message.BlockText:
			t.add(b.Text)
		case message.BlockThinking:
			t.add("[thinking]", b.Text)
		case message.BlockToolCall:
			t.add("[call " + b.Name + "]")
			t.arguments(b.Arguments)
		case message.BlockImage:
			t.add(fmt.Sprintf("[image %s, %d bytes]", b.MIMEType, len(b.Data)*3/4))
		default:
			t.add(string(b.JSON()))
		}
	}
}

func (t *lines) arguments(args []byte) {
	if args == nil {
		return
	}
	if !jsonx.IsObject(args) {
		t.add(string(args))
		return
	}
	jsonx.Members(args, func(key, val []byte) bool {
		s, ok := jsonx.String(val)
		switch {
		case !ok:
			t.add(string(key) + ": " + string(val))
		case strings.Contains(s, "\n"):
			t.add(string(key)+":", s)
		default:
			t.add(string(key) + ": " + s)
		}
		return true
	})
}
