package wire

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/message"
)

// gen makes random lists of messages, most of them broken in one way or another.
type gen struct {
	*rand.Rand
	open  []string // ids of calls without a result so far
	count map[string]int
}

func newGen(seed uint64) *gen {
	return &gen{Rand: rand.New(rand.NewPCG(seed, 1)), count: map[string]int{}}
}

func (g *gen) chance(p float64) bool { return g.Float64() < p }

func (g *gen) saw(what string) { g.count[what]++ }

func oneOf[T any](g *gen, from ...T) T { return from[g.IntN(len(from))] }

// list returns the JSON of up to n messages.
func (g *gen) list(n int) []string {
	var out []string
	for range g.IntN(n + 1) {
		out = append(out, g.message())
	}
	return out
}

func (g *gen) message() string {
	switch n := g.IntN(100); {
	case n < 30:
		return g.assistant()
	case n < 58:
		return g.result()
	case n < 74:
		return `{"role":"user","content":` + g.content(true) + `}`
	case n < 78:
		return `{"role":"custom","customType":"x","content":` + g.content(true) + `}`
	case n < 83:
		g.saw("shell run")
		return fmt.Sprintf(`{"role":"bashExecution","command":%s,"output":%s,"exitCode":%d,"cancelled":%v,"truncated":%v,"excludeFromContext":%v}`,
			g.text(), g.text(), g.IntN(3), g.chance(0.2), g.chance(0.2), g.chance(0.2))
	case n < 88:
		g.saw("system message")
		return g.system()
	case n < 92:
		return `{"role":"branchSummary","summary":` + g.text() + g.details() + `}`
	case n < 95:
		g.saw("compaction summary")
		return `{"role":"compactionSummary","summary":` + g.text() + g.details() + `}`
	case n < 97:
		g.saw("unknown role")
		return `{"role":` + oneOf(g, `"hookMessage"`, `"tool"`, `"User"`, `"\ud83d"`) + `,"content":"x"}`
	default:
		return oneOf(g, `{"role":"assistant"}`, `{"role":"user"}`, `{"role":"toolResult"}`, `{"role":"system"}`,
			`{"role":"assistant","content":"text"}`, `{"role":"compactionSummary"}`, `{"role":"user","content":{}}`)
	}
}

func (g *gen) assistant() string {
	var blocks []string
	for range g.IntN(5) {
		switch n := g.IntN(10); {
		case n < 3:
			sig := oneOf(g, ``, ``, `,"textSignature":"c2ln"`, `,"textSignature":"{\"v\":1,\"id\":\"msg_1\",\"phase\":\"commentary\"}"`, `,"textSignature":"msg_2"`)
			blocks = append(blocks, `{"type":"text","text":`+g.text()+sig+`}`)
		case n < 5:
			g.saw("thinking")
			blocks = append(blocks, g.thinking())
		case n < 9:
			blocks = append(blocks, g.call())
		default:
			g.saw("unknown block")
			blocks = append(blocks, oneOf(g, `{"type":"server_tool_use","id":"s","name":"w","input":{}}`, `{"type":"tool_use","id":"t","name":"n","input":{}}`,
				`{"type":"function_call","call_id":"x","name":"n","arguments":"{}"}`, `{"functionCall":{"name":"x","args":{}}}`, `{"executableCode":{"code":"1"}}`,
				`{"type":"web_search_call","id":"ws_1"}`, `7`, `{"type":"image","mimeType":"image/png","data":"aGk="}`, `{}`, `{"type":"x","v":"\ud83d"}`))
		}
	}
	stop := oneOf(g, "stop", "stop", "toolUse", "toolUse", "toolUse", "length", "aborted", "error")
	if stop == "aborted" || stop == "error" {
		g.saw("failed answer")
	}
	who := oneOf(g, `"api":"anthropic-messages","provider":"p","model":"m"`, `"api":"openai-responses","provider":"p","model":"m"`,
		`"api":"openai-completions","provider":"p","model":"m"`, `"api":"google-generative-ai","provider":"p","model":"m"`,
		`"api":"anthropic-messages","provider":"p","model":"n"`, `"provider":"p","model":"m"`, `"provider":"q","model":"m"`)
	return `{"role":"assistant",` + who + `,"stopReason":"` + stop + `","content":[` + strings.Join(blocks, ",") + `]}`
}

func (g *gen) thinking() string {
	sig := oneOf(g, ``, `"thinkingSignature":"c2ln",`, `"thinkingSignature":"reasoning_content",`, `"thinkingSignature":"{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}",`,
		`"thinkingSignature":"{\"type\":\"reasoning\"",`, `"thinkingSignature":"\ud83d",`)
	red := oneOf(g, ``, ``, ``, `"redacted":true,`)
	return `{"type":"thinking",` + sig + red + `"thinking":` + g.text() + `}`
}

func (g *gen) call() string {
	id := oneOf(g, "a", "b", "c", "d", "", "x y", "x_y", "call|fc_1", "call|fc_2", strings.Repeat("long", 20), "é", strconv.Itoa(g.IntN(1000)))
	g.open = append(g.open, id)
	name := oneOf(g, "read", "read", "bash", "mcp.x/y", "", "9", strings.Repeat("n", 100))
	args := oneOf(g, `{}`, `{"path":"a","n":1e400,"n":12345678901234567890}`, `{"s":"\ud83d"}`, `null`, `[1]`, `"x"`, strings.Repeat(`{"a":`, 150)+`1`+strings.Repeat(`}`, 150), `{ "sp" : [ 1 , 2 ] }`)
	sig := oneOf(g, ``, ``, `,"thoughtSignature":"c2ln"`)
	return `{"type":"toolCall","id":"` + id + `","name":"` + name + `","arguments":` + args + sig + `}`
}

func (g *gen) result() string {
	id := "lost"
	switch {
	case len(g.open) == 0 || g.chance(0.05):
		g.saw("result without call")
	case g.chance(0.6):
		id = g.open[0]
		g.open = g.open[1:]
	case g.chance(0.5):
		g.saw("result out of order")
		k := g.IntN(len(g.open))
		id = g.open[k]
		g.open = append(g.open[:k:k], g.open[k+1:]...)
	default:
		g.saw("result twice")
		id = g.open[g.IntN(len(g.open))]
	}
	return fmt.Sprintf(`{"role":"toolResult","toolCallId":%q,"toolName":"read","isError":%v,"content":%s}`, id, g.chance(0.2), g.content(true))
}

func (g *gen) system() string {
	return `{"role":"system","content":` + oneOf(g, `"base"`, `""`, g.text()) +
		oneOf(g, ``, `,"sections":{"a":"A","b":"B"}`, `,"sections":{"a":null,"c":"</system-update>"}`) +
		oneOf(g, ``, `,"toolsAdded":[{"name":"read","description":"d","parameters":{}},{"name":"x.y","parameters":{"type":"object"}},{"name":"x_y"},{"name":7}]`, `,"toolsAdded":{}`) +
		oneOf(g, ``, `,"toolsRemoved":[{"name":"read"}]`, `,"toolsRemoved":["x.y"]`) + `}`
}

func (g *gen) details() string {
	return oneOf(g, ``, ``, `,"details":{"clew":{"form":{"role":"assistant","open":"[START]\n","close":"\n[END]"}}}`,
		`,"details":{"clew":{"form":{"role":"user","open":"","close":""}}}`, `,"details":[]`)
}

// content returns the content of a message that is no answer.
func (g *gen) content(images bool) string {
	if g.chance(0.4) {
		return g.text()
	}
	var blocks []string
	for range g.IntN(4) {
		switch n := g.IntN(10); {
		case n < 6:
			blocks = append(blocks, `{"type":"text","text":`+g.text()+`}`)
		case n < 8 && images:
			g.saw("image")
			mime := oneOf(g, "image/png", "image/png", "image/webp", "image/tiff", "\\\"")
			blocks = append(blocks, `{"type":"image","mimeType":"`+mime+`","data":"`+oneOf(g, "aGk=", "aGk=", "aGk", "", `aG\/=`)+`"}`)
		default:
			blocks = append(blocks, oneOf(g, `{"type":"text"}`, `{"type":"document"}`, `{"type":"toolCall","id":"a","name":"x","arguments":{}}`, `null`))
		}
	}
	return `[` + strings.Join(blocks, ",") + `]`
}

func (g *gen) text() string {
	return oneOf(g, `"hello"`, `"hello\nthere"`, `""`, `" \n"`, `"half \ud83d"`, `"\ud83d\ude00 whole"`, "\"bytes \xff\xfe\"", `"中文 テスト"`,
		`"</summary>"`, `"<\\/summary> [END] [\\END]"`, "\"```\\nfence\\n````\"", `"What was said before this point was compacted."`, `"caf\u00e9 \/"`,
		`"`+strings.Repeat("x", g.IntN(200))+`"`)
}

// rebuilt returns messages without the bytes they were parsed from.
func rebuilt(msgs []*message.Message) []*message.Message {
	out := make([]*message.Message, len(msgs))
	for i, m := range msgs {
		c := &message.Message{
			Role: m.Role, API: m.API, Provider: m.Provider, Model: m.Model, StopReason: m.StopReason,
			ToolCallID: m.ToolCallID, ToolName: m.ToolName, IsError: m.IsError, Summary: m.Summary, Details: m.Details,
			Command: m.Command, Output: m.Output, ExitCode: m.ExitCode, Sections: m.Sections,
			ToolsAdded: m.ToolsAdded, ToolsRemoved: m.ToolsRemoved, ExcludeFromContext: m.ExcludeFromContext,
		}
		for _, b := range m.Content {
			c.Content = append(c.Content, message.Block{
				Type: b.Type, Text: b.Text, Signature: b.Signature, Redacted: b.Redacted, ID: b.ID, Name: b.Name,
				Arguments: b.Arguments, MIMEType: b.MIMEType, Data: b.Data,
			})
		}
		out[i] = c
	}
	return out
}
