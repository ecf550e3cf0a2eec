package wire

import (
	"encoding/json"
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
)

// OpenLoop returns where in Messages of a request for Anthropic the tool loop begins that is still open: the answers
// and results since the user last spoke, where the last message has results. What the user says along with those does
// not end the loop. Without an open loop it is len(Messages).
func (r *Request) OpenLoop() int {
	open := len(r.Messages) - 1
	if open < 0 || !slices.Contains(blockTypes(r.Messages[open]), "tool_result") {
		return len(r.Messages)
	}
	for open > 0 && loops(r.Messages[open-1]) {
		open--
	}
	return open
}

// LoopThinks reports whether the request may turn thinking on with a budget: Anthropic takes an open tool loop for one
// turn of the assistant, which begins with thinking where that is on.
func (r *Request) LoopThinks() bool {
	open := r.OpenLoop()
	return open == len(r.Messages) || Thinks(r.Messages[open])
}

// Thinks reports whether a message of Anthropic's begins with thinking.
func Thinks(msg json.RawMessage) bool {
	types := blockTypes(msg)
	return len(types) > 0 && (types[0] == "thinking" || types[0] == "redacted_thinking")
}

// loops reports whether a message is an answer, or has nothing but results of calls.
func loops(msg json.RawMessage) bool {
	types := blockTypes(msg)
	other := func(t string) bool { return t != "tool_result" }
	return jsonx.StringAt(msg, "role") == "assistant" || len(types) > 0 && !slices.ContainsFunc(types, other)
}

// blockTypes returns the types of the blocks of a message; none of a content that is text.
func blockTypes(msg json.RawMessage) (types []string) {
	jsonx.Elements(jsonx.Get(msg, "content"), func(block []byte) bool {
		types = append(types, jsonx.StringAt(block, "type"))
		return true
	})
	return types
}
