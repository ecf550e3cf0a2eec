package wire

import (
	"math"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
)

// The readers of rendered messages report what the API would not read and return the rest.

// roles are what the messages of each form stand for. A message of results is one thing,
// results at the start of a user message are another.
var roles = map[form]map[string]TurnKind{
	formAnthropic: {"user": TurnUser, "assistant": TurnAssistant},
	formChat:      {"system": TurnSystem, "developer": TurnSystem, "user": TurnUser, "assistant": TurnAssistant, "tool": TurnResults},
	formResponses: {"system": TurnSystem, "developer": TurnSystem, "user": TurnUser, "assistant": TurnAssistant},
	formGemini:    {"user": TurnUser, "model": TurnAssistant},
	formPi:        {"system": TurnSystem, "user": TurnUser, "assistant": TurnAssistant, "toolResult": TurnResults},
}

type seenMessage struct {
	role   TurnKind // "" when the API has no such role
	blocks []seenBlock
}

// seenBlock is a block as Validate reads it. What is long stays in the message's bytes.
type seenBlock struct {
	kind      PartKind
	blank     bool   // text
	redacted  bool   // thinking
	noObject  bool   // call: the arguments are no object
	text      span   // text, thinking: the JSON string
	arguments span   // call: as they stand in the message
	raw       span   // other
	signature string // text, thinking, call
	id, name  string // call, result
	content   []seenBlock
}

func textBlock(x val) seenBlock { return seenBlock{kind: PartText, text: x.span(), blank: x.blank()} }

// message reads the next message, but for the values in it that are known to be sound.
func (v *validator) message(raw []byte, sound []span) {
	i := len(v.read)
	v.messages, v.read = append(v.messages, raw), append(v.read, v.readMessage(i, raw, sound))
	if v.p.form == formPi {
		return
	}
	v.pairs()
	if i > 0 {
		v.blocks(i - 1) // its bytes are still in the processor's cache
	}
}

func (v *validator) readMessage(i int, raw []byte, sound []span) seenMessage {
	if !v.value(RuleJSON, i, raw, sound, "the message") || !v.is(RuleJSON, i, jsonx.IsObject(raw), "the message is no object") {
		return seenMessage{}
	}
	x := v.tree.root()
	if m, ok := v.responsesItem(i, x); ok {
		return m
	}
	name := v.str(i, x, "role")
	m := seenMessage{role: roles[v.p.form][name]}
	if m.role == "" {
		v.fail(RuleRole, i, "the API has no role %q", name)
	}
	switch v.p.form {
	case formAnthropic:
		m.blocks = v.content(i, x.get("content"), v.anthropicBlock)
	case formChat:
		m.blocks = v.chatBlocks(i, m.role, x)
	case formResponses:
		m.blocks = v.responsesMessage(i, m.role, x)
	case formGemini:
		parts := x.get("parts")
		v.is(RuleJSON, i, parts.isArray(), "parts must be an array")
		m.blocks = v.content(i, parts, v.geminiPart)
		other := func(b seenBlock) bool { return b.kind != PartResult }
		if m.role == TurnUser && len(m.blocks) > 0 && !slices.ContainsFunc(m.blocks, other) {
			m.role = TurnResults
		}
	case formPi, formNone: // pi's messages are not for an API; the roles alone are checked
	}
	return m
}

// value reads raw, one JSON value without anything around it, into the tree.
func (v *validator) value(rule Rule, i int, raw []byte, sound []span, what string) bool {
	if len(raw) > math.MaxInt32 {
		v.fail(RuleSize, i, "%s has more than 2 GB", what)
		return false
	}
	end, err := v.tree.read(raw, sound)
	switch {
	case err != nil:
		v.fail(rule, i, "%s is not JSON: %v", what, err)
		return false
	case end != len(raw) || raw[0] <= ' ':
		v.fail(rule, i, "%s has something around it", what)
		return false
	case !soundBetween(raw, sound):
		v.fail(RuleUTF8, i, "%s holds bytes that are not UTF-8 or half a surrogate pair", what)
	}
	return true
}

func soundBetween(raw []byte, sound []span) bool {
	from := int32(0)
	for _, s := range sound {
		if !jsonx.Sound(raw[from:s.from]) {
			return false
		}
		from = s.to
	}
	return jsonx.Sound(raw[from:])
}

func (v *validator) is(rule Rule, i int, ok bool, text string) bool {
	if !ok {
		v.fail(rule, i, "%s", text)
	}
	return ok
}

// member returns a member that must be a string, str its text.
func (v *validator) member(i int, x val, key string) val {
	m := x.get(key)
	if !jsonx.IsString(m.raw()) {
		v.fail(RuleJSON, i, "%s must be a string", key)
	}
	return m
}

func (v *validator) str(i int, x val, key string) string {
	s, _ := v.member(i, x, key).str()
	return s
}

func (v *validator) content(i int, x val, block func(i int, x val) seenBlock) (out []seenBlock) {
	if jsonx.IsString(x.raw()) {
		return []seenBlock{textBlock(x)}
	}
	if v.is(RuleJSON, i, x.isArray(), "content must be a string or an array") {
		out = v.slab.take(x.count())
		x.each(func(b val) {
			if v.is(RuleJSON, i, b.isObject(), "a block must be an object") {
				out = append(out, block(i, b))
			}
		})
	}
	return out
}

func (v *validator) inResult(i int, content []seenBlock) []seenBlock {
	for _, b := range content {
		v.is(RuleBlock, i, b.kind == PartText || b.kind == PartImage && v.p.form != formChat, "a result holds something it must not hold")
	}
	return content
}

func (v *validator) image(i int, mime, data string) seenBlock {
	v.is(RuleImage, i, len(v.p.Images) == 0 || slices.Contains(v.p.Images, mime), "images of type "+mime+" are not taken")
	v.is(RuleImage, i, validBase64(data), "the data of an image is no base64")
	return seenBlock{kind: PartImage}
}

// imageURL checks an image in a data URL; other addresses are the caller's.
func (v *validator) imageURL(i int, url string) seenBlock {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		v.is(RuleImage, i, strings.HasPrefix(url, "https://"), "an image has no address")
		return seenBlock{kind: PartImage}
	}
	mime, data, _ := strings.Cut(rest, ";base64,")
	return v.image(i, mime, data)
}

func (v *validator) anthropicBlock(i int, x val) seenBlock {
	switch v.str(i, x, "type") {
	case "text":
		return textBlock(v.member(i, x, "text"))
	case "image":
		src := x.get("source")
		if v.str(i, src, "type") != "base64" {
			return seenBlock{kind: PartImage}
		}
		return v.image(i, v.str(i, src, "media_type"), v.str(i, src, "data"))
	case "thinking":
		return seenBlock{kind: PartThinking, text: v.member(i, x, "thinking").span(), signature: v.str(i, x, "signature")}
	case "redacted_thinking":
		return seenBlock{kind: PartThinking, redacted: true, signature: v.str(i, x, "data")}
	case "tool_use":
		args := x.get("input")
		return seenBlock{kind: PartCall, id: v.str(i, x, "id"), name: v.str(i, x, "name"), arguments: args.span(), noObject: !args.isObject()}
	case "tool_result":
		return seenBlock{kind: PartResult, id: v.str(i, x, "tool_use_id"), content: v.inResult(i, v.content(i, x.get("content"), v.anthropicBlock))}
	}
	return seenBlock{kind: PartOpaque, raw: x.span()}
}

func (v *validator) chatBlocks(i int, r TurnKind, x val) (out []seenBlock) {
	content := x.get("content")
	if r == TurnResults {
		return []seenBlock{{kind: PartResult, id: v.str(i, x, "tool_call_id"), content: v.inResult(i, v.content(i, content, v.openAIBlock("text")))}}
	}
	if r != TurnAssistant {
		return v.content(i, content, v.openAIBlock("text"))
	}
	for _, field := range reasoningFields {
		if text := x.get(field); jsonx.IsString(text.raw()) {
			out = append(out, seenBlock{kind: PartThinking, text: text.span(), signature: field})
		}
	}
	if !jsonx.IsNull(content.raw()) {
		out = append(out, v.content(i, content, v.openAIBlock("text"))...)
	}
	x.get("tool_calls").each(func(c val) {
		f := c.get("function")
		b := seenBlock{kind: PartCall, id: v.str(i, c, "id"), name: v.str(i, f, "name"), noObject: v.noObject(i, f)}
		v.is(RuleBlock, i, v.str(i, c, "type") == "function", "a call is no function call")
		out = append(out, b)
	})
	return out
}

// noObject reports whether arguments that are sent as text are not an object.
func (v *validator) noObject(i int, x val) bool {
	raw := []byte(v.str(i, x, "arguments"))
	end, err := jsonx.Scan(raw, 0)
	if err != nil || end != len(raw) {
		return true
	}
	v.is(RuleUTF8, i, jsonx.Sound(raw), "arguments hold half a surrogate pair")
	return !jsonx.IsObject(raw)
}

func (v *validator) responsesItem(i int, x val) (m seenMessage, ok bool) {
	typ, _ := x.get("type").str()
	switch {
	case v.p.form != formResponses, typ == "message", typ == "":
		return m, false
	case typ == "reasoning":
		return seenMessage{TurnAssistant, []seenBlock{{kind: PartThinking, signature: string(x.raw())}}}, true
	case typ == "function_call":
		b := seenBlock{kind: PartCall, id: v.str(i, x, "call_id"), name: v.str(i, x, "name"), noObject: v.noObject(i, x)}
		v.itemID(i, x, "fc_")
		return seenMessage{TurnAssistant, []seenBlock{b}}, true
	case typ == "function_call_output":
		content := v.inResult(i, v.content(i, x.get("output"), v.openAIBlock("input_text")))
		return seenMessage{TurnResults, []seenBlock{{kind: PartResult, id: v.str(i, x, "call_id"), content: content}}}, true
	}
	return seenMessage{TurnAssistant, []seenBlock{{kind: PartOpaque, raw: x.span()}}}, true
}

func (v *validator) responsesMessage(i int, r TurnKind, x val) []seenBlock {
	read := v.openAIBlock("input_text")
	if r == TurnAssistant {
		read = v.openAIBlock("output_text")
		v.itemID(i, x, "msg_")
	}
	blocks := v.content(i, x.get("content"), read)
	for _, b := range blocks {
		v.is(RuleBlock, i, b.kind != PartOpaque, "a message holds something else than text and images")
	}
	return blocks
}

func (v *validator) itemID(i int, x val, prefix string) {
	if id := x.get("id"); id.t != nil {
		s, _ := id.str()
		v.is(RuleCallID, i, itemID(s, prefix), "the item has an id that the API does not take")
	}
}

// openAIBlock returns the reader of blocks whose text is of a type. Those of Chat
// Completions have their images one level deeper.
func (v *validator) openAIBlock(text string) func(i int, x val) seenBlock {
	return func(i int, x val) seenBlock {
		switch typ := v.str(i, x, "type"); {
		case typ == text:
			return textBlock(v.member(i, x, "text"))
		case typ == "image_url" && text == "text":
			return v.imageURL(i, v.str(i, x.get("image_url"), "url"))
		case typ == "input_image" && text != "text":
			return v.imageURL(i, v.str(i, x, "image_url"))
		}
		return seenBlock{kind: PartOpaque, raw: x.span()}
	}
}

func (v *validator) geminiPart(i int, x val) seenBlock {
	b := seenBlock{kind: PartOpaque, raw: x.span()}
	call, result, text, data := x.get("functionCall"), x.get("functionResponse"), x.get("text"), x.get("inlineData")
	switch {
	case call.t != nil:
		args := call.get("args")
		b = seenBlock{kind: PartCall, id: v.str(i, call, "id"), name: v.str(i, call, "name"), arguments: args.span(), noObject: !args.isObject()}
	case result.t != nil:
		b = seenBlock{kind: PartResult, id: v.str(i, result, "id"), name: v.str(i, result, "name")}
		resp := result.get("response")
		v.is(RuleJSON, i, resp.isObject(), "a response must be an object")
		resp.each(func(text val) { b.content = append(b.content, textBlock(text)) })
		result.get("parts").each(func(p val) { b.content = append(b.content, v.geminiPart(i, p)) })
		v.inResult(i, b.content)
	case text.t != nil:
		b = textBlock(v.member(i, x, "text"))
		if jsonx.Bool(x.get("thought").raw()) {
			b.kind = PartThinking
		}
	case data.t != nil:
		b = v.image(i, v.str(i, data, "mimeType"), v.str(i, data, "data"))
	}
	b.signature, _ = x.get("thoughtSignature").str()
	return b
}

func (v *validator) system(raw []byte) {
	if raw == nil || !v.value(RuleSystem, -1, raw, nil, "the system text") {
		return
	}
	x := v.tree.root()
	var texts []seenBlock
	switch v.p.form {
	case formAnthropic:
		texts = v.content(-1, x, v.anthropicBlock)
	case formResponses:
		v.is(RuleSystem, -1, jsonx.IsString(raw), "the instructions must be a string")
		texts = []seenBlock{textBlock(x)}
	case formGemini:
		x.get("parts").each(func(p val) { texts = append(texts, v.geminiPart(-1, p)) })
	case formChat, formPi, formNone:
		v.fail(RuleSystem, -1, "the API has no member for it")
		return
	}
	v.is(RuleSystem, -1, len(texts) > 0, "the system text is empty")
	for _, b := range texts {
		v.is(RuleSystem, -1, b.kind == PartText && !b.blank, "the system text holds a blank text or something else than text")
	}
}

// tools checks the tools member. Tools of the provider's own, which have a type
// and no schema, are not looked into.
func (v *validator) tools(raw []byte) {
	if raw == nil || !v.value(RuleTools, -1, raw, nil, "the list of tools") || !v.is(RuleTools, -1, jsonx.IsArray(raw), "tools must be an array") {
		return
	}
	seen := map[string]bool{}
	one := func(def val, schema string) {
		name := v.str(-1, def, "name")
		v.toolName(RuleTools, -1, name)
		v.is(RuleTools, -1, !seen[name], "two tools have the name "+name)
		seen[name] = true
		v.is(RuleTools, -1, def.get(schema).isObject(), "tool "+name+" has no schema")
	}
	v.tree.root().each(func(tool val) {
		typ, _ := tool.get("type").str()
		switch v.p.form {
		case formAnthropic:
			if typ == "" || typ == "custom" {
				one(tool, "input_schema")
			}
		case formChat:
			if v.is(RuleTools, -1, typ == "function", "a tool is no function") {
				one(tool.get("function"), "parameters")
			}
		case formResponses:
			if typ == "function" {
				one(tool, "parameters")
			}
		case formGemini:
			tool.get("functionDeclarations").each(func(d val) { one(d, "parametersJsonSchema") })
		case formPi, formNone:
			v.fail(RuleTools, -1, "pi's list has no tools beside the messages")
		}
	})
}
