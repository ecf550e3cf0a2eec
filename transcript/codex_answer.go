package transcript

import (
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/wire"
)

// answerItems puts back into an answer's items what a request leaves out and a log
// keeps: reasoning that nothing follows, and the ids and phases of texts.
func answerItems(m *message.Message, items []codexItem) []codexItem {
	if !speaksResponses(m) {
		return items
	}
	var rest []codexItem
	from := items[0].from
	for _, it := range items {
		if it.item.str("type") != "reasoning" {
			rest = append(rest, it)
		}
	}
	var out []codexItem
	for i := range m.Content {
		b := &m.Content[i]
		switch b.Type {
		case message.BlockThinking:
			if item := reasoningItem(b); item != nil {
				out = append(out, codexItem{item, from})
			}
		case message.BlockText:
			if len(rest) > 0 && rest[0].item.str("type") == "message" {
				out = append(out, codexItem{withTextID(rest[0].item, b.Signature), rest[0].from})
				rest = rest[1:]
			}
		default:
			if len(rest) > 0 && rest[0].item.str("type") != "message" {
				out = append(out, rest[0])
				rest = rest[1:]
			}
		}
	}
	return append(out, rest...)
}

func withTextID(item value, signature string) value {
	sig := scanned(signature)
	if id := sig.str("id"); id != "" {
		item = jsonx.Set(item, "id", jsonx.Quote(id))
	}
	if phase := sig.str("phase"); phase != "" {
		item = jsonx.Set(item, "phase", jsonx.Quote(phase))
	}
	return item
}

func speaksResponses(m *message.Message) bool {
	return m.API == "" || slices.Contains(wire.OpenAIResponses.APIs, m.API)
}

// reasoningItem returns the item that a block of thinking came from, or nil.
func reasoningItem(b *message.Block) value {
	if item := scanned(b.Signature); item.str("type") == "reasoning" {
		return item
	}
	return nil
}

// lostReasoning counts the thinking that is no reasoning item.
func (w *writer) lostReasoning(msgs []*message.Message, ids []string) {
	for i, m := range msgs {
		if m.Role != message.RoleAssistant || m.StopReason == message.StopError || m.StopReason == message.StopAborted {
			continue
		}
		for j := range m.Content {
			if b := &m.Content[j]; b.Type == message.BlockThinking && (!speaksResponses(m) || reasoningItem(b) == nil) {
				w.report.add(Lost, string(wire.NoteThinking), i+1, ids[i], wireClass[wire.NoteThinking].what)
			}
		}
	}
}
