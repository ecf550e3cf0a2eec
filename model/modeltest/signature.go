package modeltest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/wire"
)

// issue is a signature that was given, and for what.
type issue struct{ text, before string }

// sign signs reasoning, and for Gemini what a signature stands on there: the first
// call of an answer, or its last text.
func (s *Server) sign(f *form, req *request, a *answer) {
	before := req.before(len(req.parts.Messages))
	give := func(b *message.Block, text string) {
		if b.Signature == "" {
			sum := sha256.Sum256([]byte(fmt.Sprint(a.id, len(s.issued), text)))
			b.Signature = base64.StdEncoding.EncodeToString(sum[:])
		}
		s.issued[b.Signature] = issue{text, before}
	}
	switch f.profile.Name {
	case "gemini":
		last := -1
		for i := range a.blocks {
			b := &a.blocks[i]
			if b.Type == message.BlockToolCall {
				give(b, "")
				return
			}
			if b.Type == message.BlockText {
				last = i
			}
		}
		if last >= 0 {
			give(&a.blocks[last], a.blocks[last].Text)
		}
	case "openai-chat":
	default:
		for i := range a.blocks {
			switch b := &a.blocks[i]; b.Type {
			case message.BlockThinking:
				give(b, b.Text)
			case message.BlockToolCall:
				s.thought[b.ID] = a.blocks[0].Type == message.BlockThinking
			default:
			}
		}
	}
}

// checkSignatures finds signatures that do not stand where they were given.
func (s *Server) checkSignatures(f *form, req *request) (bad []string) {
	open := req.parts.OpenLoop()
	check := func(i int, sig, text string) {
		got, known := s.issued[sig]
		switch {
		case sig == "" || !known && s.c.ForeignSignatures:
		case !known:
			bad = append(bad, fmt.Sprintf("message %d: a signature that was never given", i))
		case got.text != text:
			bad = append(bad, fmt.Sprintf("message %d: signed text was changed", i))
		case s.c.BindThinking && f.profile.Name == "anthropic" && i < open && got.before != req.before(i):
			bad = append(bad, fmt.Sprintf("message %d: what stands before signed reasoning was changed", i))
		}
	}
	str := func(obj []byte, key string) string {
		v, _ := jsonx.String(jsonx.Get(obj, key))
		return v
	}
	for i, m := range req.parts.Messages {
		switch f.profile.Name {
		case "anthropic":
			jsonx.Elements(jsonx.Get(m, "content"), func(b []byte) bool {
				switch str(b, "type") {
				case "tool_use":
					if req.thinks && i >= open && s.thought[str(b, "id")] && !wire.Thinks(m) {
						bad = append(bad, fmt.Sprintf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`: "+
							"in an open tool loop an assistant message must come back with its thinking", i))
					}
				case "thinking":
					check(i, str(b, "signature"), str(b, "thinking"))
				case "redacted_thinking":
					check(i, str(b, "data"), "")
				}
				return true
			})
		case "openai-responses":
			if str(m, "type") == "reasoning" {
				check(i, str(m, "encrypted_content"), summaryText(m))
			}
		case "gemini":
			jsonx.Elements(jsonx.Get(m, "parts"), func(p []byte) bool {
				if sig := str(p, "thoughtSignature"); sig != "skip_thought_signature_validator" {
					check(i, sig, str(p, "text"))
				}
				return true
			})
		}
	}
	return bad
}

func summaryText(item []byte) (text string) {
	jsonx.Elements(jsonx.Get(item, "summary"), func(p []byte) bool {
		t, _ := jsonx.String(jsonx.Get(p, "text"))
		text += t
		return true
	})
	return text
}
