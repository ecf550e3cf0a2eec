package compact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// piHash is how pi's answers name a text.
func piHash(text string) string {
	sum := sha256.Sum256([]byte(strings.ToValidUTF8(text, "\uFFFD")))
	return hex.EncodeToString(sum[:8])
}

// piSerialized writes messages as pi gives them to a model for a summary. ok is
// false where pi would add words of its own: around shell runs and summaries,
// and where it takes off the end of a long result.
func piSerialized(items []session.Item) (text string, ok bool) {
	var parts []string
	add := func(label, text string) {
		if text != "" {
			parts = append(parts, label+": "+text)
		}
	}
	for _, it := range items {
		m := it.Message
		switch m.Role {
		case message.RoleUser, message.RoleCustom:
			add("[User]", piTexts(m, message.BlockText, ""))
		case message.RoleToolResult:
			text := piTexts(m, message.BlockText, "")
			if len(utf16.Encode([]rune(text))) > 2000 {
				return "", false
			}
			add("[Tool result]", text)
		case message.RoleAssistant:
			for _, part := range []struct {
				typ   message.BlockType
				label string
			}{{message.BlockThinking, "[Assistant thinking]: "}, {message.BlockText, "[Assistant]: "}} {
				if piHas(m, part.typ) {
					parts = append(parts, part.label+piTexts(m, part.typ, "\n"))
				}
			}
			calls, ok := piCalls(m)
			if !ok {
				return "", false
			}
			add("[Assistant tool calls]", calls)
		default:
			return "", false
		}
	}
	return strings.Join(parts, "\n\n"), true
}

func piHas(m *message.Message, typ message.BlockType) bool {
	return slices.ContainsFunc(m.Content, func(b message.Block) bool { return b.Type == typ })
}

func piTexts(m *message.Message, typ message.BlockType, between string) string {
	var texts []string
	for _, b := range m.Content {
		if b.Type == typ {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, between)
}

// piCalls writes calls; ok is false for arguments that JavaScript writes in
// another form than they stand in the log.
func piCalls(m *message.Message) (text string, ok bool) {
	var calls []string
	ok = true
	for _, call := range m.ToolCalls() {
		var args []string
		jsonx.Members(call.Arguments, func(key, val []byte) bool {
			if bytes.ContainsAny(val, `\0123456789{`) {
				ok = false
			}
			var b bytes.Buffer
			_ = json.Compact(&b, val)
			args = append(args, string(key)+"="+b.String())
			return true
		})
		calls = append(calls, call.Name+"("+strings.Join(args, ", ")+")")
	}
	return strings.Join(calls, "; "), ok
}
