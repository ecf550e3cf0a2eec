package openai

import (
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

// read reads a response as the API answers it.
func (c *Responses) read(op string, body []byte) (*model.Answer, error) {
	obj := jsonx.One(body)
	output := jsonx.Get(obj, "output")
	if fail := jsonx.Get(obj, "error"); jsonx.IsObject(fail) {
		e := model.ErrorFromBody(c.e.Provider, 0, nil, obj)
		e.Op, e.Model = op, c.e.Model
		if e.Kind == model.KindUnknown {
			e.Kind = model.KindServer
		}
		return nil, e
	}
	if !jsonx.IsArray(output) {
		return nil, c.e.Unreadable(op, body)
	}
	a := &model.Answer{ID: jsonx.StringAt(obj, "id"), Model: jsonx.StringAt(obj, "model"), Usage: responsesUsage(jsonx.Get(obj, "usage"))}
	a.FinishDetail = jsonx.StringAt(obj, "status")
	if reason := jsonx.StringAt(jsonx.Get(obj, "incomplete_details"), "reason"); reason != "" {
		a.FinishDetail = reason
	}
	a.Finish = responsesFinish(a.FinishDetail)
	jsonx.Elements(output, func(item []byte) bool {
		c.readItem(a, item)
		return true
	})
	if a.Refusal != "" {
		a.Finish = model.FinishRefusal
	}
	return a, nil
}

func (c *Responses) readItem(a *model.Answer, item []byte) {
	switch typ := jsonx.StringAt(item, "type"); typ {
	case "message":
		text, refusal := messageText(item)
		a.Refusal += refusal
		if text != "" {
			b := message.TextBlock(text)
			b.Signature = textSignature(item)
			a.Blocks = append(a.Blocks, b)
		}
	case "reasoning":
		a.Blocks = append(a.Blocks, message.ThinkingBlock(reasoningText(item), reasoningSignature(item)))
	case "function_call":
		// Both ids, as the file format has them; wire takes them apart again.
		id := jsonx.StringAt(item, "call_id")
		if id == "" {
			id = c.e.NewID()
		}
		if own := jsonx.StringAt(item, "id"); own != "" {
			id += "|" + own
		}
		if b, ok := a.Call(id, jsonx.StringAt(item, "name"), jsonx.StringAt(item, "arguments")); ok {
			a.Blocks = append(a.Blocks, b)
		}
	default:
		if jsonx.IsObject(item) && typ != "" {
			a.Blocks = append(a.Blocks, message.ParseContent(jsonx.Array([][]byte{item}))...)
		}
	}
}

// messageText returns the texts of a message item, as one: the item goes back as
// one.
func messageText(item []byte) (text, refusal string) {
	var b, r strings.Builder
	jsonx.Elements(jsonx.Get(item, "content"), func(part []byte) bool {
		switch jsonx.StringAt(part, "type") {
		case "output_text":
			b.WriteString(jsonx.StringAt(part, "text"))
		case "refusal":
			r.WriteString(jsonx.StringAt(part, "refusal"))
		}
		return true
	})
	return b.String(), r.String()
}

// textSignature keeps what a message item has beside its text.
func textSignature(item []byte) string {
	id, phase := jsonx.StringAt(item, "id"), jsonx.StringAt(item, "phase")
	if id == "" {
		return ""
	}
	var o jsonx.Object
	o.Int("v", 1)
	o.Str("id", id)
	o.OptStr("phase", phase)
	return string(o.Bytes())
}

// reasoningText returns what can be read of a reasoning item: its summary, else
// its content.
func reasoningText(item []byte) string {
	var texts []string
	for _, key := range []string{"summary", "content"} {
		jsonx.Elements(jsonx.Get(item, key), func(part []byte) bool {
			if t := jsonx.StringAt(part, "text"); t != "" {
				texts = append(texts, t)
			}
			return true
		})
		if len(texts) > 0 {
			break
		}
	}
	return strings.Join(texts, "\n\n")
}

// reasoningSignature returns the item itself, which goes back as it came. Without
// its encrypted content the API would look for it in what it has stored, and
// nothing is stored.
func reasoningSignature(item []byte) string {
	if jsonx.StringAt(item, "encrypted_content") == "" {
		return ""
	}
	return string(item)
}

func responsesFinish(status string) model.Finish {
	switch status {
	case "completed":
		return model.FinishEnd
	case "max_output_tokens":
		return model.FinishLength
	case "content_filter":
		return model.FinishRefusal
	case "", "in_progress", "queued":
		return model.FinishNotKnown
	}
	return model.FinishUnknown
}

// responsesUsage reads what was counted. input_tokens holds what was read from and
// written to the cache; the log has them apart.
func responsesUsage(obj []byte) *message.Usage {
	if !jsonx.IsObject(obj) {
		return nil
	}
	input, details := jsonx.CountAt(obj, "input_tokens"), jsonx.Get(obj, "input_tokens_details")
	u := &message.Usage{
		Output:    jsonx.CountAt(obj, "output_tokens"),
		CacheRead: min(jsonx.CountAt(details, "cached_tokens"), input),
		Reasoning: jsonx.CountAt(jsonx.Get(obj, "output_tokens_details"), "reasoning_tokens"),
	}
	u.CacheWrite = min(jsonx.CountAt(details, "cache_write_tokens"), input-u.CacheRead)
	u.Input = input - u.CacheRead - u.CacheWrite
	return u
}
