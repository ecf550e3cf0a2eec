package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/clew-dev/clew/message"
)

// apiAnthropic and the like are the values of a message's "api" that say who can
// read its signatures.
const (
	apiAnthropic = "anthropic-messages"
	apiChat      = "openai-completions"
	apiResponses = "openai-responses"
	apiGemini    = "google-generative-ai"
)

// opaque keeps a block of a type that is none of ours.
func opaque(v value) (message.Block, bool) {
	blocks := message.ParseContent(append(append([]byte{'['}, v...), ']'))
	if len(blocks) != 1 || blocks[0].Type == "" {
		return message.Block{}, false
	}
	switch blocks[0].Type {
	case message.BlockText, message.BlockThinking, message.BlockToolCall, message.BlockImage:
		return message.Block{}, false
	default:
		return blocks[0], true
	}
}

// arguments returns the arguments of a call as an object. What is none is put
// into one, so that nothing of it is lost.
func (b *builder) arguments(v value, line int, id string) json.RawMessage {
	switch {
	case v.isObject():
		return bytes.Clone(v)
	case !v.has():
		return json.RawMessage("{}")
	}
	b.note(Made, "arguments", line, id, "arguments that were no object stand in one, as input")
	return json.RawMessage(append(append([]byte(`{"input":`), v...), '}'))
}

// callArguments is arguments for APIs that spell them as a string, and programs that
// take that for an object.
func (b *builder) callArguments(v value, line int, id string) json.RawMessage {
	if v.isString() {
		return b.textArguments(v.str(), line, id)
	}
	return b.arguments(v, line, id)
}

// textArguments is arguments for a text that is to be an object.
func (b *builder) textArguments(s string, line int, id string) json.RawMessage {
	if v := scanned(s); v.isObject() {
		return json.RawMessage(v)
	}
	if strings.TrimSpace(s) == "" {
		return json.RawMessage("{}")
	}
	return b.arguments(quoted(s), line, id)
}

// anthropicBlocks reads the content of a message of the Messages API: what is
// said, and the tool results among it.
func (b *builder) anthropicBlocks(content value, line int) (said []message.Block, results []value) {
	if content.isString() {
		if s := content.str(); s != "" {
			said = []message.Block{message.TextBlock(s)}
		}
		return said, nil
	}
	for _, v := range content.list() {
		if v.str("type") == "tool_result" {
			results = append(results, v)
			continue
		}
		if block, ok := b.anthropicBlock(v, line); ok {
			said = append(said, block)
		}
	}
	return said, results
}

func (b *builder) anthropicBlock(v value, line int) (message.Block, bool) {
	f := v.fields()
	switch typ := f.str("type"); typ {
	case "text":
		return message.TextBlock(f.str("text")), true
	case "thinking":
		return message.ThinkingBlock(f.str("thinking"), f.str("signature")), true
	case "redacted_thinking":
		return message.Block{Type: message.BlockThinking, Redacted: true, Signature: f.str("data")}, true
	case "tool_use":
		id := f.str("id")
		return message.ToolCallBlock(id, f.str("name"), b.arguments(f["input"], line, id)), true
	case "image":
		src := f["source"]
		if data := src.str("data"); data != "" {
			return message.ImageBlock(src.str("media_type"), data), true
		}
		b.note(Lost, "image-link", line, "", "images that are only referred to; a line of text stands for each")
		return message.TextBlock(linked("image", src.str("url"))), true
	}
	if block, ok := opaque(v); ok {
		b.note(Aside, "block:"+string(block.Type), line, "", "blocks of another type, kept as they are")
		return block, true
	}
	b.note(Lost, "block", line, "", "parts of a content that have no known type")
	return message.Block{}, false
}

// linked is the line of text that stands for a file that was only referred to.
func linked(what, where string) string {
	if where == "" || strings.HasPrefix(where, "data:") {
		return "[" + what + "]"
	}
	return "[" + what + ": " + where + "]"
}

// anthropicResult adds the result of a call.
func (b *builder) anthropicResult(v value, line int) (id string, blocks []message.Block, isError bool) {
	content := v.get("content")
	if content.isString() {
		blocks = []message.Block{message.TextBlock(content.str())}
	}
	for _, part := range content.list() {
		if block, ok := b.anthropicBlock(part, line); ok {
			blocks = append(blocks, block)
		}
	}
	return v.str("tool_use_id"), blocks, v.bool("is_error")
}

var anthropicStops = map[string]message.StopReason{
	"end_turn": message.StopEnd, "stop_sequence": message.StopEnd, "stop": message.StopEnd,
	"max_tokens": message.StopLength, "model_context_window_exceeded": message.StopLength,
	"tool_use": message.StopToolUse, "pause_turn": message.StopDeferred,
}

// anthropicStop maps a stop reason; without one it follows from the content.
func anthropicStop(reason string, blocks []message.Block) message.StopReason {
	if stop := anthropicStops[reason]; stop != "" {
		return stop
	}
	if slices.ContainsFunc(blocks, func(b message.Block) bool { return b.Type == message.BlockToolCall }) {
		return message.StopToolUse
	}
	return message.StopEnd
}
