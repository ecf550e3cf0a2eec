package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// hostile are raw parts that are no JSON, more than one value, too deep, or hold what servers refuse. Most are
// longer than what is checked anew in every request.
func hostile(g *gen) string {
	long := strings.Repeat("long enough to be copied unread ", 3)
	return oneOf(g, `{`, `}`, `{"a":1}}`, `{"a":1} {"b":2}`, `{"a":`+long, `{"`+long+`":"`+long+`}`, `"`+long, `[]`, `{}`, `null`, ``,
		`{"a":"`+long+`\ud83d"}`, `{"a":"`+long+"\xff"+`"}`, `{"a":"`+long+"\n"+`"}`, `{"`+long+`":"fit"}`, ` {"a":1}`, `{"a":1} `, "\x00",
		strings.Repeat(`{"a":`, 150)+`1`+strings.Repeat(`}`, 150), `{"type":"reasoning","id":"rs_1","summary":["`+long+`"]}`,
		`{"type":"reasoning","id":"rs_1","summary":["`+long+`"`, `"],"role":"user"},{"x":"`, long+"\xc3", long+`\ud83d`, "c2ln", long)
}

// TestPropertyHostileParts: whatever raw parts a message is built or parsed with, a body is JSON that any server
// reads, and the independent check takes it.
func TestPropertyHostileParts(t *testing.T) {
	at, sent, seeds := time.UnixMilli(1), 0, 400
	if testing.Short() {
		seeds = 60
	}
	for seed := range uint64(seeds) {
		g := newGen(seed)
		var msgs []*message.Message
		for range g.IntN(6) + 1 {
			answer := message.Assistant(at, message.ThinkingBlock(hostile(g), hostile(g)), message.TextBlock(hostile(g)),
				message.ToolCallBlock(hostile(g), hostile(g), []byte(hostile(g))), message.ImageBlock(hostile(g), hostile(g)))
			answer.Provider, answer.Model, answer.StopReason = "p", "m", message.StopToolUse
			answer.Content[1].Signature, answer.Content[2].Signature = hostile(g), hostile(g)
			system := message.System(hostile(g), at)
			system.ToolsAdded = []byte(oneOf(g, hostile(g), `[`+hostile(g)+`]`, `[{"name":"t","parameters":`+hostile(g)+`}]`))
			msgs = append(msgs, oneOf(g, message.User(hostile(g), at), system), answer,
				message.ToolResult(answer.Content[2].ID, hostile(g), hostile(g), false, at))
			line := fmt.Sprintf(`{"role":"assistant","api":"openai-responses","provider":"p","model":"m","content":[{"type":"text","text":"%s"},{"type":"thinking","thinking":"%[1]s","thinkingSignature":"c2ln"},{"type":"x","v":"%[1]s"},{"type":"text","text":"."}]}`,
				oneOf(g, strings.Repeat("long ", 20), strings.Repeat("long ", 20)+`\ud83d`, strings.Repeat("long ", 20)+"\xff", "\\"))
			if m, err := message.Parse([]byte(line)); err == nil {
				msgs = append(msgs, m)
			}
		}
		for _, p := range profiles() {
			if p.form == formPi {
				continue // it passes on what is stored, which a built message may have anything in
			}
			for _, target := range targets {
				r, _, err := Build(msgs, p, target, Options{CloseOpenCalls: true})
				if err != nil {
					t.Fatalf("list %d for %s: %v", seed, p.Name, err)
				}
				sent++
				if body := r.Body(p, p.Head("m", 9)); !json.Valid(body) || !jsonx.Sound(body) {
					t.Fatalf("list %d for %s: %s", seed, p.Name, body)
				}
				if err := Validate(r, p, msgs); err != nil {
					t.Fatalf("list %d for %s: %v", seed, p.Name, err)
				}
			}
		}
	}
	t.Logf("%d requests", sent)
}

// TestToolsSayNothingOfMessages: the long values of the tools do not stand for those of a first message that is
// passed on as it is.
func TestToolsSayNothingOfMessages(t *testing.T) {
	item := `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"` + strings.Repeat("x", 200) + `"}]}`
	system := message.System("s", time.UnixMilli(1))
	system.ToolsAdded = []byte(`[{"name":"t","parameters":{"type":"object","properties":{},"description":"` + strings.Repeat("y", 400) + `"}}]`)
	answer := message.Assistant(time.UnixMilli(1), message.ThinkingBlock("", item), message.TextBlock("hi"))
	answer.Provider, answer.Model = "p", "m"
	if _, _, err := Build([]*message.Message{system, answer}, OpenAIResponses, targets[0], Options{}); err != nil {
		t.Error(err)
	}
}
