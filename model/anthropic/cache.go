package anthropic

import (
	"encoding/json"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/wire"
)

// mark puts cache marks into a request that has been checked, at most three of
// the four that the API takes: at the end of the system text, which covers the
// tools before it; at the end of the last message; and at the end of the user
// message before the last answer, where the request before this one had its last
// mark, so that what was written then is found
// (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
func mark(req *wire.Request, c model.Cache) {
	var val []byte
	switch c {
	case model.CacheDefault:
		return
	case model.CacheShort:
		val = []byte(`{"type":"ephemeral"}`)
	case model.CacheLong:
		val = []byte(`{"type":"ephemeral","ttl":"1h"}`)
	}
	if req.System != nil {
		req.System = markLast(req.System, val)
	} else if req.Tools != nil {
		req.Tools = markLast(req.Tools, val)
	}
	last := len(req.Messages) - 1
	if last < 0 {
		return
	}
	markMessage(req, last, val)
	for i := last - 1; i > 0; i-- {
		if role, _ := jsonx.String(jsonx.Get(req.Messages[i], "role")); role == "assistant" {
			markMessage(req, i-1, val)
			return
		}
	}
}

func markMessage(req *wire.Request, i int, val []byte) {
	content := jsonx.Get(req.Messages[i], "content")
	req.Messages[i] = jsonx.Set(req.Messages[i], "content", markLast(content, val))
}

// markLast marks the last element of an array that can be marked; thinking can't.
func markLast(arr json.RawMessage, val []byte) json.RawMessage {
	if !jsonx.IsArray(arr) {
		return arr
	}
	var all [][]byte
	at := -1
	jsonx.Elements(arr, func(el []byte) bool {
		if typ, _ := jsonx.String(jsonx.Get(el, "type")); jsonx.IsObject(el) && typ != "thinking" && typ != "redacted_thinking" {
			at = len(all)
		}
		all = append(all, el)
		return true
	})
	if at < 0 {
		return arr
	}
	all[at] = jsonx.Set(all[at], "cache_control", val)
	out := []byte{'['}
	for i, el := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, el...)
	}
	return append(out, ']')
}
