package modeltest

import (
	"net/http"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/wire"
)

// The Chat Completions API: https://platform.openai.com/docs/api-reference/chat,
// streams: https://platform.openai.com/docs/api-reference/chat-streaming.

func chatForm() *form {
	return &form{
		profile: wire.OpenAIChat, read: readChat, hasKey: bearer,
		whole: chatWhole, frames: chatFrames, tail: chatTail,
		failure:   func(f *Failure) apiError { return openaiError(f, false) },
		errorBody: (*apiError).openaiBody,
		errorFrames: func(e *apiError) []frame {
			return []frame{{"", string(e.openaiBody())}}
		},
		tooLarge: bodyTooLarge,
	}
}

// chatTail counts the finish reason, the usage and [DONE].
func chatTail(a *answer) int {
	if a.usageWanted {
		return 3
	}
	return 2
}

func bearer(h http.Header) bool {
	return strings.HasPrefix(h.Get("Authorization"), "Bearer ") && len(h.Get("Authorization")) > len("Bearer ")
}

func bodyTooLarge() *Failure {
	return &Failure{Status: 413, Body: `{"error":{"message":"Request body is too large","type":"invalid_request_error","param":null,"code":null}}`}
}

func readChat(_ *http.Request, body []byte, req *request) (bad []string) {
	req.model, _ = jsonx.String(jsonx.Get(body, "model"))
	req.stream = jsonx.Bool(jsonx.Get(body, "stream"))
	req.usageWanted = jsonx.Bool(jsonx.Get(jsonx.Get(body, "stream_options"), "include_usage"))
	if req.model == "" {
		bad = append(bad, "you must provide a model parameter")
	}
	if jsonx.Get(body, "max_tokens") != nil && jsonx.Get(body, "max_completion_tokens") != nil {
		bad = append(bad, "setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported")
	}
	if !req.stream && jsonx.Get(body, "stream_options") != nil {
		bad = append(bad, "the 'stream_options' parameter is only allowed when 'stream' is enabled")
	}
	if jsonx.Get(body, "tool_choice") != nil && jsonx.Get(body, "tools") == nil {
		bad = append(bad, "'tool_choice' is only allowed when 'tools' are specified")
	}
	return bad
}

func chatStop(f model.Finish) string {
	switch f {
	case model.FinishLength:
		return "length"
	case model.FinishWindow:
		return "model_context_window_exceeded"
	case model.FinishToolUse:
		return "tool_calls"
	default:
		return "stop"
	}
}

func chatUsage(u *message.Usage) []byte {
	var o, in, out jsonx.Object
	o.Int("prompt_tokens", u.Prompt())
	o.Int("completion_tokens", u.Output)
	o.Int("total_tokens", u.Prompt()+u.Output)
	in.Int("cached_tokens", u.CacheRead)
	if u.CacheWrite > 0 {
		in.Int("cache_write_tokens", u.CacheWrite)
	}
	out.Int("reasoning_tokens", u.Reasoning)
	o.Raw("prompt_tokens_details", in.Bytes())
	o.Raw("completion_tokens_details", out.Bytes())
	return o.Bytes()
}

func (a *answer) chatHead(object string) (o jsonx.Object) {
	o.Str("id", "chatcmpl-"+a.id)
	o.Str("object", object)
	o.Int("created", 1_700_000_000)
	o.Str("model", a.model)
	return o
}

// texts joins the blocks of a type.
func (a *answer) texts(t message.BlockType) string {
	var b strings.Builder
	for i := range a.blocks {
		if a.blocks[i].Type == t {
			b.WriteString(a.blocks[i].Text)
		}
	}
	return b.String()
}

func (a *answer) calls() (out []*message.Block) {
	for i := range a.blocks {
		if a.blocks[i].Type == message.BlockToolCall {
			out = append(out, &a.blocks[i])
		}
	}
	return out
}

func chatCall(b *message.Block, args string) (o jsonx.Object) {
	var f jsonx.Object
	f.Str("name", b.Name)
	f.Str("arguments", args)
	o.Str("id", b.ID)
	o.Str("type", "function")
	o.Raw("function", f.Bytes())
	return o
}

func chatWhole(a *answer) []byte {
	var msg, choice jsonx.Object
	msg.Str("role", "assistant")
	if text := a.texts(message.BlockText); text != "" {
		msg.Str("content", text)
	} else {
		msg.Raw("content", []byte("null"))
	}
	msg.OptStr("reasoning_content", a.texts(message.BlockThinking))
	if a.refusal != "" {
		msg.Str("refusal", a.refusal)
	} else {
		msg.Raw("refusal", []byte("null"))
	}
	if calls := a.calls(); len(calls) > 0 {
		list := []byte{'['}
		for i, c := range calls {
			if i > 0 {
				list = append(list, ',')
			}
			o := chatCall(c, string(c.Arguments))
			list = append(list, o.Bytes()...)
		}
		msg.Raw("tool_calls", append(list, ']'))
	}
	choice.Int("index", 0)
	choice.Raw("message", msg.Bytes())
	choice.Raw("logprobs", []byte("null"))
	choice.Str("finish_reason", chatStop(a.finish))
	o := a.chatHead("chat.completion")
	o.Raw("choices", append(append([]byte{'['}, choice.Bytes()...), ']'))
	o.Raw("usage", chatUsage(&a.usage))
	return a.withExtra(o.Bytes())
}

func chatFrames(a *answer) (out []frame) {
	chunk := func(delta []byte, finish string) {
		var choice jsonx.Object
		choice.Int("index", 0)
		choice.Raw("delta", delta)
		if finish == "" {
			choice.Raw("finish_reason", []byte("null"))
		} else {
			choice.Str("finish_reason", finish)
		}
		o := a.chatHead("chat.completion.chunk")
		o.Raw("choices", append(append([]byte{'['}, choice.Bytes()...), ']'))
		out = append(out, frame{"", string(a.withExtra(o.Bytes()))})
	}
	text := func(key, s string) {
		for _, p := range pieces(s) {
			var d jsonx.Object
			d.Str(key, p)
			chunk(d.Bytes(), "")
		}
	}
	chunk([]byte(`{"role":"assistant","content":""}`), "")
	text("reasoning_content", a.texts(message.BlockThinking))
	text("content", a.texts(message.BlockText))
	text("refusal", a.refusal)
	for i, c := range a.calls() {
		call := func(o jsonx.Object) {
			var d jsonx.Object
			one := append([]byte(`[{"index":`), []byte(itoa(i))...)
			rest := o.Bytes()
			one = append(append(append(one, ','), rest[1:]...), ']')
			d.Raw("tool_calls", one)
			chunk(d.Bytes(), "")
		}
		call(chatCall(c, ""))
		for _, p := range pieces(string(c.Arguments)) {
			var f, o jsonx.Object
			f.Str("arguments", p)
			o.Raw("function", f.Bytes())
			call(o)
		}
	}
	chunk([]byte(`{}`), chatStop(a.finish))
	if a.usageWanted {
		o := a.chatHead("chat.completion.chunk")
		o.Raw("choices", []byte("[]"))
		o.Raw("usage", chatUsage(&a.usage))
		out = append(out, frame{"", string(o.Bytes())})
	}
	return append(out, frame{"", "[DONE]"})
}
