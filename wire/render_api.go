package wire

import (
	"encoding/json"
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
)

// The APIs that have each turn as one message of blocks: the Messages API and Gemini.

func (w *writer) blocks(assistant, member string, block func(e *encoder, parts []Part, k int)) func(*Turn) {
	return func(t *Turn) {
		role := "user"
		if t.Kind == TurnAssistant {
			role = assistant
		}
		e := w.e.begin(room(t.Parts)).open('{').str("role", role).array(member)
		for k := range t.Parts {
			if raw := t.Parts[k].Raw; raw != nil {
				e.element(raw)
			} else {
				block(e, t.Parts, k)
			}
		}
		w.add(t.Parts, e.close("]}").end())
	}
}

// https://platform.claude.com/docs/en/api/messages
func (w *writer) anthropic(l *List) func(*Turn) {
	if l.System != "" {
		w.r.System = w.head.begin(len(l.System)).open('[').open('{').str("type", "text").str("text", l.System).close("}]").end()
	}
	w.r.Tools = w.tools(l, func(e *encoder, d toolDefinition) {
		e.str("name", d.name).opt("description", d.description).raw("input_schema", d.parameters)
	})
	return w.blocks("assistant", "content", anthropicBlock)
}

func anthropicBlock(e *encoder, parts []Part, k int) {
	e.open('{')
	switch p := &parts[k]; p.Kind {
	case PartText:
		e.str("type", "text").raw("text", p.Text)
	case PartImage:
		e.str("type", "image").object("source").str("type", "base64").str("media_type", p.MIMEType).raw("data", p.Data).close("}")
	case PartThinking:
		if p.Redacted {
			e.str("type", "redacted_thinking").str("data", p.Signature)
		} else {
			e.str("type", "thinking").raw("thinking", p.Text).str("signature", p.Signature)
		}
	case PartCall:
		e.str("type", "tool_use").str("id", p.ID).str("name", p.Name).raw("input", p.Arguments)
	case PartResult:
		e.str("type", "tool_result").str("tool_use_id", p.ID).array("content")
		for i := range p.Content {
			anthropicBlock(e, p.Content, i)
		}
		e.close("]")
		if p.IsError {
			e.raw("is_error", []byte("true"))
		}
	default:
	}
	e.close("}")
}

// noSignature stands for the signature that Gemini 3 wants on the first call of
// an answer, where the answer is of another model or has lost it:
// https://ai.google.dev/gemini-api/docs/thought-signatures.
const noSignature = "skip_thought_signature_validator"

// https://ai.google.dev/api/generate-content
func (w *writer) gemini(l *List) func(*Turn) {
	if l.System != "" {
		w.r.System = w.head.begin(len(l.System)).open('{').array("parts").open('{').str("text", l.System).close("}]}").end()
	}
	if decls := w.tools(l, func(e *encoder, d toolDefinition) {
		e.str("name", d.name).opt("description", d.description).raw("parametersJsonSchema", d.parameters)
	}); decls != nil {
		w.r.Tools = w.head.begin(len(decls)).open('[').open('{').raw("functionDeclarations", decls).close("}]").end()
	}
	signs := geminiMajor(w.t.Model) >= 3
	return w.blocks("model", "parts", func(e *encoder, parts []Part, k int) {
		sig := parts[k].Signature
		if signs && sig == "" && parts[k].Kind == PartCall && !slices.ContainsFunc(parts[:k], func(p Part) bool { return p.Kind == PartCall }) {
			sig = noSignature
		}
		geminiPart(e, &parts[k], sig)
	})
}

func geminiPart(e *encoder, p *Part, signature string) {
	e.open('{')
	switch p.Kind {
	case PartText:
		e.raw("text", p.Text)
	case PartImage:
		e.object("inlineData").str("mimeType", p.MIMEType).raw("data", p.Data).close("}")
	case PartThinking:
		e.raw("text", p.Text).raw("thought", []byte("true"))
	case PartCall:
		e.object("functionCall").str("id", p.ID).str("name", p.Name).raw("args", p.Arguments).close("}")
	case PartResult:
		texts, images := splitImages(p.Content)
		member := "output"
		if p.IsError {
			member = "error"
		}
		e.object("functionResponse").str("id", p.ID).str("name", p.Name).object("response").texts(member, texts).close("}")
		if len(images) > 0 {
			e.array("parts")
			for i := range images {
				geminiPart(e, &images[i], "")
			}
			e.close("]")
		}
		e.close("}")
	default:
	}
	e.opt("thoughtSignature", signature).close("}")
}

type toolDefinition struct {
	name, description string
	parameters        []byte // an object whose type is "object"
}

func (w *writer) tool(raw []byte) (d toolDefinition) {
	d.name, _ = w.p.toolName(jsonx.StringAt(raw, "name"))
	d.description = jsonx.StringAt(raw, "description")
	d.parameters = jsonx.Clean(jsonx.Get(raw, "parameters"))
	if !jsonx.IsObject(d.parameters) {
		d.parameters = []byte(`{"type":"object","properties":{}}`)
	} else if jsonx.StringAt(d.parameters, "type") != "object" {
		d.parameters = jsonx.Set(d.parameters, "type", []byte(`"object"`))
	}
	if !jsonx.IsObject(jsonx.Get(d.parameters, "properties")) { // OpenAI: "object schema missing properties"
		d.parameters = jsonx.Set(d.parameters, "properties", []byte("{}"))
	}
	return d
}

func (w *writer) tools(l *List, write func(e *encoder, d toolDefinition)) []byte {
	if len(l.Tools) == 0 {
		return nil
	}
	e := w.head.begin(0).open('[')
	for _, raw := range l.Tools {
		e.open('{')
		write(e, w.tool(raw))
		e.close("}")
	}
	return e.close("]").end()
}

// openAI writes a list for one of the APIs of OpenAI: Chat Completions, where a message
// holds all of a turn, or Responses, where each part of an answer is an item.
// https://platform.openai.com/docs/api-reference
func (w *writer) openAI(item func(p *Part) json.RawMessage) func(*Turn) {
	return func(t *Turn) {
		switch {
		case t.Kind == TurnSystem:
			w.add(t.Parts, w.message(w.p.SystemRole, t.Parts))
		case t.Kind == TurnAssistant && w.p.form == formChat:
			w.add(t.Parts, w.chatAnswer(t.Parts))
		case t.Kind == TurnAssistant, t.Kind == TurnResults:
			for k := range t.Parts {
				w.add(t.Parts[k:k+1], item(&t.Parts[k]))
			}
		default:
			w.add(t.Parts, w.message("user", t.Parts))
		}
	}
}

func (w *writer) chat(l *List) func(*Turn) {
	if l.System != "" {
		w.add(nil, w.message(w.p.SystemRole, []Part{{Kind: PartText, Text: jsonx.Quote(l.System)}}))
	}
	w.r.Tools = w.tools(l, func(e *encoder, d toolDefinition) {
		e.str("type", "function").object("function")
		e.str("name", d.name).opt("description", d.description).raw("parameters", d.parameters).close("}")
	})
	return w.openAI(w.chatResult)
}

// message writes the content for Chat Completions as a string where it can, for servers
// that know nothing else.
func (w *writer) message(role string, parts []Part) json.RawMessage {
	e := w.e.begin(room(parts)).open('{')
	if w.p.form == formResponses {
		e.str("type", "message")
	}
	e.str("role", role)
	if w.p.form == formChat && len(parts) == 1 && parts[0].Kind == PartText {
		e.raw("content", parts[0].Text)
	} else {
		w.content(e, "content", parts)
	}
	return e.close("}").end()
}

// content writes a member with texts and images.
func (w *writer) content(e *encoder, key string, parts []Part) {
	e.array(key)
	text := "input_text"
	if w.p.form == formChat {
		text = "text"
	}
	for i := range parts {
		switch p := &parts[i]; {
		case p.Kind != PartImage:
			e.open('{').str("type", text).raw("text", p.Text).close("}")
		case w.p.form == formChat:
			e.open('{').str("type", "image_url").object("image_url").dataURL("url", p).close("}}")
		default:
			e.open('{').str("type", "input_image").str("detail", "auto").dataURL("image_url", p).close("}")
		}
	}
	e.close("]")
}

func (w *writer) chatResult(p *Part) json.RawMessage {
	return w.e.begin(room(p.Content)).open('{').str("role", "tool").str("tool_call_id", p.ID).texts("content", p.Content).close("}").end()
}

func (w *writer) chatAnswer(parts []Part) json.RawMessage {
	of := func(kind PartKind) []Part {
		return slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Kind != kind })
	}
	texts, thoughts, calls := of(PartText), of(PartThinking), of(PartCall)
	e := w.e.begin(room(parts)).open('{').str("role", "assistant")
	if len(texts) > 0 {
		e.texts("content", texts)
	} else {
		e.raw("content", []byte("null"))
	}
	if len(thoughts) > 0 {
		e.texts(thoughts[0].Signature, thoughts)
	}
	if len(calls) > 0 {
		e.array("tool_calls")
		for i := range calls {
			e.open('{').str("id", calls[i].ID).str("type", "function").object("function")
			e.str("name", calls[i].Name).str("arguments", string(calls[i].Arguments)).close("}}")
		}
		e.close("]")
	}
	return e.close("}").end()
}

func (w *writer) responses(l *List) func(*Turn) {
	if l.System != "" {
		w.r.System = jsonx.Quote(l.System)
	}
	w.r.Tools = w.tools(l, func(e *encoder, d toolDefinition) {
		e.str("type", "function").str("name", d.name).opt("description", d.description).raw("parameters", d.parameters)
		e.raw("strict", []byte("false")) // the default is strict, which refuses most schemas
	})
	return w.openAI(w.responsesItem)
}

func (w *writer) responsesItem(p *Part) json.RawMessage {
	e := w.e.begin(room([]Part{*p}))
	if p.Raw != nil {
		e.element(p.Raw)
		return e.end()
	}
	e.open('{')
	switch p.Kind {
	case PartText:
		e.str("type", "message").str("role", "assistant").array("content")
		e.open('{').str("type", "output_text").raw("text", p.Text).raw("annotations", []byte("[]")).close("}]")
		if p.ItemID != "" {
			e.str("id", p.ItemID).str("status", "completed")
		}
		e.opt("phase", p.Phase)
	case PartCall:
		e.str("type", "function_call").opt("id", p.ItemID).str("call_id", p.ID).str("name", p.Name).str("arguments", string(p.Arguments))
	case PartResult:
		e.str("type", "function_call_output").str("call_id", p.ID)
		if slices.ContainsFunc(p.Content, isImage) {
			w.content(e, "output", p.Content)
		} else {
			e.texts("output", p.Content)
		}
	default:
	}
	return e.close("}").end()
}
