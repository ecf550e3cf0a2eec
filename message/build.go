package message

import "time"

// User returns a message typed by the user.
func User(text string, at time.Time) *Message {
	return &Message{Role: RoleUser, Content: []Block{TextBlock(text)}, Timestamp: at.UnixMilli()}
}

// Assistant returns a complete answer. Set Usage, Provider and Model on it
// before it is appended.
func Assistant(at time.Time, blocks ...Block) *Message {
	m := &Message{Role: RoleAssistant, Content: blocks, StopReason: StopEnd, Timestamp: at.UnixMilli()}
	for _, b := range blocks {
		if b.Type == BlockToolCall {
			m.StopReason = StopToolUse
		}
	}
	return m
}

// ToolResult returns the result of the call with id callID.
func ToolResult(callID, toolName, text string, isError bool, at time.Time) *Message {
	return &Message{
		Role: RoleToolResult, ToolCallID: callID, ToolName: toolName,
		Content: []Block{TextBlock(text)}, IsError: isError, Timestamp: at.UnixMilli(),
	}
}

// System returns a system message.
func System(text string, at time.Time) *Message {
	return &Message{Role: RoleSystem, Content: []Block{TextBlock(text)}, Timestamp: at.UnixMilli()}
}
