package modeltest

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/wire"
)

// The Messages API: https://platform.claude.com/docs/en/api/messages, streams:
// https://platform.claude.com/docs/en/build-with-claude/streaming.

func anthropicForm() *form {
	return &form{
		profile: wire.Anthropic, read: readAnthropic,
		hasKey: func(h http.Header) bool { return h.Get("X-Api-Key") != "" || h.Get("Authorization") != "" },
		counted: func(n int64) []byte {
			var o jsonx.Object
			o.Int("input_tokens", n)
			return o.Bytes()
		},
		whole: anthropicWhole, frames: anthropicFrames, tail: func(*answer) int { return 2 },
		failure: anthropicError, errorBody: (*apiError).anthropicBody,
		errorFrames: func(e *apiError) []frame { return []frame{{"error", string(e.anthropicBody())}} },
		tooLarge: func() *Failure {
			return &Failure{Status: 413, Body: `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`}
		},
	}
}

func readAnthropic(r *http.Request, body []byte, req *request) (bad []string) {
	req.model, _ = jsonx.String(jsonx.Get(body, "model"))
	req.stream = jsonx.Bool(jsonx.Get(body, "stream"))
	if req.model == "" {
		bad = append(bad, "model: Field required")
	}
	if r.Header.Get("Anthropic-Version") == "" {
		bad = append(bad, "anthropic-version: header is required")
	}
	if jsonx.Get(body, "messages") == nil {
		bad = append(bad, "messages: Field required")
	}
	most, ok := jsonx.Int(jsonx.Get(body, "max_tokens"))
	if counting := len(r.URL.Path) > 13 && r.URL.Path[len(r.URL.Path)-13:] == "/count_tokens"; !counting && (!ok || most < 1) {
		bad = append(bad, "max_tokens: Field required")
	}
	req.most = most
	thinking := jsonx.Get(body, "thinking")
	typ := jsonx.StringAt(thinking, "type")
	req.thinks = typ == "enabled" || typ == "adaptive"
	if typ == "enabled" {
		req.parts.Thinks = true
		budget, _ := jsonx.Int(jsonx.Get(thinking, "budget_tokens"))
		if budget < 1024 || ok && budget >= most {
			bad = append(bad, "thinking.budget_tokens must be at least 1024 and less than max_tokens")
		}
		if t, ok := jsonx.Float(jsonx.Get(body, "temperature")); ok && t != 1 {
			bad = append(bad, "temperature may only be set to 1 when thinking is enabled")
		}
	}
	if marks := countMarks(body); marks > 4 {
		bad = append(bad, "a maximum of 4 blocks with cache_control may be provided")
	}
	return bad
}

// countMarks counts the cache marks of a body.
func countMarks(val []byte) (n int) {
	jsonx.Elements(val, func(el []byte) bool {
		n += countMarks(el)
		return true
	})
	jsonx.Members(val, func(key, el []byte) bool {
		switch string(key) {
		case "cache_control":
			n++
		case "system", "tools", "messages", "content":
			n += countMarks(el)
		}
		return true
	})
	return n
}

func anthropicStop(f model.Finish) string {
	switch f {
	case model.FinishLength:
		return "max_tokens"
	case model.FinishWindow:
		return "model_context_window_exceeded"
	case model.FinishToolUse:
		return "tool_use"
	case model.FinishPaused:
		return "pause_turn"
	case model.FinishRefusal:
		return "refusal"
	default:
		return "end_turn"
	}
}

func anthropicUsage(u *message.Usage, output int64) []byte {
	var o jsonx.Object
	o.Int("input_tokens", u.Input)
	o.Int("cache_creation_input_tokens", u.CacheWrite)
	o.Int("cache_read_input_tokens", u.CacheRead)
	o.Int("output_tokens", output)
	return o.Bytes()
}

// anthropicBlock writes a block; with start it is as a stream begins it.
func anthropicBlock(b *message.Block, start bool) []byte {
	var o jsonx.Object
	text := func(s string) string {
		if start {
			return ""
		}
		return s
	}
	switch {
	case b.Type == message.BlockText:
		o.Str("type", "text")
		o.Str("text", text(b.Text))
	case b.Type == message.BlockThinking && b.Redacted:
		o.Str("type", "redacted_thinking")
		o.Str("data", b.Signature)
	case b.Type == message.BlockThinking:
		o.Str("type", "thinking")
		o.Str("thinking", text(b.Text))
		o.Str("signature", text(b.Signature))
	case b.Type == message.BlockToolCall:
		o.Str("type", "tool_use")
		o.Str("id", b.ID)
		o.Str("name", b.Name)
		if start || !json.Valid(b.Arguments) {
			o.Raw("input", []byte("{}"))
		} else {
			o.Raw("input", b.Arguments)
		}
	default:
		return b.Raw()
	}
	return o.Bytes()
}

func (a *answer) anthropicHead() (o jsonx.Object) {
	o.Str("id", "msg_"+a.id)
	o.Str("type", "message")
	o.Str("role", "assistant")
	o.Str("model", a.model)
	return o
}

func anthropicWhole(a *answer) []byte {
	o := a.anthropicHead()
	content := []byte{'['}
	add := func(b []byte) {
		if len(content) > 1 {
			content = append(content, ',')
		}
		content = append(content, b...)
	}
	for i := range a.blocks {
		add(anthropicBlock(&a.blocks[i], false))
	}
	for _, raw := range a.raw {
		add(raw)
	}
	o.Raw("content", append(content, ']'))
	o.Str("stop_reason", anthropicStop(a.finish))
	o.Raw("stop_sequence", []byte("null"))
	o.Raw("stop_details", a.stopDetails())
	o.Raw("usage", anthropicUsage(&a.usage, a.usage.Output))
	return a.withExtra(o.Bytes())
}

// stopDetails explains a refusal; nil for none.
func (a *answer) stopDetails() json.RawMessage {
	if a.refusal == "" {
		return nil
	}
	var o jsonx.Object
	o.Str("type", "refusal")
	o.Str("explanation", a.refusal)
	return o.Bytes()
}

// withExtra adds the members of the script to an answer, in a fixed order.
func (a *answer) withExtra(obj []byte) []byte {
	keys := make([]string, 0, len(a.extra))
	for k := range a.extra {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		obj = jsonx.Set(obj, k, a.extra[k])
	}
	return obj
}

func anthropicFrames(a *answer) (out []frame) {
	add := func(event string, set func(o *jsonx.Object)) {
		var o jsonx.Object
		o.Str("type", event)
		set(&o)
		out = append(out, frame{event, string(o.Bytes())})
	}
	head := a.anthropicHead()
	head.Raw("content", []byte("[]"))
	head.Raw("stop_reason", []byte("null"))
	head.Raw("stop_sequence", []byte("null"))
	head.Raw("usage", anthropicUsage(&a.usage, 1))
	add("message_start", func(o *jsonx.Object) { o.Raw("message", a.withExtra(head.Bytes())) })
	add("ping", func(*jsonx.Object) {})
	n := 0
	block := func(start []byte, deltas func(delta func(typ, key, text string))) {
		add("content_block_start", func(o *jsonx.Object) {
			o.Int("index", int64(n))
			o.Raw("content_block", start)
		})
		deltas(func(typ, key, text string) {
			add("content_block_delta", func(o *jsonx.Object) {
				var d jsonx.Object
				d.Str("type", typ)
				d.Str(key, text)
				o.Int("index", int64(n))
				o.Raw("delta", d.Bytes())
			})
		})
		add("content_block_stop", func(o *jsonx.Object) { o.Int("index", int64(n)) })
		n++
	}
	for i := range a.blocks {
		b := &a.blocks[i]
		block(anthropicBlock(b, true), func(delta func(typ, key, text string)) {
			switch {
			case b.Type == message.BlockText:
				for _, p := range pieces(b.Text) {
					delta("text_delta", "text", p)
				}
			case b.Type == message.BlockThinking && !b.Redacted:
				for _, p := range pieces(b.Text) {
					delta("thinking_delta", "thinking", p)
				}
				delta("signature_delta", "signature", b.Signature)
			case b.Type == message.BlockToolCall:
				delta("input_json_delta", "partial_json", "")
				for _, p := range pieces(string(b.Arguments)) {
					delta("input_json_delta", "partial_json", p)
				}
			}
		})
	}
	for _, raw := range a.raw {
		block(raw, func(func(typ, key, text string)) {})
	}
	add("message_delta", func(o *jsonx.Object) {
		var d, u jsonx.Object
		d.Str("stop_reason", anthropicStop(a.finish))
		d.Raw("stop_sequence", []byte("null"))
		d.Raw("stop_details", a.stopDetails())
		u.Int("output_tokens", a.usage.Output)
		o.Raw("delta", d.Bytes())
		o.Raw("usage", u.Bytes())
	})
	add("message_stop", func(*jsonx.Object) {})
	return out
}
