package modeltest

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/wire"
)

// The generateContent API: https://ai.google.dev/api/generate-content.

func geminiForm() *form {
	return &form{
		profile: wire.Gemini, read: readGemini,
		hasKey: func(h http.Header) bool { return h.Get("X-Goog-Api-Key") != "" },
		counted: func(n int64) []byte {
			var o jsonx.Object
			o.Int("totalTokens", n)
			return o.Bytes()
		},
		whole: func(a *answer) []byte {
			return a.geminiChunk(a.geminiParts(), geminiStop(a.finish), true)
		},
		frames: geminiFrames, tail: func(*answer) int { return 1 },
		failure: geminiError, errorBody: (*apiError).geminiBody,
		errorFrames: func(e *apiError) []frame { return []frame{{"", string(e.geminiBody())}} },
		tooLarge: func() *Failure {
			return &Failure{Kind: model.KindInvalid, Message: "Request payload size exceeds the limit: 104857600 bytes."}
		},
	}
}

func readGemini(r *http.Request, body []byte, req *request) (bad []string) {
	_, last, _ := strings.Cut(r.URL.Path, "/models/")
	name, method, _ := strings.Cut(last, ":")
	req.model = name
	req.stream = method == "streamGenerateContent"
	req.array = req.stream && r.URL.Query().Get("alt") != "sse"
	if r.URL.Query().Has("key") {
		bad = append(bad, "the key stands in the address")
	}
	if method == "countTokens" {
		return bad
	}
	for _, key := range []string{"model", "stream", "messages"} {
		if jsonx.Get(body, key) != nil {
			bad = append(bad, "Invalid JSON payload received. Unknown name \""+key+"\"")
		}
	}
	return bad
}

func geminiStop(f model.Finish) string {
	switch f {
	case model.FinishLength, model.FinishWindow:
		return "MAX_TOKENS"
	case model.FinishRefusal:
		return "SAFETY"
	case model.FinishBadCall:
		return "MALFORMED_FUNCTION_CALL"
	default:
		return "STOP"
	}
}

func geminiText(text string, thought bool, sig string) []byte {
	var o jsonx.Object
	o.Str("text", text)
	if thought {
		o.Bool("thought", true)
	}
	o.OptStr("thoughtSignature", sig)
	return o.Bytes()
}

func geminiCall(b *message.Block) []byte {
	var call, o jsonx.Object
	call.OptStr("id", b.ID)
	call.Str("name", b.Name)
	if json.Valid(b.Arguments) {
		call.Raw("args", b.Arguments)
	}
	o.Raw("functionCall", call.Bytes())
	o.OptStr("thoughtSignature", b.Signature)
	return o.Bytes()
}

func (a *answer) geminiParts() (out [][]byte) {
	for i := range a.blocks {
		b := &a.blocks[i]
		switch b.Type {
		case message.BlockText:
			out = append(out, geminiText(b.Text, false, b.Signature))
		case message.BlockThinking:
			out = append(out, geminiText(b.Text, true, ""))
		case message.BlockToolCall:
			out = append(out, geminiCall(b))
		default:
			out = append(out, b.Raw())
		}
	}
	for _, raw := range a.raw {
		out = append(out, raw)
	}
	return out
}

// geminiChunk writes a response with some parts.
func (a *answer) geminiChunk(parts [][]byte, finish string, last bool) []byte {
	var content, cand, u, o jsonx.Object
	if len(parts) > 0 {
		list := []byte{'['}
		for i, p := range parts {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, p...)
		}
		content.Raw("parts", append(list, ']'))
	}
	content.Str("role", "model")
	cand.Raw("content", content.Bytes())
	cand.OptStr("finishReason", finish)
	if last {
		cand.OptStr("finishMessage", a.refusal)
	}
	cand.Int("index", 0)
	o.Raw("candidates", append(append([]byte{'['}, cand.Bytes()...), ']'))
	u.Int("promptTokenCount", a.usage.Prompt())
	if last {
		u.Int("candidatesTokenCount", a.usage.Output-a.usage.Reasoning)
		if a.usage.Reasoning > 0 {
			u.Int("thoughtsTokenCount", a.usage.Reasoning)
		}
	}
	u.Int("totalTokenCount", a.usage.Prompt()+a.usage.Output)
	if a.usage.CacheRead > 0 {
		u.Int("cachedContentTokenCount", a.usage.CacheRead)
	}
	o.Raw("usageMetadata", u.Bytes())
	o.Str("modelVersion", a.model)
	o.Str("responseId", a.id)
	return a.withExtra(o.Bytes())
}

func geminiFrames(a *answer) (out []frame) {
	add := func(part []byte) {
		out = append(out, frame{"", string(a.geminiChunk([][]byte{part}, "", false))})
	}
	for i := range a.blocks {
		b := &a.blocks[i]
		switch b.Type {
		case message.BlockText:
			for _, p := range pieces(b.Text) {
				add(geminiText(p, false, ""))
			}
			if b.Signature != "" { // the API puts it on a part of its own
				add(geminiText("", false, b.Signature))
			}
		case message.BlockThinking:
			for _, p := range pieces(b.Text) {
				add(geminiText(p, true, ""))
			}
		case message.BlockToolCall:
			add(geminiCall(b))
		default:
			add(b.Raw())
		}
	}
	for _, raw := range a.raw {
		add(raw)
	}
	return append(out, frame{"", string(a.geminiChunk(nil, geminiStop(a.finish), true))})
}
