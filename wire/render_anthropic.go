package wire

import "github.com/clew-dev/clew/internal/jsonx"

// anthropic writes a list for the Messages API:
// https://platform.claude.com/docs/en/api/messages.
func (w *writer) anthropic(l *List) {
	if l.System != "" {
		e := &encoder{}
		e.open('[')
		anthropicBlock(e, &Part{Kind: PartText, Text: jsonx.Quote(l.System)})
		e.close(']')
		w.r.System = e.buf
	}
	w.r.Tools = w.tools(l, func(e *encoder, d toolDefinition) {
		e.str("name", d.name)
		e.opt("description", d.description)
		e.raw("input_schema", d.parameters)
	})
	for i := range l.Turns {
		t := &l.Turns[i]
		e := &w.e
		e.begin(room(t.Parts))
		e.open('{')
		if t.Kind == TurnAssistant {
			e.str("role", "assistant")
		} else {
			e.str("role", "user")
		}
		e.array("content")
		for k := range t.Parts {
			anthropicBlock(e, &t.Parts[k])
		}
		e.close(']')
		e.close('}')
		w.add(t, e.end())
	}
}

func anthropicBlock(e *encoder, p *Part) {
	if p.Kind == PartOpaque || p.Kind == PartStored {
		e.element(p.Raw)
		return
	}
	e.open('{')
	switch p.Kind {
	case PartText:
		e.str("type", "text")
		e.raw("text", p.Text)
	case PartImage:
		e.str("type", "image")
		e.object("source")
		e.str("type", "base64")
		e.str("media_type", p.MIMEType)
		e.raw("data", p.Data)
		e.close('}')
	case PartThinking:
		if p.Redacted {
			e.str("type", "redacted_thinking")
			e.str("data", p.Signature)
			break
		}
		e.str("type", "thinking")
		e.raw("thinking", p.Text)
		e.str("signature", p.Signature)
	case PartCall:
		e.str("type", "tool_use")
		e.str("id", p.ID)
		e.str("name", p.Name)
		e.raw("input", p.Arguments)
	case PartResult:
		e.str("type", "tool_result")
		e.str("tool_use_id", p.ID)
		e.array("content")
		for i := range p.Content {
			anthropicBlock(e, &p.Content[i])
		}
		e.close(']')
		if p.IsError {
			e.raw("is_error", []byte("true"))
		}
	case PartOpaque, PartStored:
	}
	e.close('}')
}
