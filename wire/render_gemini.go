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
		e := &encoder{}
		e.open('{')
		e.array("parts")
		geminiPart(e, &Part{Kind: PartText, Text: jsonx.Quote(l.System)}, "")
		e.close(']')
		e.close('}')
		w.r.System = e.buf
	}
	if decls := w.tools(l, func(e *encoder, d toolDefinition) {
		e.str("name", d.name)
		e.opt("description", d.description)
		e.raw("parametersJsonSchema", d.parameters)
	}); decls != nil {
		e := &encoder{}
		e.open('[')
		e.open('{')
		e.raw("functionDeclarations", decls)
		e.close('}')
		e.close(']')
		w.r.Tools = e.buf
	}
	for i := range l.Turns {
		t := &l.Turns[i]
		e := &w.e
		e.begin(room(t.Parts))
		e.open('{')
		if t.Kind == TurnAssistant {
			e.str("role", "model")
		} else {
			e.str("role", "user")
		}
		e.array("parts")
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
			geminiPart(e, p, sig)
		}
		e.close(']')
		e.close('}')
		w.add(t, e.end())
	}
}

func geminiPart(e *encoder, p *Part, signature string) {
	if p.Kind == PartOpaque || p.Kind == PartStored {
		e.element(p.Raw)
		return
	}
	e.open('{')
	switch p.Kind {
	case PartText:
		e.raw("text", p.Text)
	case PartImage:
		e.object("inlineData")
		e.str("mimeType", p.MIMEType)
		e.raw("data", p.Data)
		e.close('}')
	case PartThinking:
		e.raw("text", p.Text)
		e.raw("thought", []byte("true"))
	case PartCall:
		e.object("functionCall")
		e.str("id", p.ID)
		e.str("name", p.Name)
		e.raw("args", p.Arguments)
		e.close('}')
	case PartResult:
		geminiResult(e, p)
	case PartOpaque, PartStored:
	}
	e.opt("thoughtSignature", signature)
	e.close('}')
}

func geminiResult(e *encoder, p *Part) {
	texts, images := splitImages(p.Content)
	e.object("functionResponse")
	e.str("id", p.ID)
	e.str("name", p.Name)
	e.object("response")
	if p.IsError {
		e.texts("error", texts)
	} else {
		e.texts("output", texts)
	}
	e.close('}')
	if len(images) > 0 {
		e.array("parts")
		for i := range images {
			geminiPart(e, &images[i], "")
		}
		e.close(']')
	}
	e.close('}')
}
