package modeltest

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/wire"
)

// The Responses API: https://platform.openai.com/docs/api-reference/responses,
// streams: https://platform.openai.com/docs/api-reference/responses-streaming.

func responsesForm() *form {
	return &form{
		profile: wire.OpenAIResponses, read: readResponses, hasKey: bearer,
		counted: func(n int64) []byte {
			var o jsonx.Object
			o.Str("object", "response.input_tokens")
			o.Int("input_tokens", n)
			return o.Bytes()
		},
		whole: func(a *answer) []byte { return a.response(responsesStatus(a.finish), true) }, frames: responsesFrames, tail: func(*answer) int { return 1 },
		failure:   func(f *Failure) apiError { return openaiError(f, true) },
		errorBody: (*apiError).openaiBody,
		errorFrames: func(e *apiError) []frame {
			var o jsonx.Object
			o.Str("type", "error")
			o.Int("sequence_number", 99)
			code := e.code
			if code == "" {
				code = e.typ
			}
			o.Str("code", code)
			o.Str("message", e.message)
			o.Raw("param", []byte("null"))
			return []frame{{"error", string(o.Bytes())}}
		},
		tooLarge: bodyTooLarge,
	}
}

func readResponses(_ *http.Request, body []byte, req *request) (bad []string) {
	req.model, _ = jsonx.String(jsonx.Get(body, "model"))
	req.stream = jsonx.Bool(jsonx.Get(body, "stream"))
	if req.model == "" {
		bad = append(bad, "missing required parameter: 'model'")
	}
	if n, ok := jsonx.Int(jsonx.Get(body, "max_output_tokens")); ok && n < 16 {
		bad = append(bad, "'max_output_tokens' must be at least 16")
	}
	if jsonx.Get(body, "messages") != nil {
		bad = append(bad, "unsupported parameter: 'messages'; in the Responses API it is 'input'")
	}
	return bad
}

func responsesStatus(f model.Finish) string {
	if f == model.FinishLength || f == model.FinishWindow {
		return "incomplete"
	}
	return "completed"
}

func itoa(i int) string { return strconv.Itoa(i) }

// items returns the output; with start the items are as a stream begins them.
func (a *answer) items(start bool) (out [][]byte) {
	status := "completed"
	if start {
		status = "in_progress"
	}
	add := func(o *jsonx.Object) { out = append(out, o.Bytes()) }
	id := func(prefix string) string { return prefix + a.id + "_" + itoa(len(out)) }
	for i := range a.blocks {
		b := &a.blocks[i]
		var o jsonx.Object
		switch b.Type {
		case message.BlockText:
			o.Str("type", "message")
			o.Str("id", id("msg_"))
			o.Str("status", status)
			o.Str("role", "assistant")
			o.Raw("content", a.content(start, "output_text", "text", b.Text))
			add(&o)
		case message.BlockThinking:
			o.Str("type", "reasoning")
			o.Str("id", id("rs_"))
			summary := []byte("[]")
			if !start && b.Text != "" {
				var part jsonx.Object
				part.Str("type", "summary_text")
				part.Str("text", b.Text)
				summary = append(append([]byte{'['}, part.Bytes()...), ']')
			}
			o.Raw("summary", summary)
			if !start {
				o.Str("encrypted_content", b.Signature)
			}
			add(&o)
		case message.BlockToolCall:
			call, _, _ := strings.Cut(b.ID, "|")
			o.Str("type", "function_call")
			o.Str("id", id("fc_"))
			o.Str("status", status)
			o.Str("call_id", call)
			o.Str("name", b.Name)
			if start {
				o.Str("arguments", "")
			} else {
				o.Str("arguments", string(b.Arguments))
			}
			add(&o)
		default:
			out = append(out, b.Raw())
		}
	}
	if a.refusal != "" {
		var o jsonx.Object
		o.Str("type", "message")
		o.Str("id", id("msg_"))
		o.Str("status", status)
		o.Str("role", "assistant")
		o.Raw("content", a.content(start, "refusal", "refusal", a.refusal))
		add(&o)
	}
	for _, raw := range a.raw {
		out = append(out, raw)
	}
	return out
}

func (a *answer) content(start bool, typ, key, text string) []byte {
	if start {
		return []byte("[]")
	}
	return append(append([]byte{'['}, contentPart(typ, key, text)...), ']')
}

func contentPart(typ, key, text string) []byte {
	var part jsonx.Object
	part.Str("type", typ)
	part.Str(key, text)
	if typ == "output_text" {
		part.Raw("annotations", []byte("[]"))
	}
	return part.Bytes()
}

func (a *answer) response(status string, whole bool) []byte {
	var o jsonx.Object
	o.Str("id", "resp_"+a.id)
	o.Str("object", "response")
	o.Int("created_at", 1_700_000_000)
	o.Str("status", status)
	o.Raw("error", []byte("null"))
	if status == "incomplete" {
		o.Raw("incomplete_details", []byte(`{"reason":"max_output_tokens"}`))
	} else {
		o.Raw("incomplete_details", []byte("null"))
	}
	o.Str("model", a.model)
	list := []byte{'['}
	if whole {
		for i, item := range a.items(false) {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, item...)
		}
	}
	o.Raw("output", append(list, ']'))
	o.Bool("parallel_tool_calls", true)
	o.Str("tool_choice", "auto")
	o.Raw("tools", []byte("[]"))
	if !whole {
		o.Raw("usage", []byte("null"))
		return a.withExtra(o.Bytes())
	}
	var u, in, out jsonx.Object
	u.Int("input_tokens", a.usage.Prompt())
	in.Int("cached_tokens", a.usage.CacheRead)
	if a.usage.CacheWrite > 0 {
		in.Int("cache_write_tokens", a.usage.CacheWrite)
	}
	u.Raw("input_tokens_details", in.Bytes())
	u.Int("output_tokens", a.usage.Output)
	out.Int("reasoning_tokens", a.usage.Reasoning)
	u.Raw("output_tokens_details", out.Bytes())
	u.Int("total_tokens", a.usage.Prompt()+a.usage.Output)
	o.Raw("usage", u.Bytes())
	return a.withExtra(o.Bytes())
}

func responsesFrames(a *answer) (out []frame) {
	add := func(event string, set func(o *jsonx.Object)) {
		var o jsonx.Object
		o.Str("type", event)
		o.Int("sequence_number", int64(len(out)))
		set(&o)
		out = append(out, frame{event, string(o.Bytes())})
	}
	add("response.created", func(o *jsonx.Object) { o.Raw("response", a.response("in_progress", false)) })
	add("response.in_progress", func(o *jsonx.Object) { o.Raw("response", a.response("in_progress", false)) })
	begun, done := a.items(true), a.items(false)
	for i := range done {
		id, _ := jsonx.String(jsonx.Get(done[i], "id"))
		place := func(o *jsonx.Object) {
			o.Str("item_id", id)
			o.Int("output_index", int64(i))
		}
		add("response.output_item.added", func(o *jsonx.Object) {
			o.Int("output_index", int64(i))
			o.Raw("item", begun[i])
		})
		a.itemFrames(done[i], add, place)
		add("response.output_item.done", func(o *jsonx.Object) {
			o.Int("output_index", int64(i))
			o.Raw("item", done[i])
		})
	}
	status := responsesStatus(a.finish)
	add("response."+status, func(o *jsonx.Object) { o.Raw("response", a.response(status, true)) })
	return out
}

// itemFrames writes what comes between the start and the end of an item.
func (a *answer) itemFrames(item []byte, add func(string, func(*jsonx.Object)), place func(*jsonx.Object)) {
	str := func(obj []byte, key string) string {
		s, _ := jsonx.String(jsonx.Get(obj, key))
		return s
	}
	switch str(item, "type") {
	case "message":
		n := int64(-1)
		jsonx.Elements(jsonx.Get(item, "content"), func(part []byte) bool {
			n++
			typ, key := str(part, "type"), "text"
			if typ == "refusal" {
				key = "refusal"
			}
			at := func(o *jsonx.Object) {
				place(o)
				o.Int("content_index", n)
			}
			add("response.content_part.added", func(o *jsonx.Object) {
				at(o)
				o.Raw("part", contentPart(typ, key, ""))
			})
			for _, p := range pieces(str(part, key)) {
				add("response."+typ+".delta", func(o *jsonx.Object) {
					at(o)
					o.Str("delta", p)
				})
			}
			add("response."+typ+".done", func(o *jsonx.Object) {
				at(o)
				o.Str(key, str(part, key))
			})
			add("response.content_part.done", func(o *jsonx.Object) {
				at(o)
				o.Raw("part", part)
			})
			return true
		})
	case "reasoning":
		n := int64(-1)
		jsonx.Elements(jsonx.Get(item, "summary"), func(part []byte) bool {
			n++
			at := func(o *jsonx.Object) {
				place(o)
				o.Int("summary_index", n)
			}
			add("response.reasoning_summary_part.added", func(o *jsonx.Object) {
				at(o)
				o.Raw("part", []byte(`{"type":"summary_text","text":""}`))
			})
			for _, p := range pieces(str(part, "text")) {
				add("response.reasoning_summary_text.delta", func(o *jsonx.Object) {
					at(o)
					o.Str("delta", p)
				})
			}
			add("response.reasoning_summary_text.done", func(o *jsonx.Object) {
				at(o)
				o.Str("text", str(part, "text"))
			})
			return true
		})
	case "function_call":
		for _, p := range pieces(str(item, "arguments")) {
			add("response.function_call_arguments.delta", func(o *jsonx.Object) {
				place(o)
				o.Str("delta", p)
			})
		}
		add("response.function_call_arguments.done", func(o *jsonx.Object) {
			place(o)
			o.Str("arguments", str(item, "arguments"))
		})
	}
}
