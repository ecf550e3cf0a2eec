package llm

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Transcript writes messages as labelled text. A label stands at the beginning of a
// line, with the handle of its entry; what was said or printed stands below it, each
// line behind "| ". So no text can forge a label. Secrets that can be told by their form
// are taken out. Of a tool result, of arguments and of reasoning at most most bytes are
// kept, a third of them from the end; what the user and the assistant said is whole. Of
// an answer of the tool recall the first line is kept, which says what was read again.
// Images are named by their kind.
func Transcript(items []session.Item, most int) string {
	var b strings.Builder
	for _, it := range items {
		writeItem(&b, it, most)
	}
	return b.String()
}

func writeItem(b *strings.Builder, it session.Item, most int) {
	m := it.Message
	id := ""
	if it.Entry != nil {
		id = " [#" + it.Entry.ID + "]"
	}
	switch m.Role {
	case message.RoleUser:
		who := "user"
		if !m.UserWords() {
			who = "message given by a program"
		}
		label(b, who+id, blocksText(m.Content))
	case message.RoleAssistant:
		if text := blocksText(m.Content); text != "" {
			label(b, "assistant"+id, text)
		}
		for i := range m.Content {
			if c := &m.Content[i]; c.Type == message.BlockToolCall {
				label(b, "assistant calls "+text.Line(c.Name)+id, shorten(string(c.Arguments), most))
			}
		}
	case message.RoleToolResult:
		what := "result of "
		if m.IsError {
			what = "failed result of "
		}
		said := shorten(blocksText(m.Content), most)
		if recall.IsResult(m) {
			said = recalled(m.Text())
		}
		label(b, what+text.Line(m.ToolName)+id, said)
	case message.RoleBashExecution:
		label(b, "shell run by the user"+id, "$ "+m.Command+"\n"+shorten(m.Output, most))
	case message.RoleBranchSummary:
		label(b, "summary of a branch that was left"+id, m.Summary)
	case message.RoleCompactionSummary:
		label(b, "earlier summary"+id, m.Summary)
	case message.RoleCustom:
		label(b, "message given by a program"+id, shorten(blocksText(m.Content), most))
	case message.RoleSystem:
	}
}

// recalled stands in for an answer of the tool recall: its first line says what was read,
// and the words themselves stand in the log where they were said.
func recalled(text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	if rest == "" {
		return first
	}
	return fmt.Sprintf("%s\n(%d bytes that stand in the log already)", first, len(rest))
}

func blocksText(blocks []message.Block) string {
	var parts []string
	for i := range blocks {
		switch b := &blocks[i]; b.Type {
		case message.BlockText:
			parts = append(parts, b.Text)
		case message.BlockImage:
			parts = append(parts, fmt.Sprintf("(an image, %s)", b.MIMEType))
		default:
		}
	}
	return strings.Join(parts, "\n")
}

func label(b *strings.Builder, who, text string) {
	b.WriteString(who + ":\n")
	b.WriteString(mark(redact.Text(text)))
}

// mark puts "| " before every line. Everything that some reader takes for the end of
// a line counts as one.
func mark(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(text)
	text = strings.TrimRight(text, "\n")
	return "| " + strings.ReplaceAll(text, "\n", "\n| ") + "\n"
}

// shorten keeps the beginning and the end of a text.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head, tail := most-most/3, len(text)-most/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n(%d bytes left out)\n%s", text[:head], tail-head, text[tail:])
}

// clipLines is shorten for text that is marked: cuts are at ends of lines, or inside
// of one that is marked again.
func clipLines(text string, most int) string {
	first, rest, _ := strings.Cut(text, "\n") // the label
	body := strings.ReplaceAll(strings.TrimPrefix(rest, "| "), "\n| ", "\n")
	return first + "\n" + mark(shorten(body, max(most, 100)))
}
