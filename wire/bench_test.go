package wire

import (
	"fmt"
	"strings"
	"testing"

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

// BenchmarkBuild is what every request costs: 20, 200 and 2,000 turns of 5
// messages, with and without the check.
func BenchmarkBuild(b *testing.B) {
	for _, times := range []int{1, 10, 100} {
		var msgs []*message.Message
		for n := range 20 * times {
			msgs = append(msgs, turnOf(b, n)...)
		}
		for _, p := range profiles() {
			p.MaxBytes = 0
			l, _, err := Normalize(msgs, p, targets[0], Options{})
			if err != nil {
				b.Fatal(err)
			}
			size := Render(l).Size()
			b.Run(fmt.Sprintf("%s/%dx/render", p.Name, times), func(b *testing.B) {
				b.SetBytes(size)
				b.ReportAllocs()
				for b.Loop() {
					l, _, _ := Normalize(msgs, p, targets[0], Options{})
					Render(l)
				}
			})
			b.Run(fmt.Sprintf("%s/%dx/build", p.Name, times), func(b *testing.B) {
				b.SetBytes(size)
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := Build(msgs, p, targets[0], Options{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
