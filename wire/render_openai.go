package wire

import (
	"encoding/json"
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
)

// openAI writes a list for one of the APIs of OpenAI: Chat Completions, where a message
// holds all of a turn, or Responses, where each part of an answer is an item.
// https://platform.openai.com/docs/api-reference
func (w *writer) openAI(l *List, message func(role string, parts []Part) json.RawMessage) {
	for i := range l.Turns {
		t := &l.Turns[i]
		switch {
		case t.Kind == TurnSystem:
			w.add(t, message(w.p.SystemRole, t.Parts))
		case t.Kind == TurnAssistant && w.p.form == formChat:
			w.add(t, w.chatAnswer(t.Parts))
		case t.Kind == TurnAssistant, t.Kind == TurnResults:
			for k := range t.Parts {
				w.addPart(&t.Parts[k])
			}
		default:
			w.add(t, message("user", t.Parts))
		}
	}
}

// addPart appends a message that holds one part.
func (w *writer) addPart(p *Part) {
	item := w.responsesItem
	if w.p.form == formChat {
		item = w.chatResult
	}
	w.add(&Turn{Parts: []Part{{From: p.From}}}, item(p))
}

func (w *writer) chat(l *List) {
	if l.System != "" {
		w.addFrom(w.chatMessage(w.p.SystemRole, []Part{{Kind: PartText, Text: jsonx.Quote(l.System)}}))
	}
	w.r.Tools = w.tools(l, func(e *encoder, d toolDefinition) {
		e.str("type", "function").object("function")
		e.str("name", d.name).opt("description", d.description).raw("parameters", d.parameters).close("}")
	})
	w.openAI(l, w.chatMessage)
}

// chatMessage writes the content as a string where it can, for servers that
// know nothing else.
func (w *writer) chatMessage(role string, parts []Part) json.RawMessage {
	e := w.e.begin(room(parts)).open('{').str("role", role)
	if len(parts) == 1 && parts[0].Kind == PartText {
		return e.raw("content", parts[0].Text).close("}").end()
	}
	e.array("content")
	for i := range parts {
		if p := &parts[i]; p.Kind == PartImage {
			e.open('{').str("type", "image_url").object("image_url").dataURL("url", p).close("}}")
		} else {
			e.open('{').str("type", "text").raw("text", p.Text).close("}")
		}
	}
	return e.close("]}").end()
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

func (w *writer) responses(l *List) {
	if l.System != "" {
		w.r.System = jsonx.Quote(l.System)
	}
	w.r.Tools = w.tools(l, func(e *encoder, d toolDefinition) {
		e.str("type", "function").str("name", d.name).opt("description", d.description).raw("parameters", d.parameters)
		e.raw("strict", []byte("false")) // the default is strict, which refuses most schemas
	})
	w.openAI(l, w.responsesMessage)
}

func (w *writer) responsesMessage(role string, parts []Part) json.RawMessage {
	e := w.e.begin(room(parts)).open('{').str("type", "message").str("role", role)
	return responsesContent(e, "content", parts).close("}").end()
}

func responsesContent(e *encoder, key string, parts []Part) *encoder {
	e.array(key)
	for i := range parts {
		if p := &parts[i]; p.Kind == PartImage {
			e.open('{').str("type", "input_image").str("detail", "auto").dataURL("image_url", p).close("}")
		} else {
			e.open('{').str("type", "input_text").raw("text", p.Text).close("}")
		}
	}
	return e.close("]")
}

func (w *writer) responsesItem(p *Part) json.RawMessage {
	if p.Kind == PartThinking || p.Kind == PartOpaque || p.Kind == PartStored {
		return p.Raw
	}
	e := w.e.begin(room([]Part{*p})).open('{')
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
		if slices.ContainsFunc(p.Content, func(c Part) bool { return c.Kind == PartImage }) {
			responsesContent(e, "output", p.Content)
		} else {
			e.texts("output", p.Content)
		}
	case PartImage, PartThinking, PartOpaque, PartStored:
	}
	return e.close("}").end()
}
