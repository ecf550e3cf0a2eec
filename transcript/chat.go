package transcript

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/clew-dev/clew/message"
)

// openAIContent reads the content of a message of either API of OpenAI.
func (b *builder) openAIContent(content value, line int) (blocks []message.Block) {
	if content.isString() {
		if s := content.str(); s != "" {
			blocks = append(blocks, message.TextBlock(s))
		}
		return blocks
	}
	for _, v := range content.list() {
		switch typ := v.str("type"); typ {
		case "text", "input_text", "output_text":
			blocks = append(blocks, message.TextBlock(v.str("text")))
		case "refusal":
			blocks = append(blocks, message.TextBlock(v.str("refusal")))
		case "image_url", "input_image":
			url := v.get("image_url")
			blocks = append(blocks, b.imageURL(cmp.Or(url.str("url"), url.str()), line))
		case "thinking", "redacted_thinking", "image", "tool_use":
			if block, ok := b.anthropicBlock(v, line); ok {
				blocks = append(blocks, block)
			}
		default:
			if v.isString() {
				blocks = append(blocks, message.TextBlock(v.str()))
				continue
			}
			b.note(Lost, "part:"+typ, line, "", "parts of a message that have no place here")
		}
	}
	return blocks
}

// chatReasoning are the members in which servers return reasoning; the first
// that has text counts.
var chatReasoning = []string{"reasoning_content", "reasoning", "reasoning_text"}

// chatAnswer reads an answer of Chat Completions: reasoning, text, calls.
func (b *builder) chatAnswer(f fields, line int) *message.Message {
	m := &message.Message{Role: message.RoleAssistant, API: apiChat, StopReason: message.StopEnd}
	for _, name := range chatReasoning {
		if s := f.str(name); s != "" {
			m.Content = append(m.Content, message.ThinkingBlock(s, name))
			break
		}
	}
	m.Content = append(m.Content, b.openAIContent(f["content"], line)...)
	if s := f.str("refusal"); s != "" {
		m.Content = append(m.Content, message.TextBlock(s))
	}
	for _, call := range f["tool_calls"].list() {
		m.Content = append(m.Content, b.chatCall(call, line))
		m.StopReason = message.StopToolUse
	}
	if fn := f["function_call"]; fn.isObject() && !f["tool_calls"].isArray() {
		// The older way, without ids.
		id := "function_" + itoa(line)
		m.Content = append(m.Content, message.ToolCallBlock(id, fn.str("name"), b.textArguments(fn.str("arguments"), line, id)))
		m.StopReason = message.StopToolUse
	}
	return m
}

func (b *builder) chatCall(call value, line int) message.Block {
	id, fn := call.str("id"), call.get("function")
	if custom := call.get("custom"); custom.isObject() {
		return message.ToolCallBlock(id, custom.str("name"), b.arguments(custom.get("input"), line, id))
	}
	return message.ToolCallBlock(id, fn.str("name"), b.callArguments(fn.get("arguments"), line, id))
}

// shellBlock takes the one command out of an answer that writes it in a fenced
// block, as agents do that have no tools. rest is what the answer says beside it.
func shellBlock(s string) (command, rest string, ok bool) {
	start, open := -1, ""
	for _, fence := range []string{"```mswea_bash_command\n", "```bash\n", "```sh\n", "```\n"} {
		if at := strings.Index(s, fence); at >= 0 && (at == 0 || s[at-1] == '\n') {
			if start >= 0 && at > start {
				continue
			}
			start, open = at, fence
		}
	}
	if start < 0 {
		return "", s, false
	}
	body := s[start+len(open):]
	end := strings.Index(body, "\n```")
	if end < 0 {
		return "", s, false
	}
	rest = s[:start] + strings.TrimPrefix(body[end:], "\n```")
	if strings.Contains(rest, open) {
		return "", s, false // more than one: which was run can't be told
	}
	return body[:end], strings.TrimSpace(rest), true
}

// synthetic adds an answer whose command was written in its text, as a call.
func (b *builder) synthetic(m *message.Message, text, command string, at time.Time, line int) (*node, string) {
	id := "text_call_" + itoa(line)
	args := json.RawMessage(object("command", command))
	var blocks []message.Block
	for _, c := range m.Content {
		if c.Type != message.BlockText {
			blocks = append(blocks, c)
		}
	}
	if text != "" {
		blocks = append(blocks, message.TextBlock(text))
	}
	m.Content = append(blocks, message.ToolCallBlock(id, "bash", args))
	m.StopReason = message.StopToolUse
	b.note(Made, "call-of-text", line, id, "commands in the text of an answer, which are calls here")
	return b.say(m, at, line, ""), id
}
