package wire

import (
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
)

// chat writes a list for the Chat Completions API:
// https://platform.openai.com/docs/api-reference/chat/create.
func (w *writer) chat(l *List) {
	if l.System != "" {
		w.addFrom(chatMessage(w.p.SystemRole, jsonx.Quote(l.System)))
	}
	w.r.Tools = w.tools(l, func(d toolDefinition) []byte {
		var f, o jsonx.Object
		f.Str("name", d.name)
		f.OptStr("description", d.description)
		f.Raw("parameters", d.parameters)
		o.Str("type", "function")
		o.Raw("function", f.Bytes())
		return o.Bytes()
	})
	for i := range l.Turns {
		t := &l.Turns[i]
		switch t.Kind {
		case TurnSystem:
			w.add(t, chatMessage(w.p.SystemRole, joinText(t.Parts)))
		case TurnAssistant:
			w.add(t, chatAnswer(t.Parts))
		case TurnResults:
			for k := range t.Parts {
				part := &t.Parts[k]
				var o jsonx.Object
				o.Str("role", "tool")
				o.Str("tool_call_id", part.ID)
				o.Raw("content", joinText(part.Content))
				w.addPart(part, o.Bytes())
			}
		case TurnUser, TurnStored:
			w.add(t, chatMessage("user", chatContent(t.Parts)))
		}
	}
}

func chatMessage(role string, content []byte) []byte {
	var o jsonx.Object
	o.Str("role", role)
	o.Raw("content", content)
	return o.Bytes()
}

// chatContent is a string where it can be, for servers that know no other.
func chatContent(parts []Part) []byte {
	if len(parts) == 1 && parts[0].Kind == PartText {
		return parts[0].Text
	}
	var arr array
	for i := range parts {
		var o jsonx.Object
		if parts[i].Kind == PartImage {
			var u jsonx.Object
			u.Raw("url", dataURL(&parts[i]))
			o.Str("type", "image_url")
			o.Raw("image_url", u.Bytes())
		} else {
			o.Str("type", "text")
			o.Raw("text", parts[i].Text)
		}
		arr.add(o.Bytes())
	}
	return arr.bytes()
}

func chatAnswer(parts []Part) []byte {
	var o jsonx.Object
	o.Str("role", "assistant")
	is := func(kind PartKind) func(Part) bool { return func(p Part) bool { return p.Kind == kind } }
	if slices.ContainsFunc(parts, is(PartText)) {
		o.Raw("content", joinText(parts))
	} else {
		o.Raw("content", []byte("null"))
	}
	var thoughts []Part
	var calls array
	for i := range parts {
		p := &parts[i]
		switch p.Kind {
		case PartThinking:
			thoughts = append(thoughts, Part{Kind: PartText, Text: p.Text, Signature: p.Signature})
		case PartCall:
			var f, c jsonx.Object
			f.Str("name", p.Name)
			f.Str("arguments", string(p.Arguments))
			c.Str("id", p.ID)
			c.Str("type", "function")
			c.Raw("function", f.Bytes())
			calls.add(c.Bytes())
		case PartText, PartImage, PartResult, PartOpaque, PartStored:
		}
	}
	if len(thoughts) > 0 {
		o.Raw(thoughts[0].Signature, joinText(thoughts))
	}
	if len(calls.buf) > 0 {
		o.Raw("tool_calls", calls.bytes())
	}
	return o.Bytes()
}
