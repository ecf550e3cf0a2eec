package transcript_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/clew-dev/clew/transcript"
)

// Read recognises what wrote a file and turns it into a session.
func ExampleRead() {
	log := `{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","timestamp":"2026-01-05T15:02:01.663Z","message":{"role":"user","content":"fix the flaky test"}}
{"type":"assistant","uuid":"b","parentUuid":"a","sessionId":"s","timestamp":"2026-01-05T15:02:06.978Z","message":{"id":"m1","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"I look at it."}],"usage":{"input_tokens":10,"output_tokens":4}}}
{"type":"assistant","uuid":"c","parentUuid":"b","sessionId":"s","timestamp":"2026-01-05T15:02:07.100Z","message":{"id":"m1","role":"assistant","model":"claude-opus-4-5","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"go test ./..."}}],"usage":{"input_tokens":10,"output_tokens":31}}}
{"type":"progress","uuid":"d","parentUuid":"c","sessionId":"s","data":{"type":"bash_progress"}}
`
	t, err := transcript.Read(strings.NewReader(log), transcript.ReadOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(t.Format)
	for _, e := range t.Entries {
		m, _ := e.Message()
		fmt.Println(m.Role, m.Text(), len(m.ToolCalls()))
	}
	fmt.Println(t.Report.Notes[0])
	// Output:
	// claude-code
	// user fix the flaky test 0
	// assistant I look at it. 1
	// aside: lines of the type progress, which are no part of the conversation (1, first at 4, d)
}

// Read tells what a file is by its content.
func ExampleRead_format() {
	t, err := transcript.Read(strings.NewReader(`{"timestamp":"2026-01-05T15:02:01Z","type":"session_meta","payload":{"id":"0199"}}
		{"timestamp":"2026-01-05T15:02:02Z","type":"event_msg","payload":{"type":"user_message","message":"hello"}}
		{"timestamp":"2026-01-05T15:02:02Z","type":"response_item","payload":{"type":"message","role":"user","content":"hello"}}`), transcript.ReadOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(t.Format, "-", t.Why)
	// Output: codex - lines have a payload (the first is "session_meta")
}

// Write gives a session to another program: here a list of messages becomes lines
// that Claude Code resumes.
func ExampleWrite() {
	t, err := transcript.Read(strings.NewReader(`[
		{"role": "user", "content": "fix the flaky test"},
		{"role": "assistant", "content": null, "tool_calls": [
			{"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"go test ./...\"}"}}]},
		{"role": "tool", "tool_call_id": "call_1", "content": "ok"}]`), transcript.ReadOptions{})
	if err != nil {
		panic(err)
	}
	var out bytes.Buffer
	w, err := transcript.Write(context.Background(), &out, t.Store(), transcript.ClaudeCode, transcript.WriteOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(t.Format, "to", w.Format, w.Messages)
	again, err := transcript.Read(&out, transcript.ReadOptions{})
	if err != nil {
		panic(err)
	}
	for _, e := range again.Entries {
		m, _ := e.Message()
		fmt.Printf("%s %q\n", m.Role, m.Text())
	}
	// Output:
	// openai-chat to claude-code 3
	// user "fix the flaky test"
	// assistant ""
	// toolResult "ok"
}
