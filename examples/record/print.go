package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/message"
)

func decode(raw json.RawMessage, into any) error { return json.Unmarshal(raw, into) }

// transcript prints a session for a reader: each block up to width characters.
func transcript(ctx context.Context, w io.Writer, data []byte, width int) error {
	store, err := load(data)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	parent := ""
	for e, err := range store.All(ctx) {
		if err != nil {
			return err
		}
		if e.ParentID != parent {
			fmt.Fprintf(out, "\n<<<< back to %s\n", e.ParentID)
		}
		parent = e.ID
		stamp := e.Time().Format("15:04:05")
		m, err := e.Message()
		if err != nil {
			fmt.Fprintf(out, "\n[%s] %s %s %s\n", stamp, e.ID, e.Type, short(string(e.Raw()), width))
			continue
		}
		head := string(m.Role)
		if m.Role == message.RoleAssistant {
			head += fmt.Sprintf(" %s, %d tokens", m.StopReason, m.Usage.Total())
		}
		if m.IsError {
			head += " ERROR"
		}
		fmt.Fprintf(out, "\n[%s] %s %s %s\n", stamp, e.ID, head, m.ToolName+m.ErrorMessage)
		printMessage(out, m, width)
	}
	return out.Flush()
}

func printMessage(out io.Writer, m *message.Message, width int) {
	if m.Role == message.RoleBashExecution {
		fmt.Fprintf(out, "! %s\n%s\n", m.Command, short(m.Output, width))
	}
	for _, b := range m.Content {
		switch b.Type {
		case message.BlockThinking:
			fmt.Fprintf(out, "(%s)\n", short(b.Text, width*4))
		case message.BlockToolCall:
			fmt.Fprintf(out, "-> %s %s\n", b.Name, short(string(b.Arguments), width))
		case message.BlockImage:
			fmt.Fprintf(out, "<%s, %d bytes of base64>\n", b.MIMEType, len(b.Data))
		default:
			limit := width
			if m.Role != message.RoleToolResult {
				limit = width * 10
			}
			fmt.Fprintln(out, short(b.Text, limit))
		}
	}
}

// short keeps the head and the tail of a text.
func short(s string, width int) string {
	n := utf8.RuneCountInString(s)
	if width <= 0 || n <= width {
		return s
	}
	r := []rune(s)
	head, tail := width*2/3, width/3
	return strings.TrimRight(string(r[:head]), "\n") + fmt.Sprintf(" […%d…] ", n-head-tail) + string(r[n-tail:])
}
