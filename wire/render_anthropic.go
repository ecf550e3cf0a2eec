package wire

import "github.com/clew-dev/clew/internal/jsonx"

// anthropic writes a list for the Messages API:
// https://platform.claude.com/docs/en/api/messages.
func (w *writer) anthropic(l *List) {
	if l.System != "" {
		var arr array
		arr.add(anthropicText(jsonx.Quote(l.System)))
		w.r.System = arr.bytes()
	}
	w.r.Tools = w.tools(l, func(d toolDefinition) []byte {
		var o jsonx.Object
		o.Str("name", d.name)
		o.OptStr("description", d.description)
		o.Raw("input_schema", d.parameters)
		return o.Bytes()
	})
	for i := range l.Turns {
		t := &l.Turns[i]
		role := "user"
		if t.Kind == TurnAssistant {
			role = "assistant"
		}
		var o jsonx.Object
		o.Str("role", role)
		o.Raw("content", anthropicBlocks(t.Parts))
		w.add(t, o.Bytes())
	}
}

func anthropicBlocks(parts []Part) []byte {
	var arr array
	for i := range parts {
		arr.add(anthropicBlock(&parts[i]))
	}
	return arr.bytes()
}

func anthropicBlock(p *Part) []byte {
	var o jsonx.Object
	switch p.Kind {
	case PartText:
		return anthropicText(p.Text)
	case PartImage:
		var src jsonx.Object
		src.Str("type", "base64")
		src.Str("media_type", p.MIMEType)
		src.Raw("data", p.Data)
		o.Str("type", "image")
		o.Raw("source", src.Bytes())
	case PartThinking:
		if p.Redacted {
			o.Str("type", "redacted_thinking")
			o.Str("data", p.Signature)
			break
		}
		o.Str("type", "thinking")
		o.Raw("thinking", p.Text)
		o.Str("signature", p.Signature)
	case PartCall:
		o.Str("type", "tool_use")
		o.Str("id", p.ID)
		o.Str("name", p.Name)
		o.Raw("input", p.Arguments)
	case PartResult:
		o.Str("type", "tool_result")
		o.Str("tool_use_id", p.ID)
		o.Raw("content", anthropicBlocks(p.Content))
		if p.IsError {
			o.Bool("is_error", true)
		}
	case PartOpaque, PartStored:
		return p.Raw
	}
	return o.Bytes()
}

func anthropicText(text []byte) []byte {
	var o jsonx.Object
	o.Str("type", "text")
	o.Raw("text", text)
	return o.Bytes()
}
