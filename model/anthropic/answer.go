package anthropic

import (
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

// read reads a message as the API answers it.
func (c *Client) read(op string, body []byte) (*model.Answer, error) {
	obj := jsonx.One(body)
	typ, _ := jsonx.String(jsonx.Get(obj, "type"))
	if typ == "error" {
		e := model.ErrorFromBody(c.e.Provider, 0, nil, obj)
		e.Op, e.Model = op, c.e.Model
		return nil, e
	}
	content := jsonx.Get(obj, "content")
	if !jsonx.IsArray(content) {
		return nil, c.e.Unreadable(op, body)
	}
	a := &model.Answer{Usage: usage(jsonx.Get(obj, "usage"), c.e.Info.Price)}
	a.ID, _ = jsonx.String(jsonx.Get(obj, "id"))
	a.Model, _ = jsonx.String(jsonx.Get(obj, "model"))
	a.FinishDetail, _ = jsonx.String(jsonx.Get(obj, "stop_reason"))
	a.Finish = finish(a.FinishDetail)
	if a.Finish == model.FinishRefusal {
		a.Refusal, _ = jsonx.String(jsonx.Get(jsonx.Get(obj, "stop_details"), "explanation"))
	}
	jsonx.Elements(content, func(raw []byte) bool {
		readBlock(a, raw)
		return true
	})
	return a, nil
}

func readBlock(a *model.Answer, raw []byte) {
	str := func(key string) string {
		s, _ := jsonx.String(jsonx.Get(raw, key))
		return s
	}
	switch typ := str("type"); typ {
	case "text":
		if str("text") == "" {
			return
		}
		// The block as it came: what stands beside the text, as citations, is kept.
		a.Blocks = append(a.Blocks, message.ParseContent(array(raw))...)
	case "thinking":
		a.Blocks = append(a.Blocks, message.ThinkingBlock(str("thinking"), str("signature")))
	case "redacted_thinking":
		a.Blocks = append(a.Blocks, message.Block{Type: message.BlockThinking, Redacted: true, Signature: str("data")})
	case "tool_use":
		if b, ok := a.Call(str("id"), str("name"), string(jsonx.Get(raw, "input"))); ok {
			a.Blocks = append(a.Blocks, b)
		}
	default:
		if jsonx.IsObject(raw) && typ != "" {
			a.Blocks = append(a.Blocks, message.ParseContent(array(raw))...)
		}
	}
}

// array returns a copy of an element as an array of it alone.
func array(el []byte) []byte {
	out := make([]byte, 0, len(el)+2)
	out = append(out, '[')
	out = append(out, el...)
	return append(out, ']')
}

func finish(reason string) model.Finish {
	switch reason {
	case "end_turn", "stop_sequence":
		return model.FinishEnd
	case "max_tokens":
		return model.FinishLength
	case "model_context_window_exceeded":
		return model.FinishWindow
	case "tool_use":
		return model.FinishToolUse
	case "pause_turn":
		return model.FinishPaused
	case "refusal":
		return model.FinishRefusal
	case "":
		return model.FinishNotKnown
	}
	return model.FinishUnknown
}

// usage reads what was counted. The API's input_tokens leave out what was read
// from or written to the cache. Where the server compacted, iterations has each
// run: all of them cost, the last one is the context
// (https://platform.claude.com/docs/en/build-with-claude/compaction).
func usage(obj []byte, p *model.Price) *message.Usage {
	if !jsonx.IsObject(obj) {
		return nil
	}
	u := counts(obj)
	var cost float64
	jsonx.Elements(jsonx.Get(obj, "iterations"), func(it []byte) bool {
		cost += p.Cost(counts(it))
		return true
	})
	u.Cost = cost
	return u
}

func counts(obj []byte) *message.Usage {
	n := jsonx.CountAt
	return &message.Usage{
		Input: n(obj, "input_tokens"), Output: n(obj, "output_tokens"),
		CacheRead: n(obj, "cache_read_input_tokens"), CacheWrite: n(obj, "cache_creation_input_tokens"),
		Reasoning: n(jsonx.Get(obj, "output_tokens_details"), "thinking_tokens"),
	}
}
