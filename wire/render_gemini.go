package wire

import "github.com/clew-dev/clew/internal/jsonx"

// noSignature stands for the signature that Gemini 3 wants on the first call of
// an answer, where the answer is of another model or has lost it:
// https://ai.google.dev/gemini-api/docs/thought-signatures.
const noSignature = "skip_thought_signature_validator"

// gemini writes a list for generateContent:
// https://ai.google.dev/api/generate-content.
func (w *writer) gemini(l *List) {
	if l.System != "" {
		w.r.System = geminiParts([][]byte{geminiText(jsonx.Quote(l.System))})
	}
	if decls := w.tools(l, func(d toolDefinition) []byte {
		var o jsonx.Object
		o.Str("name", d.name)
		o.OptStr("description", d.description)
		o.Raw("parametersJsonSchema", d.parameters)
		return o.Bytes()
	}); decls != nil {
		var o jsonx.Object
		o.Raw("functionDeclarations", decls)
		var arr array
		arr.add(o.Bytes())
		w.r.Tools = arr.bytes()
	}
	for i := range l.Turns {
		t := &l.Turns[i]
		var o jsonx.Object
		role := "user"
		if t.Kind == TurnAssistant {
			role = "model"
		}
		o.Str("role", role)
		var arr array
		calls := 0
		for k := range t.Parts {
			p := &t.Parts[k]
			sig := p.Signature
			if p.Kind == PartCall {
				if calls == 0 && sig == "" && geminiMajor(w.t.Model) >= 3 {
					sig = noSignature
				}
				calls++
			}
			arr.add(geminiPart(p, sig))
		}
		o.Raw("parts", arr.bytes())
		w.add(t, o.Bytes())
	}
}

func geminiParts(parts [][]byte) []byte {
	var arr array
	for _, p := range parts {
		arr.add(p)
	}
	var o jsonx.Object
	o.Raw("parts", arr.bytes())
	return o.Bytes()
}

func geminiPart(p *Part, signature string) []byte {
	var o jsonx.Object
	switch p.Kind {
	case PartText:
		o.Raw("text", p.Text)
	case PartImage:
		return geminiImage(p)
	case PartThinking:
		o.Raw("text", p.Text)
		o.Bool("thought", true)
	case PartCall:
		var f jsonx.Object
		f.Str("id", p.ID)
		f.Str("name", p.Name)
		f.Raw("args", p.Arguments)
		o.Raw("functionCall", f.Bytes())
	case PartResult:
		var f, resp jsonx.Object
		key := "output"
		if p.IsError {
			key = "error"
		}
		texts, images := splitImages(p.Content)
		resp.Raw(key, joinText(texts))
		f.Str("id", p.ID)
		f.Str("name", p.Name)
		f.Raw("response", resp.Bytes())
		if len(images) > 0 {
			var arr array
			for i := range images {
				arr.add(geminiImage(&images[i]))
			}
			f.Raw("parts", arr.bytes())
		}
		o.Raw("functionResponse", f.Bytes())
	case PartOpaque, PartStored:
		return p.Raw
	}
	o.OptStr("thoughtSignature", signature)
	return o.Bytes()
}

func geminiText(text []byte) []byte {
	var o jsonx.Object
	o.Raw("text", text)
	return o.Bytes()
}

func geminiImage(p *Part) []byte {
	var d, o jsonx.Object
	d.Str("mimeType", p.MIMEType)
	d.Raw("data", p.Data)
	o.Raw("inlineData", d.Bytes())
	return o.Bytes()
}
