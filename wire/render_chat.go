package wire

import (
	"encoding/json"
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
)

// chat writes a list for the Chat Completions API:
// https://platform.openai.com/docs/api-reference/chat/create.
func (w *writer) chat(l *List) {
	if l.System != "" {
		w.addFrom(w.chatMessage(w.p.SystemRole, []Part{{Kind: PartText, Text: jsonx.Quote(l.System)}}))
	}
	w.r.Tools = w.tools(l, func(e *encoder, d toolDefinition) {
		e.str("type", "function")
		e.object("function")
		e.str("name", d.name)
		e.opt("description", d.description)
		e.raw("parameters", d.parameters)
		e.close('}')
	})
	for i := range l.Turns {
		t := &l.Turns[i]
		switch t.Kind {
		case TurnSystem:
			w.add(t, w.chatMessage(w.p.SystemRole, t.Parts))
		case TurnAssistant:
			w.add(t, w.chatAnswer(t.Parts))
		case TurnResults:
			for k := range t.Parts {
				w.addPart(&t.Parts[k], w.chatResult(&t.Parts[k]))
			}
		case TurnUser, TurnStored:
			w.add(t, w.chatMessage("user", t.Parts))
		}
	}
}

// chatMessage writes the content as a string where it can, for servers that
// know nothing else.
func (w *writer) chatMessage(role string, parts []Part) json.RawMessage {
	e := &w.e
	e.begin(room(parts))
	e.open('{')
	e.str("role", role)
	if len(parts) == 1 && parts[0].Kind == PartText {
		e.raw("content", parts[0].Text)
	} else {
		e.array("content")
		for i := range parts {
			e.open('{')
			if parts[i].Kind == PartImage {
				e.str("type", "image_url")
				e.object("image_url")
				e.dataURL("url", &parts[i])
				e.close('}')
			} else {
				e.str("type", "text")
				e.raw("text", parts[i].Text)
			}
			e.close('}')
		}
		e.close(']')
	}
	e.close('}')
	return e.end()
}

func (w *writer) chatResult(p *Part) json.RawMessage {
	e := &w.e
	e.begin(room(p.Content))
	e.open('{')
	e.str("role", "tool")
	e.str("tool_call_id", p.ID)
	e.texts("content", p.Content)
	e.close('}')
	return e.end()
}

func (w *writer) chatAnswer(parts []Part) json.RawMessage {
	texts, thoughts, calls := sortParts(parts)
	e := &w.e
	e.begin(room(parts))
	e.open('{')
	e.str("role", "assistant")
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
			e.open('{')
			e.str("id", calls[i].ID)
			e.str("type", "function")
			e.object("function")
			e.str("name", calls[i].Name)
			e.str("arguments", string(calls[i].Arguments))
			e.close('}')
			e.close('}')
		}
		e.close(']')
	}
	e.close('}')
	return e.end()
}

func sortParts(parts []Part) (texts, thoughts, calls []Part) {
	of := func(kind PartKind) []Part {
		return slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Kind != kind })
	}
	return of(PartText), of(PartThinking), of(PartCall)
}
