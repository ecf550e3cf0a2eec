package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// parts returns the content of a message. The calls of an answer get their ids here.
func (n *normalizer) parts(i int, m *message.Message) []Part {
	answer := m.Role == message.RoleAssistant
	same := answer && n.p.same(m, n.t)
	out := n.slab.take(len(m.Content))
	said, thinks := false, false
	// reasoned says that the reasoning that came before a block is sent. The API's
	// own ids of items must not be sent without it.
	reasoned := false
	for k := range m.Content {
		b := &m.Content[k]
		if b.Type == message.BlockText && b.Blank() {
			continue
		}
		out = append(out, Part{From: i})
		part, sent := &out[len(out)-1], true // filled in place, for a Part is large
		switch {
		case b.Type == message.BlockText:
			n.text(part, b, same, reasoned)
		case b.Type == message.BlockImage && answer:
			n.note(NoteImage, i, "an image in an answer becomes a line of text")
			*part = textPart(i, textImageOut(b.MIMEType))
		case b.Type == message.BlockImage:
			n.image(part, b)
		case b.Type == message.BlockThinking && answer:
			why := n.thinking(part, b, same)
			if reasoned = why == ""; reasoned {
				thinks = true
				continue
			}
			n.note(NoteThinking, i, "thinking is not sent: %s", why)
			sent = false
		case b.Type == message.BlockToolCall && answer:
			n.call(part, b, same, reasoned)
		case b.Type == message.BlockThinking || b.Type == message.BlockToolCall:
			n.note(NoteUnknownBlock, i, "a %s block has no place in a message of role %s and is not sent", b.Type, m.Role)
			sent = false
		case answer && n.passes(m, b):
			part.Kind, part.Raw = PartOpaque, jsonx.Clean(b.Raw())
		default:
			n.note(NoteUnknownBlock, i, "a block of type %q is not sent", b.Type)
			sent = false
		}
		if !sent {
			out = out[:len(out)-1]
		}
		said = said || sent
	}
	switch {
	case !said:
		return nil
	case !thinks || n.p.Thinking == ThinkingField: // there it is sent beside the content
		return out
	}
	return n.followed(i, out)
}

// followed takes out thinking that nothing follows; in the Responses API an item
// must follow each reasoning item directly.
func (n *normalizer) followed(i int, parts []Part) []Part {
	at := len(parts) // what is kept is moved to the end
	followed := false
	for k := range slices.Backward(parts) {
		switch {
		case parts[k].Kind != PartThinking:
			followed = true
		case !followed:
			n.note(NoteThinking, i, "thinking is not sent: nothing follows it")
			continue
		case n.p.Thinking == ThinkingItem:
			followed = false
		}
		at--
		parts[at] = parts[k]
	}
	return parts[at:]
}

func (n *normalizer) text(part *Part, b *message.Block, same, reasoned bool) {
	part.Kind, part.Text = PartText, jsonText(b)
	if !same || b.Signature == "" {
		return
	}
	if n.p.Thinking == ThinkingItem {
		part.ItemID, part.Phase = textSignature(b.Signature)
		if !reasoned {
			part.ItemID = ""
		}
	}
	if n.p.Thinking == ThinkingPart && validBase64(b.Signature) && intact(b) {
		part.Signature = b.Signature
	}
}

// textSignature reads what pi stores of a message item of the Responses API:
// {"v":1,"id":...,"phase":...}, or the id alone.
func textSignature(sig string) (id, phase string) {
	id = sig
	if raw := []byte(sig); jsonx.IsObject(raw) {
		if _, err := jsonx.Scan(raw, 0); err != nil {
			return "", ""
		}
		id, phase = jsonx.StringAt(raw, "id"), jsonx.StringAt(raw, "phase")
		if phase != "commentary" && phase != "final_answer" {
			phase = ""
		}
	}
	if !itemID(id, "msg_") {
		id = ""
	}
	return id, phase
}

func itemID(id, prefix string) bool {
	return strings.HasPrefix(id, prefix) && len(id) <= 64 && idChars(id)
}

// reasoningFields are the members of a message in which servers that speak Chat
// Completions return reasoning.
var reasoningFields = []string{"reasoning_content", "reasoning", "reasoning_text"}

// thinking makes the part for a block of thinking; why says that it cannot be
// sent. It is either as it came or absent, never changed.
func (n *normalizer) thinking(part *Part, b *message.Block, same bool) (why string) {
	part.Kind, part.Signature, part.Redacted = PartThinking, b.Signature, b.Redacted
	switch {
	case !same:
		return "another model made it"
	case b.Signature == "" || !utf8.ValidString(b.Signature) || strings.ContainsRune(b.Signature, utf8.RuneError):
		return "it has no signature"
	}
	if !b.Redacted {
		part.Text = jsonText(b)
	}
	switch n.p.Thinking {
	case ThinkingField:
		if b.Redacted || b.Blank() || !slices.Contains(reasoningFields, b.Signature) {
			return "the API takes back what it gave in a member of the message only"
		}
	case ThinkingItem:
		item := []byte(b.Signature)
		typ, _ := jsonx.String(jsonx.Get(item, "type"))
		id, hasID := jsonx.String(jsonx.Get(item, "id"))
		end, err := jsonx.Scan(item, 0)
		if err != nil || end != len(item) || typ != "reasoning" || !jsonx.Sound(item) || hasID && !itemID(id, "rs_") {
			return "it is no reasoning item that the API takes"
		}
		part.Raw = item
	case ThinkingPart:
		if b.Redacted || !validBase64(b.Signature) {
			return "its signature is not one that the API takes"
		}
	case ThinkingSigned, ThinkingStored:
	}
	if n.p.Thinking != ThinkingItem && !b.Redacted && !intact(b) {
		return "its text holds characters that cannot be sent"
	}
	return ""
}

func (n *normalizer) call(part *Part, b *message.Block, same, reasoned bool) {
	var renamed bool
	i := part.From
	part.Kind = PartCall
	if part.ID, renamed = n.ids.assign(b.ID); renamed {
		n.note(NoteCallRenamed, i, "call id %q is sent as %s", b.ID, part.ID)
	}
	if part.Name, renamed = n.p.toolName(b.Name); renamed {
		n.note(NoteToolRenamed, i, "tool name %q is sent as %s", b.Name, part.Name)
	}
	part.Arguments = jsonx.Clean(b.Arguments)
	if !sendableObject(part.Arguments) {
		n.note(NoteArguments, i, "the arguments of call %s are no object that can be sent; an empty one is", part.ID)
		part.Arguments = json.RawMessage("{}")
	}
	if !same {
		return
	}
	if _, id, _ := strings.Cut(b.ID, "|"); n.p.Thinking == ThinkingItem && reasoned && itemID(id, "fc_") {
		part.ItemID = id
	}
	if n.p.Thinking == ThinkingPart && validBase64(b.Signature) && bytes.Equal(part.Arguments, b.Arguments) {
		part.Signature = b.Signature
	}
}

func (n *normalizer) image(part *Part, b *message.Block) {
	data, i := jsonText(b), part.From
	switch {
	case !n.t.TakesImages:
		n.note(NoteImage, i, "the model takes no images; a line of text stands for this one")
	case len(n.p.Images) > 0 && !slices.Contains(n.p.Images, b.MIMEType):
		n.note(NoteImage, i, "images of type %q are not taken; a line of text stands for this one", b.MIMEType)
	case !validBase64(b.Data) || len(data) != len(b.Data)+2:
		n.note(NoteImage, i, "the data of the image is no base64; a line of text stands for it")
	default:
		part.Kind, part.MIMEType, part.Data = PartImage, b.MIMEType, data
		return
	}
	*part = textPart(i, textImageOut(b.MIMEType))
}

// passes reports whether a block of a type we do not know goes back to the API it came
// from. Types with a meaning we would have to check, above all calls and results, do not.
func (n *normalizer) passes(m *message.Message, b *message.Block) bool {
	return n.p.Opaque && n.t.Provider != "" && m.Provider == n.t.Provider && m.API != "" && n.p.speaks(m) &&
		!n.p.reserved(b.Raw()) && sendableObject(b.Raw())
}

// reserved are the types of blocks, or their members, that the API reads as something that
// wire itself writes or that changes where the list starts.
var reserved = map[form][]string{
	formAnthropic: {"", "text", "image", "document", "thinking", "redacted_thinking", "tool_use", "tool_result"},
	formResponses: {"", "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"},
	formGemini:    {"text", "thought", "inlineData", "functionCall", "functionResponse", "thoughtSignature"},
}

func (p *Profile) reserved(block []byte) bool {
	if p.form == formGemini {
		return slices.ContainsFunc(reserved[p.form], func(key string) bool { return jsonx.Get(block, key) != nil })
	}
	return reserved[p.form] == nil || slices.Contains(reserved[p.form], jsonx.StringAt(block, "type"))
}

// jsonText returns the text of a block, of an image its data, as a JSON string: the bytes
// that were stored, where there are any that can be sent.
func jsonText(b *message.Block) json.RawMessage {
	if raw := b.RawText(); raw != nil {
		return raw
	}
	if b.Type == message.BlockImage {
		return jsonx.Quote(b.Data)
	}
	return jsonx.Quote(b.Text)
}

// intact reports whether the text of a block is sent as it came.
func intact(b *message.Block) bool {
	return b.RawText() != nil || b.Text == "" || b.Raw() == nil && utf8.ValidString(b.Text)
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// validBase64 reports whether s is non-empty standard base64 with padding.
func validBase64(s string) bool {
	const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
	body := strings.TrimSuffix(strings.TrimSuffix(s, "="), "=")
	return s != "" && len(s)%4 == 0 && strings.TrimLeft(body, alphabet) == ""
}

// maxDepth is the deepest nesting that is sent: readers on the other side give up at 128
// levels (serde_json) and up.
const maxDepth = 100

// sendableObject reports whether val is an object, nothing else, that is not too deep.
func sendableObject(val []byte) bool {
	end, err := jsonx.ScanAt(val, 0, jsonx.MaxDepth-maxDepth)
	return err == nil && end == len(val) && jsonx.IsObject(val)
}
