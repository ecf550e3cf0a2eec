package wire

import (
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
)

// The readers of rendered messages, one for each form. They report what cannot
// be read as the API has it and return the rest.

// read reads one message.
func (v *validator) read(i int, raw []byte) seenMessage {
	if !v.object(RuleJSON, i, raw, "the message") {
		return seenMessage{}
	}
	switch v.p.form {
	case formAnthropic:
		return v.readAnthropic(i, raw)
	case formChat:
		return v.readChat(i, raw)
	case formResponses:
		return v.readResponses(i, raw)
	case formGemini:
		return v.readGemini(i, raw)
	case formPi:
		return v.readPi(i, raw)
	case formNone:
	}
	return seenMessage{}
}

// object reports whether raw is one JSON object in valid UTF-8.
func (v *validator) object(rule Rule, i int, raw []byte, what string) bool {
	return v.value(rule, i, raw, what) && v.is(rule, i, jsonx.IsObject(raw), what+" is no object")
}

func (v *validator) value(rule Rule, i int, raw []byte, what string) bool {
	end, err := jsonx.Scan(raw, 0)
	switch {
	case err != nil:
		v.fail(rule, i, "%s is not JSON: %v", what, err)
		return false
	case end != len(raw) || raw[0] <= ' ':
		v.fail(rule, i, "%s has something around it", what)
		return false
	case !utf8.Valid(raw) || jsonx.LoneSurrogate(raw):
		v.fail(RuleUTF8, i, "%s holds bytes that are not UTF-8 or half a surrogate pair", what)
	}
	return true
}

func (v *validator) is(rule Rule, i int, ok bool, text string) bool {
	if !ok {
		v.fail(rule, i, "%s", text)
	}
	return ok
}

// str returns a member that must be a string.
func (v *validator) str(i int, obj []byte, key string) string {
	s, ok := jsonx.String(jsonx.Get(obj, key))
	if !ok {
		v.fail(RuleJSON, i, "%s must be a string", key)
	}
	return s
}

func (v *validator) readAnthropic(i int, raw []byte) seenMessage {
	var m seenMessage
	switch r := v.str(i, raw, "role"); r {
	case "user":
		m.role = roleUser
	case "assistant":
		m.role = roleAssistant
	default:
		v.fail(RuleRole, i, "the API has no role %q", r)
	}
	content := jsonx.Get(raw, "content")
	if text, ok := jsonx.String(content); ok {
		m.blocks = []seenBlock{{kind: kindText, text: text}}
		return m
	}
	v.is(RuleJSON, i, jsonx.IsArray(content), "content must be a string or an array")
	m.blocks = v.anthropicBlocks(i, content)
	return m
}

func (v *validator) anthropicBlocks(i int, content []byte) (out []seenBlock) {
	jsonx.Elements(content, func(raw []byte) bool {
		if !v.is(RuleJSON, i, jsonx.IsObject(raw), "a block must be an object") {
			return true
		}
		b := seenBlock{raw: raw}
		switch v.str(i, raw, "type") {
		case "text":
			b.kind, b.text = kindText, v.str(i, raw, "text")
		case "image":
			b.kind = kindImage
			src := jsonx.Get(raw, "source")
			if v.str(i, src, "type") == "base64" {
				v.image(i, v.str(i, src, "media_type"), v.str(i, src, "data"))
			}
		case "thinking":
			b.kind, b.text, b.signature = kindThinking, v.str(i, raw, "thinking"), v.str(i, raw, "signature")
		case "redacted_thinking":
			b.kind, b.redacted, b.signature = kindThinking, true, v.str(i, raw, "data")
		case "tool_use":
			b.kind, b.id, b.name = kindCall, v.str(i, raw, "id"), v.str(i, raw, "name")
			b.arguments = jsonx.Get(raw, "input")
		case "tool_result":
			b.kind, b.id = kindResult, v.str(i, raw, "tool_use_id")
			content := jsonx.Get(raw, "content")
			if text, ok := jsonx.String(content); ok {
				b.content = []seenBlock{{kind: kindText, text: text}}
			} else {
				b.content = v.anthropicBlocks(i, content)
			}
			v.inResult(i, b.content)
		}
		out = append(out, b)
		return true
	})
	return out
}

// inResult checks that a result holds text and images only.
func (v *validator) inResult(i int, content []seenBlock) {
	for _, b := range content {
		v.is(RuleBlock, i, b.kind == kindText || b.kind == kindImage, "a result holds something else than text and images")
	}
}

func (v *validator) image(i int, mime, data string) {
	known := len(v.p.Images) == 0
	for _, m := range v.p.Images {
		known = known || m == mime
	}
	v.is(RuleImage, i, known, "images of type "+mime+" are not taken")
	v.is(RuleImage, i, validBase64(data), "the data of an image is no base64")
}

// imageURL checks an image in a data URL; other addresses are the caller's.
func (v *validator) imageURL(i int, url string) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		v.is(RuleImage, i, strings.HasPrefix(url, "https://"), "an image has no address")
		return
	}
	mime, data, ok := strings.Cut(rest, ";base64,")
	if v.is(RuleImage, i, ok, "the address of an image is no base64") {
		v.image(i, mime, data)
	}
}

func (v *validator) readChat(i int, raw []byte) seenMessage {
	var m seenMessage
	content := jsonx.Get(raw, "content")
	switch r := v.str(i, raw, "role"); r {
	case "system", "developer":
		m.role = roleSystem
	case "user":
		m.role = roleUser
	case "assistant":
		m.role = roleAssistant
	case "tool":
		m.role = roleResults
		b := seenBlock{kind: kindResult, id: v.str(i, raw, "tool_call_id"), content: v.chatContent(i, content)}
		for _, c := range b.content {
			v.is(RuleBlock, i, c.kind == kindText, "a result holds something else than text")
		}
		m.blocks = []seenBlock{b}
		return m
	default:
		v.fail(RuleRole, i, "the API has no role %q", r)
	}
	if m.role == roleAssistant {
		for _, field := range reasoningFields {
			if text, ok := jsonx.String(jsonx.Get(raw, field)); ok {
				m.blocks = append(m.blocks, seenBlock{kind: kindThinking, text: text, signature: field})
			}
		}
	}
	if m.role != roleAssistant || !jsonx.IsNull(content) {
		m.blocks = append(m.blocks, v.chatContent(i, content)...)
	}
	if m.role != roleAssistant {
		return m
	}
	jsonx.Elements(jsonx.Get(raw, "tool_calls"), func(c []byte) bool {
		f := jsonx.Get(c, "function")
		b := seenBlock{kind: kindCall, id: v.str(i, c, "id"), name: v.str(i, f, "name")}
		b.arguments = v.argumentText(i, v.str(i, f, "arguments"))
		v.is(RuleBlock, i, v.str(i, c, "type") == "function", "a call is no function call")
		m.blocks = append(m.blocks, b)
		return true
	})
	return m
}

// argumentText returns arguments that are sent as text; nil when they are no JSON.
func (v *validator) argumentText(i int, text string) []byte {
	raw := []byte(text)
	end, err := jsonx.Scan(raw, 0)
	if err != nil || end != len(raw) {
		return nil
	}
	v.is(RuleUTF8, i, !jsonx.LoneSurrogate(raw), "arguments hold half a surrogate pair")
	return raw
}

func (v *validator) chatContent(i int, content []byte) (out []seenBlock) {
	if text, ok := jsonx.String(content); ok {
		return []seenBlock{{kind: kindText, text: text}}
	}
	v.is(RuleJSON, i, jsonx.IsArray(content), "content must be a string or an array")
	jsonx.Elements(content, func(raw []byte) bool {
		b := seenBlock{raw: raw}
		switch v.str(i, raw, "type") {
		case "text":
			b.kind, b.text = kindText, v.str(i, raw, "text")
		case "image_url":
			b.kind = kindImage
			v.imageURL(i, v.str(i, jsonx.Get(raw, "image_url"), "url"))
		}
		out = append(out, b)
		return true
	})
	return out
}

func (v *validator) readResponses(i int, raw []byte) seenMessage {
	b := seenBlock{raw: raw}
	typ, _ := jsonx.String(jsonx.Get(raw, "type"))
	switch typ {
	case "message", "":
		return v.readResponsesMessage(i, raw)
	case "reasoning":
		b.kind, b.signature = kindThinking, string(raw)
	case "function_call":
		b.kind, b.id, b.name = kindCall, v.str(i, raw, "call_id"), v.str(i, raw, "name")
		b.arguments = v.argumentText(i, v.str(i, raw, "arguments"))
		v.itemID(i, raw, "fc_")
	case "function_call_output":
		b.kind, b.id = kindResult, v.str(i, raw, "call_id")
		b.content = v.responsesContent(i, jsonx.Get(raw, "output"), "input_text")
		v.inResult(i, b.content)
		return seenMessage{roleResults, []seenBlock{b}}
	}
	return seenMessage{roleAssistant, []seenBlock{b}}
}

func (v *validator) readResponsesMessage(i int, raw []byte) seenMessage {
	var m seenMessage
	text := "input_text"
	switch r := v.str(i, raw, "role"); r {
	case "system", "developer":
		m.role = roleSystem
	case "user":
		m.role = roleUser
	case "assistant":
		m.role, text = roleAssistant, "output_text"
		v.itemID(i, raw, "msg_")
	default:
		v.fail(RuleRole, i, "the API has no role %q", r)
	}
	m.blocks = v.responsesContent(i, jsonx.Get(raw, "content"), text)
	for _, b := range m.blocks {
		v.is(RuleBlock, i, b.kind != kindOther, "a message holds something else than text and images")
	}
	return m
}

func (v *validator) itemID(i int, raw []byte, prefix string) {
	if id := jsonx.Get(raw, "id"); id != nil {
		s, _ := jsonx.String(id)
		v.is(RuleCallID, i, itemID(s, prefix), "the item has an id that the API does not take")
	}
}

func (v *validator) responsesContent(i int, content []byte, textType string) (out []seenBlock) {
	if text, ok := jsonx.String(content); ok {
		return []seenBlock{{kind: kindText, text: text}}
	}
	v.is(RuleJSON, i, jsonx.IsArray(content), "content must be a string or an array")
	jsonx.Elements(content, func(raw []byte) bool {
		b := seenBlock{raw: raw}
		switch v.str(i, raw, "type") {
		case textType:
			b.kind, b.text = kindText, v.str(i, raw, "text")
		case "input_image":
			b.kind = kindImage
			v.imageURL(i, v.str(i, raw, "image_url"))
		}
		out = append(out, b)
		return true
	})
	return out
}

func (v *validator) readGemini(i int, raw []byte) seenMessage {
	var m seenMessage
	switch r := v.str(i, raw, "role"); r {
	case "user":
		m.role = roleUser
	case "model":
		m.role = roleAssistant
	default:
		v.fail(RuleRole, i, "the API has no role %q", r)
	}
	parts := jsonx.Get(raw, "parts")
	v.is(RuleJSON, i, jsonx.IsArray(parts), "parts must be an array")
	results := 0
	jsonx.Elements(parts, func(raw []byte) bool {
		if !v.is(RuleJSON, i, jsonx.IsObject(raw), "a part must be an object") {
			return true
		}
		b := v.geminiPart(i, raw)
		if b.kind == kindResult {
			results++
		}
		m.blocks = append(m.blocks, b)
		return true
	})
	if results > 0 && results == len(m.blocks) && m.role == roleUser {
		m.role = roleResults
	}
	return m
}

func (v *validator) geminiPart(i int, raw []byte) seenBlock {
	b := seenBlock{raw: raw}
	b.signature, _ = jsonx.String(jsonx.Get(raw, "thoughtSignature"))
	call, result := jsonx.Get(raw, "functionCall"), jsonx.Get(raw, "functionResponse")
	switch {
	case call != nil:
		b.kind, b.id, b.name = kindCall, v.str(i, call, "id"), v.str(i, call, "name")
		b.arguments = jsonx.Get(call, "args")
	case result != nil:
		b.kind, b.id, b.name = kindResult, v.str(i, result, "id"), v.str(i, result, "name")
		resp := jsonx.Get(result, "response")
		v.is(RuleJSON, i, jsonx.IsObject(resp), "a response must be an object")
		jsonx.Members(resp, func(_, val []byte) bool {
			text, _ := jsonx.String(val)
			b.content = append(b.content, seenBlock{kind: kindText, text: text})
			return true
		})
		jsonx.Elements(jsonx.Get(result, "parts"), func(p []byte) bool {
			b.content = append(b.content, v.geminiPart(i, p))
			return true
		})
		v.inResult(i, b.content)
	case jsonx.Get(raw, "text") != nil:
		b.kind, b.text = kindText, v.str(i, raw, "text")
		if jsonx.Bool(jsonx.Get(raw, "thought")) {
			b.kind = kindThinking
		}
	case jsonx.Get(raw, "inlineData") != nil:
		b.kind = kindImage
		d := jsonx.Get(raw, "inlineData")
		v.image(i, v.str(i, d, "mimeType"), v.str(i, d, "data"))
	}
	return b
}

// readPi reads a message of the file format. What it holds is not for an API, so
// the roles alone are checked.
func (v *validator) readPi(i int, raw []byte) seenMessage {
	switch r := v.str(i, raw, "role"); r {
	case "system":
		return seenMessage{role: roleSystem}
	case "user":
		return seenMessage{role: roleUser}
	case "assistant":
		return seenMessage{role: roleAssistant}
	case "toolResult":
		return seenMessage{role: roleResults}
	default:
		v.fail(RuleRole, i, "pi's list has no role %q", r)
	}
	return seenMessage{}
}

// system checks the system member.
func (v *validator) system(raw []byte) {
	if raw == nil {
		return
	}
	if !v.value(RuleSystem, -1, raw, "the system text") {
		return
	}
	var texts []seenBlock
	switch v.p.form {
	case formAnthropic:
		if text, ok := jsonx.String(raw); ok {
			texts = []seenBlock{{kind: kindText, text: text}}
		} else if v.is(RuleSystem, -1, jsonx.IsArray(raw), "the system text must be a string or an array") {
			texts = v.anthropicBlocks(-1, raw)
		}
	case formResponses:
		text, ok := jsonx.String(raw)
		v.is(RuleSystem, -1, ok, "the instructions must be a string")
		texts = []seenBlock{{kind: kindText, text: text}}
	case formGemini:
		jsonx.Elements(jsonx.Get(raw, "parts"), func(p []byte) bool {
			texts = append(texts, v.geminiPart(-1, p))
			return true
		})
	case formChat, formPi, formNone:
		v.fail(RuleSystem, -1, "the API has no member for it")
		return
	}
	v.is(RuleSystem, -1, len(texts) > 0, "the system text is empty")
	for _, b := range texts {
		v.is(RuleSystem, -1, b.kind == kindText && !blank(b.text), "the system text holds a blank text or something else than text")
	}
}

// tools checks the tools member. Tools of the provider's own, which have a type
// and no schema, are not looked into.
func (v *validator) tools(raw []byte) {
	if raw == nil {
		return
	}
	if !v.value(RuleTools, -1, raw, "the list of tools") || !v.is(RuleTools, -1, jsonx.IsArray(raw), "tools must be an array") {
		return
	}
	seen := map[string]bool{}
	one := func(def []byte, schema string) {
		name := v.str(-1, def, "name")
		v.toolName(RuleTools, -1, name)
		v.is(RuleTools, -1, !seen[name], "two tools have the name "+name)
		seen[name] = true
		v.is(RuleTools, -1, jsonx.IsObject(jsonx.Get(def, schema)), "tool "+name+" has no schema")
	}
	jsonx.Elements(raw, func(tool []byte) bool {
		typ, _ := jsonx.String(jsonx.Get(tool, "type"))
		switch v.p.form {
		case formAnthropic:
			if typ == "" || typ == "custom" {
				one(tool, "input_schema")
			}
		case formChat:
			if v.is(RuleTools, -1, typ == "function", "a tool is no function") {
				one(jsonx.Get(tool, "function"), "parameters")
			}
		case formResponses:
			if typ == "function" {
				one(tool, "parameters")
			}
		case formGemini:
			jsonx.Elements(jsonx.Get(tool, "functionDeclarations"), func(d []byte) bool {
				one(d, "parametersJsonSchema")
				return true
			})
		case formPi, formNone:
			v.fail(RuleTools, -1, "pi's list has no tools beside the messages")
		}
		return true
	})
}
