package modeltest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
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
			if b := &a.blocks[i]; b.Type == message.BlockThinking {
				give(b, b.Text)
			}
		}
	}
}

// checkSignatures finds signatures that do not stand where they were given.
func (s *Server) checkSignatures(f *form, req *request) (bad []string) {
	open := req.openLoop()
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

// openLoop is the first message of the open tool loop in a request of Anthropic's form:
// the answers and results after the last text of the user, where the last message is a
// result.
func (r *request) openLoop() int {
	msgs := r.parts.Messages
	if len(msgs) == 0 || !onlyResults(msgs[len(msgs)-1]) {
		return len(msgs)
	}
	open := len(msgs) - 1
	for open > 0 && (onlyResults(msgs[open]) || role(msgs[open]) == "assistant") {
		open--
	}
	return open
}

func role(m []byte) string {
	s, _ := jsonx.String(jsonx.Get(m, "role"))
	return s
}

// onlyResults reports whether a message has results of tools and nothing else.
func onlyResults(m []byte) bool {
	n, others := 0, 0
	jsonx.Elements(jsonx.Get(m, "content"), func(b []byte) bool {
		if t, _ := jsonx.String(jsonx.Get(b, "type")); t == "tool_result" {
			n++
		} else {
			others++
		}
		return true
	})
	return n > 0 && others == 0
}

func summaryText(item []byte) (text string) {
	jsonx.Elements(jsonx.Get(item, "summary"), func(p []byte) bool {
		t, _ := jsonx.String(jsonx.Get(p, "text"))
		text += t
		return true
	})
	return text
}
