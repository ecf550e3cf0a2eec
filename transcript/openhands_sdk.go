package transcript

import (
	"cmp"
	"strings"

	"github.com/clew-dev/clew/message"
)

// The events of OpenHands' agent SDK, which name their kind: calls as the model made
// them, results as it was shown them.
// https://docs.openhands.dev/sdk/api-reference/openhands.sdk.event

func (o *openHands) sdk(f fields, line int) *node {
	at := f["timestamp"].time()
	id := f.str("id")
	switch kind := f.str("kind"); kind {
	case "SystemPromptEvent":
		blocks := o.openAIContent(array(f["system_prompt"]), line)
		m := &message.Message{Role: message.RoleSystem, Content: blocks, ToolsAdded: chatTools(f["tools"])}
		return o.say(m, at, line, id)
	case "MessageEvent":
		msg := f["llm_message"].fields()
		blocks := append(o.openAIContent(msg["content"], line), o.openAIContent(f["extended_content"], line)...)
		switch {
		case len(blocks) == 0:
			o.empty(line, id)
			return nil
		case f.str("source") == "user":
			return o.user(message.OriginUser, blocks, at, line, id)
		case f.str("source") == "agent":
			m := o.chatAnswer(msg, line)
			m.Model = o.model
			return o.say(m, at, line, id)
		}
		return o.user(message.OriginInjected, blocks, at, line, id)
	case "ActionEvent":
		return o.sdkAction(f, line, id)
	case "ObservationEvent", "AgentErrorEvent", "UserRejectObservation":
		return o.sdkResult(f, line, id)
	case "Condensation":
		return o.condense(o.raw, f, line)
	case "CondensationSummaryEvent":
		o.note(Aside, "event:"+kind, line, id, "summaries that a condensation has too")
		return nil
	default:
		o.note(Aside, "event:"+kind, line, id, "events of the program, which are no part of the conversation")
		return nil
	}
}

// sdkAction adds a call to the answer it came with.
func (o *openHands) sdkAction(f fields, line int, id string) *node {
	resp := f.str("llm_response_id")
	n := o.answers[resp]
	if n == nil || resp == "" {
		m := &message.Message{Role: message.RoleAssistant, API: apiChat, Model: o.model, StopReason: message.StopToolUse}
		for _, th := range f["thinking_blocks"].list() {
			if block, ok := o.anthropicBlock(th, line); ok {
				m.Content, m.API = append(m.Content, block), apiAnthropic
			}
		}
		if s := f.str("reasoning_content"); s != "" && len(m.Content) == 0 {
			m.Content = append(m.Content, message.ThinkingBlock(s, "reasoning_content"))
		}
		m.Content = append(m.Content, o.openAIContent(f["thought"], line)...)
		m.Usage = o.usage[resp]
		n = o.say(m, f["timestamp"].time(), line, id)
		o.answers[resp] = n
	}
	call := f["tool_call"]
	name := cmp.Or(call.str("name"), call.str("function", "name"), f.str("tool_name"))
	args := call.get("arguments")
	if !args.has() {
		args = call.get("function", "arguments")
	}
	callID := cmp.Or(f.str("tool_call_id"), call.str("id"))
	if !args.has() {
		args = f["action"]
	}
	n.msg.Content = append(n.msg.Content, message.ToolCallBlock(callID, name, o.callArguments(args, line, callID)))
	o.names[callID] = name
	return n
}

// sdkResult adds what a call came to.
func (o *openHands) sdkResult(f fields, line int, id string) *node {
	obs := f["observation"]
	blocks := o.openAIContent(obs.get("content"), line)
	if len(blocks) == 0 {
		text := cmp.Or(f.str("error"), f.str("rejection_reason"), obs.str("output"), obs.str("error"))
		if text == "" && obs.isObject() {
			text = string(obs)
		}
		blocks = []message.Block{message.TextBlock(strings.Clone(text))}
	}
	failed := f.str("kind") != "ObservationEvent" || obs.bool("is_error") || obs.failing("exit_code")
	return o.result(f.str("tool_call_id"), f.str("tool_name"), blocks, failed, f["timestamp"].time(), line, id)
}
