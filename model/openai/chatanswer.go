package openai

import (
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

// reasoningFields are the members of a message in which servers return reasoning,
// in the order in which they are looked for. The name is the signature of the
// block, by which wire sends it back where it came from.
var reasoningFields = []string{"reasoning_content", "reasoning", "reasoning_text"}

// read reads a completion as the API answers it.
func (c *Chat) read(op string, body []byte) (*model.Answer, error) {
	obj := jsonx.One(body)
	choice := firstChoice(obj)
	if choice == nil {
		if e := jsonx.Get(obj, "error"); !jsonx.IsNull(e) { // OpenRouter: an error with status 200
			fail := model.ErrorFromBody(c.e.Provider, errorStatus(e), nil, obj)
			fail.Op, fail.Model = op, c.e.Model
			return nil, fail
		}
		return nil, c.e.Unreadable(op, body)
	}
	msg := jsonx.Get(choice, "message")
	a := &model.Answer{ID: jsonx.StringAt(obj, "id"), Model: jsonx.StringAt(obj, "model"), FinishDetail: jsonx.StringAt(choice, "finish_reason")}
	a.Finish = chatFinish(a.FinishDetail)
	a.Usage = chatUsage(jsonx.Get(obj, "usage"))
	if a.Usage == nil { // Moonshot: https://github.com/earendil-works/pi/issues/2017
		a.Usage = chatUsage(jsonx.Get(choice, "usage"))
	}
	for _, field := range reasoningFields {
		if text := jsonx.StringAt(msg, field); text != "" {
			a.Blocks = append(a.Blocks, message.ThinkingBlock(text, field))
			break
		}
	}
	content := jsonx.Get(msg, "content")
	if text, ok := jsonx.String(content); ok && text != "" {
		a.Blocks = append(a.Blocks, message.TextBlock(text))
	}
	jsonx.Elements(content, func(part []byte) bool { // Mistral: content in parts
		switch jsonx.StringAt(part, "type") {
		case "text":
			if text := jsonx.StringAt(part, "text"); text != "" {
				a.Blocks = append(a.Blocks, message.TextBlock(text))
			}
		case "thinking":
			if text := reasoningOf(part); text != "" {
				a.Blocks = append(a.Blocks, message.ThinkingBlock(text, ""))
			}
		}
		return true
	})
	if a.Refusal = jsonx.StringAt(msg, "refusal"); a.Refusal != "" {
		a.Finish = model.FinishRefusal
	}
	jsonx.Elements(jsonx.Get(msg, "tool_calls"), func(call []byte) bool {
		f := jsonx.Get(call, "function")
		if !jsonx.IsObject(f) {
			return true
		}
		args := jsonx.Get(f, "arguments")
		text, ok := jsonx.String(args)
		if !ok {
			text = string(args) // Ollama's own form: an object
		}
		id := jsonx.StringAt(call, "id")
		if id == "" {
			id = c.e.NewID()
		}
		if b, ok := a.Call(id, jsonx.StringAt(f, "name"), text); ok {
			a.Blocks = append(a.Blocks, b)
		}
		return true
	})
	return a, nil
}

// reasoningOf returns the text of a part that is reasoning, which has parts itself.
func reasoningOf(part []byte) (text string) {
	jsonx.Elements(jsonx.Get(part, "thinking"), func(p []byte) bool {
		text += jsonx.StringAt(p, "text")
		return true
	})
	return text
}

// errorStatus returns the HTTP status that an error object names as its code.
func errorStatus(e []byte) int {
	if n, ok := jsonx.Int(jsonx.Get(e, "code")); ok && n >= 400 && n < 600 {
		return int(n)
	}
	return 0
}

func firstChoice(obj []byte) (choice []byte) {
	jsonx.Elements(jsonx.Get(obj, "choices"), func(c []byte) bool {
		if jsonx.IsObject(c) {
			choice = c
		}
		return false
	})
	return choice
}

func chatFinish(reason string) model.Finish {
	switch reason {
	case "stop", "end", "eos", "end_turn":
		return model.FinishEnd
	case "length", "max_tokens":
		return model.FinishLength
	case "model_length", "model_context_window_exceeded": // Mistral, z.ai
		return model.FinishWindow
	case "tool_calls", "function_call":
		return model.FinishToolUse
	case "content_filter", "sensitive":
		return model.FinishRefusal
	case "":
		return model.FinishNotKnown
	}
	return model.FinishUnknown
}

// chatUsage reads what was counted. prompt_tokens holds what was read from and
// written to the cache; the log has them apart.
func chatUsage(obj []byte) *message.Usage {
	if !jsonx.IsObject(obj) {
		return nil
	}
	prompt, completion := jsonx.CountAt(obj, "prompt_tokens"), jsonx.CountAt(obj, "completion_tokens")
	details := jsonx.Get(obj, "prompt_tokens_details")
	u := &message.Usage{
		CacheRead:  max(jsonx.CountAt(details, "cached_tokens"), jsonx.CountAt(obj, "prompt_cache_hit_tokens"), jsonx.CountAt(obj, "cached_tokens")), // OpenAI, DeepSeek, Moonshot
		CacheWrite: jsonx.CountAt(details, "cache_write_tokens"),
		Reasoning:  max(jsonx.CountAt(jsonx.Get(obj, "completion_tokens_details"), "reasoning_tokens"), jsonx.CountAt(obj, "reasoning_tokens")),
		Output:     completion,
	}
	u.CacheRead = min(u.CacheRead, prompt)
	u.CacheWrite = min(u.CacheWrite, prompt-u.CacheRead)
	u.Input = prompt - u.CacheRead - u.CacheWrite
	// xAI leaves reasoning out of completion_tokens; the total tells.
	if total := jsonx.CountAt(obj, "total_tokens"); u.Reasoning > 0 && total == prompt+completion+u.Reasoning {
		u.Output += u.Reasoning
	}
	return u
}
