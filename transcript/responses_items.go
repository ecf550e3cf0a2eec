package transcript

import (
	"encoding/json"
	"strings"

	"github.com/clew-dev/clew/message"
)

// reasoningBlock makes thinking of a reasoning item. Its signature is the item
// itself, for that is what the API takes back; the text is its summary.
func reasoningBlock(f fields) message.Block {
	summary, content, secret := f["summary"], f["content"], f["encrypted_content"]
	if !summary.isArray() {
		summary = value("[]")
	}
	if !content.isArray() {
		content = nil
	}
	if !secret.has() {
		secret = nil
	}
	item := object("type", "reasoning", "id", optional(f.str("id")), "summary", summary, "content", content, "encrypted_content", secret)
	var parts []string
	for _, list := range []value{summary, content} {
		for _, part := range list.list() {
			if s := part.str("text"); s != "" {
				parts = append(parts, s)
			}
		}
	}
	return message.ThinkingBlock(strings.Join(parts, "\n\n"), string(item))
}

// imageURL reads an image from a data URL.
func (b *builder) imageURL(url string, line int) message.Block {
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		if typ, data, ok := strings.Cut(rest, ";base64,"); ok && data != "" {
			return message.ImageBlock(typ, data)
		}
	}
	b.note(Lost, "image-link", line, "", "images that are only referred to; a line of text stands for each")
	return message.TextBlock(linked("image", url))
}

// outputText reads an answer's message item. The signature of its text keeps the
// item's id and what the text is for, as package wire gives them back.
func (b *builder) outputText(f fields, line int) []message.Block {
	blocks := b.openAIContent(f["content"], line)
	id, phase := f.str("id"), f.str("phase")
	if id == "" && phase == "" {
		return blocks
	}
	sig := object("v", int64(1), "id", optional(id), "phase", optional(phase))
	for i := range blocks {
		if blocks[i].Type == message.BlockText {
			blocks[i].Signature = string(sig)
			break
		}
	}
	return blocks
}

// responsesCall makes a call of an item. Its id is the call's and the item's, as
// the API wants both back. A call without JSON arguments has its text as input.
func (b *builder) responsesCall(f fields, line int) message.Block {
	id, item := f.str("call_id"), f.str("id")
	if id == "" {
		id, item = item, ""
	}
	full := id
	if item != "" {
		full += "|" + item
	}
	b.callIDs[id] = full
	name := f.str("name")
	var args json.RawMessage
	switch f.str("type") {
	case "custom_tool_call":
		args = json.RawMessage(object("input", f.str("input")))
	case "local_shell_call":
		name, args = "local_shell", b.arguments(f["action"], line, id)
	default:
		args = b.callArguments(f["arguments"], line, id)
	}
	return message.ToolCallBlock(full, name, args)
}

// responsesOutput reads the output of a call: text, parts, or an object that
// holds either.
func (b *builder) responsesOutput(out value, line int) (blocks []message.Block, isError bool) {
	switch {
	case out.isString():
		s := out.str()
		// Codex of 2025 wrapped the output of commands.
		if v := scanned(s); v.isObject() && v.get("output").isString() && v.get("metadata").isObject() {
			return []message.Block{message.TextBlock(v.str("output"))}, v.int("metadata", "exit_code") != 0
		}
		return []message.Block{message.TextBlock(s)}, false
	case out.isArray():
		return b.openAIContent(out, line), false
	case out.isObject():
		inner := out.get("content")
		if !inner.has() {
			inner = out.get("body")
		}
		blocks, _ = b.responsesOutput(inner, line)
		return blocks, out.has("success") && !out.bool("success")
	}
	return nil, false
}
