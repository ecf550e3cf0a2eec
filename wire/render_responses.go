package wire

import (
	"encoding/json"
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
)

// responses writes a list as the input of the Responses API, one item for each
// part of an answer: https://platform.openai.com/docs/api-reference/responses/create.
func (w *writer) responses(l *List) {
	if l.System != "" {
		w.r.System = jsonx.Quote(l.System)
	}
	w.r.Tools = w.tools(l, func(e *encoder, d toolDefinition) {
		e.str("type", "function")
		e.str("name", d.name)
		e.opt("description", d.description)
		e.raw("parameters", d.parameters)
		// The default is strict, which refuses most schemas.
		e.raw("strict", []byte("false"))
	})
	for i := range l.Turns {
		t := &l.Turns[i]
		switch t.Kind {
		case TurnAssistant, TurnResults:
			for k := range t.Parts {
				w.addPart(&t.Parts[k], w.responsesItem(&t.Parts[k]))
			}
		case TurnSystem:
			w.add(t, w.responsesMessage(w.p.SystemRole, t.Parts))
		case TurnUser, TurnStored:
			w.add(t, w.responsesMessage("user", t.Parts))
		}
	}
}

func (w *writer) responsesMessage(role string, parts []Part) json.RawMessage {
	e := &w.e
	e.begin(room(parts))
	e.open('{')
	e.str("type", "message")
	e.str("role", role)
	responsesContent(e, "content", parts)
	e.close('}')
	return e.end()
}

func responsesContent(e *encoder, key string, parts []Part) {
	e.array(key)
	for i := range parts {
		e.open('{')
		if parts[i].Kind == PartImage {
			e.str("type", "input_image")
			e.str("detail", "auto")
			e.dataURL("image_url", &parts[i])
		} else {
			e.str("type", "input_text")
			e.raw("text", parts[i].Text)
		}
		e.close('}')
	}
	e.close(']')
}

func (w *writer) responsesItem(p *Part) json.RawMessage {
	if p.Kind == PartThinking || p.Kind == PartOpaque || p.Kind == PartStored {
		return p.Raw
	}
	e := &w.e
	e.begin(room([]Part{*p}))
	e.open('{')
	switch p.Kind {
	case PartText:
		e.str("type", "message")
		e.str("role", "assistant")
		e.array("content")
		e.open('{')
		e.str("type", "output_text")
		e.raw("text", p.Text)
		e.raw("annotations", []byte("[]"))
		e.close('}')
		e.close(']')
		if p.ItemID != "" {
			e.str("id", p.ItemID)
			e.str("status", "completed")
		}
		e.opt("phase", p.Phase)
	case PartCall:
		e.str("type", "function_call")
		e.opt("id", p.ItemID)
		e.str("call_id", p.ID)
		e.str("name", p.Name)
		e.str("arguments", string(p.Arguments))
	case PartResult:
		e.str("type", "function_call_output")
		e.str("call_id", p.ID)
		if slices.ContainsFunc(p.Content, func(c Part) bool { return c.Kind == PartImage }) {
			responsesContent(e, "output", p.Content)
		} else {
			e.texts("output", p.Content)
		}
	case PartImage, PartThinking, PartOpaque, PartStored:
	}
	e.close('}')
	return e.end()
}
