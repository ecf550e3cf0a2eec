package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
)

// turnOf returns the messages of one turn of an agent: a request, two calls at
// once with results of a few kilobytes, an answer.
func turnOf(t testing.TB, n int) []*message.Message {
	text := strings.Repeat("the quick brown fox \\n jumps over 中文 ", 60)
	return parseAll(
		t,
		fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"do %d"}]}`, n),
		fmt.Sprintf(`{"role":"assistant","api":"anthropic-messages","provider":"p","model":"m","stopReason":"toolUse","content":[{"type":"thinking","thinking":"%s","thinkingSignature":"c2ln"},{"type":"toolCall","id":"a%d","name":"read","arguments":{"path":"a.go"}},{"type":"toolCall","id":"b%d","name":"read","arguments":{"path":"b.go"}}]}`, text, n, n),
		fmt.Sprintf(`{"role":"toolResult","toolCallId":"b%d","toolName":"read","content":[{"type":"text","text":"%s"}]}`, n, text),
		fmt.Sprintf(`{"role":"toolResult","toolCallId":"a%d","toolName":"read","content":[{"type":"text","text":"%s"}]}`, n, text),
		`{"role":"assistant","provider":"p","model":"m","stopReason":"stop","content":[{"type":"text","text":"done"}]}`,
	)
}

// typedMessage and typedBlock are the messages of the Messages API as a program
// without clew declares them.
type typedMessage struct {
	Role    string       `json:"role"`
	Content []typedBlock `json:"content"`
}

type typedBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  string          `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []typedBlock    `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
}

// BenchmarkRender compares a request for the Messages API, checked and as the bytes
// of a body, with what encoding/json takes to write the same messages from typed
// structs: of 20, 200 and 2,000 turns of 5 messages. "ratio" is the time of the
// request in those of json.Marshal; both are measured in turns, and the least of each
// counts, so that a busy machine does not decide.
func BenchmarkRender(b *testing.B) {
	for _, times := range []int{1, 10, 100} {
		var msgs []*message.Message
		for n := range 20 * times {
			msgs = append(msgs, turnOf(b, n)...)
		}
		p := Anthropic
		p.MaxBytes = 0
		r, _, err := Build(msgs, p, targets[0], Options{})
		if err != nil {
			b.Fatal(err)
		}
		var typed []typedMessage
		if err := json.Unmarshal(r.List(), &typed); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%dx", times), func(b *testing.B) {
			b.SetBytes(r.Size())
			b.ReportAllocs()
			ours, marshal := time.Hour, time.Hour
			for b.Loop() {
				start := time.Now()
				r, _, err := Build(msgs, p, targets[0], Options{})
				if err != nil {
					b.Fatal(err)
				}
				r.Body(p, nil)
				ours = min(ours, time.Since(start))
				start = time.Now()
				if _, err := json.Marshal(typed); err != nil {
					b.Fatal(err)
				}
				marshal = min(marshal, time.Since(start))
			}
			b.ReportMetric(float64(ours)/float64(marshal), "ratio")
			b.ReportMetric(float64(r.Size())/ours.Seconds()/1e6, "ours-MB/s")
			b.ReportMetric(float64(r.Size())/marshal.Seconds()/1e6, "Marshal-MB/s")
		})
	}
}
