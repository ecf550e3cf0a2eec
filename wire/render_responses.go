package wire

import (
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
)

// responses writes a list as the input of the Responses API, one item for each
// part of an answer: https://platform.openai.com/docs/api-reference/responses/create.
func (w *writer) responses(l *List) {
	if l.System != "" {
		w.r.System = jsonx.Quote(l.System)
	}
	w.r.Tools = w.tools(l, func(d toolDefinition) []byte {
		var o jsonx.Object
		o.Str("type", "function")
		o.Str("name", d.name)
		o.OptStr("description", d.description)
		o.Raw("parameters", d.parameters)
		// The default is strict, which refuses most schemas.
		o.Bool("strict", false)
		return o.Bytes()
	})
	for i := range l.Turns {
		t := &l.Turns[i]
		switch t.Kind {
		case TurnAssistant, TurnResults:
			for k := range t.Parts {
				w.addPart(&t.Parts[k], responsesItem(&t.Parts[k]))
			}
		case TurnSystem:
			w.add(t, responsesMessage(w.p.SystemRole, responsesContent(t.Parts)))
		case TurnUser, TurnStored:
			w.add(t, responsesMessage("user", responsesContent(t.Parts)))
		}
	}
}

func responsesMessage(role string, content []byte) []byte {
	var o jsonx.Object
	o.Str("type", "message")
	o.Str("role", role)
	o.Raw("content", content)
	return o.Bytes()
}

func responsesContent(parts []Part) []byte {
	var arr array
	for i := range parts {
		var o jsonx.Object
		if parts[i].Kind == PartImage {
			o.Str("type", "input_image")
			o.Str("detail", "auto")
			o.Raw("image_url", dataURL(&parts[i]))
		} else {
			o.Str("type", "input_text")
			o.Raw("text", parts[i].Text)
		}
		arr.add(o.Bytes())
	}
	return arr.bytes()
}

func responsesItem(p *Part) []byte {
	var o jsonx.Object
	switch p.Kind {
	case PartText:
		var text jsonx.Object
		text.Str("type", "output_text")
		text.Raw("text", p.Text)
		text.Raw("annotations", []byte("[]"))
		var arr array
		arr.add(text.Bytes())
		o.Str("type", "message")
		o.Str("role", "assistant")
		o.Raw("content", arr.bytes())
		if p.ItemID != "" {
			o.Str("id", p.ItemID)
			o.Str("status", "completed")
		}
		o.OptStr("phase", p.Phase)
	case PartCall:
		o.Str("type", "function_call")
		o.OptStr("id", p.ItemID)
		o.Str("call_id", p.ID)
		o.Str("name", p.Name)
		o.Str("arguments", string(p.Arguments))
	case PartResult:
		o.Str("type", "function_call_output")
		o.Str("call_id", p.ID)
		if slices.ContainsFunc(p.Content, func(c Part) bool { return c.Kind == PartImage }) {
			o.Raw("output", responsesContent(p.Content))
		} else {
			o.Raw("output", joinText(p.Content))
		}
	case PartThinking, PartOpaque, PartStored, PartImage:
		return p.Raw
	}
	return o.Bytes()
}
