// Package testchat writes conversations for tests.
//
//	t := testchat.New()
//	t.User("fix the flaky test")
//	t.Call("bash", `{"command":"go test ./..."}`, "FAIL\nCommand exited with code 1").Failed()
//	t.Say("It is the clock.")
//	items := t.Items()
//
// Ids and times depend on nothing but the order of the calls.
package testchat

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Chat is a conversation in the making.
type Chat struct {
	items []session.Item
	calls int
	// Tag begins every id, so that two conversations have none in common.
	Tag string
}

// New returns an empty conversation.
func New() *Chat { return &Chat{Tag: "e"} }

// Start is the time of the first message.
var Start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Add appends a message and returns the id of its entry.
func (t *Chat) Add(m *message.Message) string {
	n := len(t.items)
	if m.Timestamp == 0 {
		m.Timestamp = Start.Add(time.Duration(n) * time.Second).UnixMilli()
	}
	id := fmt.Sprintf("%s%07x%08x", t.Tag, uint32(n+1)*0x9e3779b1>>4, n)
	raw := fmt.Sprintf(`{"type":"message","id":%q,"parentId":null,"timestamp":"2026-01-02T03:04:05Z","message":%s}`, id, m.JSON())
	e, err := session.ParseEntry([]byte(raw))
	if err != nil {
		panic(err)
	}
	parsed, err := e.Message()
	if err != nil {
		panic(err)
	}
	t.items = append(t.items, session.Item{Message: parsed, Entry: e, At: n})
	return id
}

// User appends what the user typed.
func (t *Chat) User(text string) string {
	return t.Add(&message.Message{Role: message.RoleUser, Content: []message.Block{message.TextBlock(text)}})
}

// Say appends an answer without calls.
func (t *Chat) Say(text string) string {
	return t.Add(&message.Message{Role: message.RoleAssistant, Content: []message.Block{message.TextBlock(text)}, StopReason: message.StopEnd})
}

// Result is the result of a call that was just appended.
type Result struct {
	t  *Chat
	ID string // of the entry
}

// Call appends an answer that calls a tool, and the result.
func (t *Chat) Call(name, arguments, result string) Result {
	return t.SayCall("", name, arguments, result)
}

// SayCall is Call with text before the call.
func (t *Chat) SayCall(text, name, arguments, result string) Result {
	if !json.Valid([]byte(arguments)) {
		panic("arguments are no JSON: " + arguments)
	}
	t.calls++
	id := fmt.Sprintf("%s-call-%d", t.Tag, t.calls)
	var blocks []message.Block
	if text != "" {
		blocks = append(blocks, message.TextBlock(text))
	}
	blocks = append(blocks, message.ToolCallBlock(id, name, json.RawMessage(arguments)))
	t.Add(&message.Message{Role: message.RoleAssistant, Content: blocks, StopReason: message.StopToolUse})
	return Result{t, t.Add(&message.Message{
		Role: message.RoleToolResult, ToolCallID: id, ToolName: name,
		Content: []message.Block{message.TextBlock(result)},
	})}
}

// Failed makes the result an error.
func (r Result) Failed() Result {
	last := &r.t.items[len(r.t.items)-1]
	m := *last.Message
	r.t.items = r.t.items[:len(r.t.items)-1]
	r.ID = r.t.Add(&message.Message{
		Role: m.Role, ToolCallID: m.ToolCallID, ToolName: m.ToolName, Content: m.Content, IsError: true, Timestamp: m.Timestamp,
	})
	return r
}

// Bash appends a command line that a tool named bash runs.
func (t *Chat) Bash(command, output string) Result {
	return t.Call("bash", Args("command", command), output)
}

// Args returns a JSON object of names and strings.
func Args(pairs ...string) string {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Items returns the conversation.
func (t *Chat) Items() []session.Item { return t.items }
