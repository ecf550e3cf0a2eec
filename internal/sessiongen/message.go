package sessiongen

import (
	"strconv"
	"strings"
)

type model struct{ api, provider, id string }

var models = []model{
	{"anthropic-messages", "anthropic", "claude-opus-4-5"},
	{"anthropic-messages", "anthropic", "claude-sonnet-4-5"},
	{"openai-responses", "openai", "gpt-5"},
	{"openai-completions", "openrouter", "deepseek/deepseek-chat"},
	{"google-generative-ai", "google", "gemini-2.5-pro"},
}

// message adds an entry of type message. body is the message from its role on,
// without the timestamp.
func (g *gen) message(n node, role, body string) int {
	n.role = role
	n.visible = len(body)
	n.editable = role == "user" || role == "assistant" || role == "toolResult"
	return g.add(n, `,"message":{"role":"`+role+`"`+body+`,"timestamp":`+strconv.FormatInt(g.now, 10)+`}`)
}

func (g *gen) user() {
	g.users++
	if g.users%3 == 2 && g.users/3 < g.o.HugeUsers {
		g.mark(HugeTexts)
		g.message(g.fresh("message"), "user", `,"content":"`+g.huge(g.o.HugeUserBytes)+`"`)
		return
	}
	g.message(g.fresh("message"), "user", `,"content":`+g.content(0.3))
}

// content returns a string with the given probability, otherwise blocks.
func (g *gen) content(asString float64) string {
	if g.r.chance(asString) {
		return `"` + g.text(g.r.size(g.o.UserBytes)) + `"`
	}
	return g.blocks(g.o.UserBytes)
}

// blocks returns a list of content blocks for a user, a result or an extension.
func (g *gen) blocks(limit int) string {
	var b strings.Builder
	b.WriteString(`[{"type":"text","text":"`)
	if !g.r.chance(0.04) {
		b.WriteString(g.text(g.r.size(limit)))
	}
	b.WriteString(`"}`)
	if g.r.chance(0.1) {
		b.WriteString(`,{"type":"text","text":"` + g.text(g.r.size(limit/2)) + `"}`)
	}
	if g.r.chance(g.o.Odds.Image) {
		b.WriteString("," + g.imageBlock())
	}
	if g.r.chance(g.o.Odds.ExtraFields / 2) {
		b.WriteString(`,{"type":"chart","points":[1,2,3]}`)
		g.mark(UnknownRecords)
	}
	b.WriteString("]")
	return b.String()
}

// answer adds an assistant message and the results of its calls.
func (g *gen) answer() {
	d := &g.o.Odds
	stop := pick(&g.r, []string{"stop", "stop", "stop", "stop", "stop", "stop", "stop", "length"})
	failed := g.r.chance(d.Failed)
	if failed {
		stop = pick(&g.r, []string{"aborted", "error"})
		g.mark(FailedAnswers)
	}
	var content []string
	empty := failed && g.r.chance(0.5)
	if !empty && g.r.chance(d.Thinking) {
		content = append(content, g.thinking())
	}
	if !empty && g.r.chance(0.8) {
		block := `{"type":"text","text":"` + g.text(g.r.size(g.o.AnswerBytes)) + `"`
		if g.r.chance(0.05) {
			block += `,"textSignature":"msg_` + g.r.hex(12) + `"`
		}
		content = append(content, block+"}")
	}
	var calls []call
	if g.r.chance(d.Tools) && !(failed && (g.o.WellFormed || g.r.chance(0.6))) {
		calls = g.calls()
		if !failed {
			stop = "toolUse"
		}
	}
	n := g.fresh("message")
	for _, c := range calls {
		n.calls = append(n.calls, c.block)
		content = append(content, c.block)
	}
	if len(calls) > 0 && g.r.chance(0.1) { // text after the calls
		content = append(content, `{"type":"text","text":"`+g.text(g.r.size(100))+`"}`)
	}
	body := `,"content":[` + strings.Join(content, ",") + `]`
	m := models[g.model]
	body += `,"api":"` + m.api + `","provider":"` + m.provider + `","model":"` + m.id + `"`
	used := 0
	if g.cur >= 0 {
		used = g.nodes[g.cur].visible
	}
	if g.o.WellFormed || !g.r.chance(0.03) {
		body += `,"usage":` + g.usage(used/3)
	}
	body += `,"stopReason":"` + stop + `"`
	if failed && g.r.chance(0.8) {
		body += `,"errorMessage":"` + g.text(g.r.size(120)) + `"`
	}
	if g.r.chance(0.05) {
		body += `,"responseId":"resp_` + g.r.hex(10) + `","diagnostics":[{"kind":"retry","attempt":1}]`
	}
	if len(calls) == 0 {
		g.message(n, "assistant", body)
		return
	}

	order := make([]int, 0, len(calls))
	for i := range calls {
		if !g.r.chance(d.Missing) && (!failed || g.r.chance(0.2)) {
			order = append(order, i)
		}
	}
	if len(order) > 1 && g.r.chance(d.Shuffle) {
		was := append([]int(nil), order...)
		g.r.shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for i := range order {
			if order[i] != was[i] {
				g.mark(ShuffledResults)
				break
			}
		}
	}
	if len(calls) > 1 {
		g.mark(ParallelCalls)
	}
	// The answer itself is a child of a whole unit, so it is added outside the batch.
	n.open = len(calls)
	n.unit = len(g.nodes)
	unit := g.message(n, "assistant", body)
	g.batch = true
	for k, i := range order {
		g.depth = len(calls) - k
		g.between()
		g.depth = len(calls) - k - 1
		g.result(unit, calls[i])
		if !g.o.WellFormed && g.r.chance(0.01) {
			g.result(unit, calls[i]) // once more
		}
	}
	g.batch, g.depth = false, 0
}

// between now and then adds something that is not in the context among the results.
func (g *gen) between() {
	switch {
	case g.o.Version == 1 || !g.r.chance(0.05):
	case g.r.chance(0.5):
		g.custom()
	default:
		g.label()
	}
}

type call struct{ id, name, block string }

func (g *gen) calls() []call {
	n := 1
	if g.r.chance(g.o.Odds.Parallel) {
		n = g.r.between(2, 6)
	}
	calls := make([]call, n)
	for i := range calls {
		c := &calls[i]
		c.id = g.callID(i)
		var args string
		c.name, args = g.arguments()
		c.block = `{"type":"toolCall","id":"` + c.id + `","name":"` + c.name + `","arguments":` + args
		if g.r.chance(0.05) {
			c.block += `,"thoughtSignature":"` + g.r.base64(g.r.size(60)) + `"`
		}
		c.block += "}"
	}
	return calls
}

// callID follows one provider's form through a session. In a wild session ids
// may come back in later answers, as some providers make them.
func (g *gen) callID(i int) string {
	if g.reuseCalls {
		return "call_" + strconv.Itoa(i)
	}
	switch g.callStyle {
	case 0:
		return "toolu_01" + g.r.hex(22)
	case 1:
		return "call_" + g.r.hex(24)
	case 2:
		return "call_" + g.r.hex(12) + "|fc_" + g.r.hex(40)
	default:
		return "c" + strconv.Itoa(len(g.nodes)) + "_" + strconv.Itoa(i)
	}
}

func (g *gen) arguments() (name, args string) {
	if g.r.chance(g.o.Odds.OddArguments) {
		g.mark(OddArguments)
		odd := []string{
			`{"half":"x\ud83dx","e":"\u00e9"}`,
			`{"x":"first","x":"second"}`,
			`{}`,
			`{"path":"main.go","n":1.0,"big":12345678901234567890,"small":1e-7,"e":1E5,"z":-0}`,
			`{"b":"\u2028\u007f\u0001\/","2":"two","1":"one"}`,
			`{"path":["main.go"],"deep":{"a":{"b":[[],{},null,true]}}}`,
			`{"text":"a\n\t\\b","":""}`,
		}
		if g.o.WellFormed {
			odd = odd[2:]
		}
		which := g.r.n(len(odd))
		if which == 0 && !g.o.WellFormed {
			g.mark(LoneSurrogates)
		}
		return pick(&g.r, []string{"plot", "read", "mcp__db__query"}), odd[which]
	}
	switch g.r.n(6) {
	case 0, 1:
		args = `{"path":"` + g.path() + `"`
		if g.r.chance(0.4) {
			args += `,"offset":` + strconv.Itoa(g.r.n(2000)) + `,"limit":` + strconv.Itoa(g.r.between(1, 500))
		}
		return "read", args + "}"
	case 2:
		return "write", `{"path":"` + g.path() + `","content":"` + g.text(g.r.size(g.o.AnswerBytes)) + `"}`
	case 3:
		return "edit", `{"path":"` + g.path() + `","oldText":"` + g.text(g.r.size(120)) + `","newText":"` + g.text(g.r.size(120)) + `"}`
	case 4:
		return "bash", `{"command":"` + g.command() + `","timeout":` + strconv.Itoa(g.r.between(1, 600)) + `}`
	default:
		return "grep", `{"pattern":"` + pick(&g.r, words) + `","path":"` + g.path() + `","ignoreCase":` + strconv.FormatBool(g.r.chance(0.5)) + `}`
	}
}

func (g *gen) command() string {
	return pick(&g.r, []string{
		"go test .\\/...", `grep -rn \"` + pick(&g.r, words) + `\" .`, "ls -la", "git diff --stat", "npm run build 2>&1 | tail -20",
		`sed -i 's\/a\/b\/' main.go`, "cat <<'EOF' > note.txt\\n" + pick(&g.r, words) + "\\nEOF", "echo 你好",
	})
}

func (g *gen) result(unit int, c call) {
	g.results++
	var content string
	switch {
	case g.results%4 == 2 && g.results/4 < g.o.HugeResults:
		g.mark(HugeTexts)
		content = `[{"type":"text","text":"` + g.huge(g.o.HugeResultBytes) + `"}]`
	case g.r.chance(0.03):
		content = `[]`
	default:
		content = g.blocks(g.o.ResultBytes)
	}
	body := `,"toolCallId":"` + c.id + `","toolName":"` + c.name + `","content":` + content
	if g.r.chance(0.25) {
		body += `,"details":{"diff":"` + g.text(g.r.size(200)) + `","firstChangedLine":` + strconv.Itoa(g.r.n(900)) + `}`
	}
	body += `,"isError":` + strconv.FormatBool(g.r.chance(0.12))
	n := g.fresh("message")
	n.unit = unit
	at := g.message(n, "toolResult", body)
	g.nodes[unit].results = append(g.nodes[unit].results, at)
}

// thinking returns a block as one of the providers sends it.
func (g *gen) thinking() string {
	block := func(text, rest string) string { return `{"type":"thinking","thinking":"` + text + `"` + rest + `}` }
	if !g.r.chance(g.o.Odds.Signed) {
		return block(g.text(g.r.size(g.o.AnswerBytes)), "")
	}
	g.mark(SignedThinking)
	switch g.r.n(4) {
	case 0: // OpenAI: the signature is the reasoning item itself
		return block(g.text(g.r.size(g.o.AnswerBytes)), `,"thinkingSignature":"{\"type\":\"reasoning\",\"id\":\"rs_`+g.r.hex(16)+
			`\",\"summary\":[],\"encrypted_content\":\"`+g.r.base64(g.r.size(300))+`\"}"`)
	case 1:
		return block("", `,"thinkingSignature":"`+g.r.base64(g.r.size(400))+`","redacted":true`)
	default:
		return block(g.text(g.r.size(g.o.AnswerBytes)), `,"thinkingSignature":"`+g.r.base64(g.r.size(400))+`"`)
	}
}

// usage returns a usage object whose prompt is about size tokens.
func (g *gen) usage(size int) string {
	if !g.o.WellFormed && g.r.chance(0.05) {
		return `{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}`
	}
	size = max(0, size)*g.r.between(80, 130)/100 + g.r.between(20, 3000)
	read := 0
	if g.r.chance(0.7) {
		read = g.r.n(size)
	}
	write := 0
	if g.r.chance(0.3) {
		write = g.r.n(size - read + 1)
	}
	input := size - read - write
	output := g.r.size(4000)
	total := size + output
	if !g.o.WellFormed && g.r.chance(0.05) {
		total = 0 // readers then add the parts up
	}
	var b strings.Builder
	num := func(key string, v int) {
		b.WriteString(`"` + key + `":` + strconv.Itoa(v) + `,`)
	}
	b.WriteByte('{')
	num("input", input)
	num("output", output)
	num("cacheRead", read)
	num("cacheWrite", write)
	if g.r.chance(0.1) {
		num("cacheWrite1h", write/2)
	}
	if g.r.chance(0.2) {
		num("reasoning", g.r.n(output+1))
	}
	num("totalTokens", total)
	cost := func(v int) string { // micro-dollars as dollars
		s := strconv.Itoa(1000000 + v%1000000)
		return strconv.Itoa(v/1000000) + "." + s[1:]
	}
	b.WriteString(`"cost":{"input":` + cost(input*3) + `,"output":` + cost(output*15) + `,"cacheRead":` + cost(read/3) + `,"cacheWrite":` + cost(write*4) +
		`,"total":` + cost(input*3+output*15+read/3+write*4) + `}}`)
	return b.String()
}

func (g *gen) bash() {
	body := `,"command":"` + g.command() + `","output":"`
	if !g.r.chance(0.1) {
		body += g.text(g.r.size(g.o.ResultBytes))
	}
	body += `"`
	cancelled := g.r.chance(0.1)
	if !cancelled {
		body += `,"exitCode":` + pick(&g.r, []string{"0", "0", "0", "1", "2", "127"})
	} else if g.r.chance(0.3) {
		body += `,"exitCode":null`
	}
	body += `,"cancelled":` + strconv.FormatBool(cancelled)
	if g.r.chance(0.15) {
		body += `,"truncated":true,"fullOutputPath":"/home/user/out-` + g.r.hex(8) + `.log"`
	} else {
		body += `,"truncated":false`
	}
	g.mark(BashRuns)
	if g.r.chance(g.o.Odds.Excluded) {
		body += `,"excludeFromContext":true`
		g.mark(BashExcluded)
	}
	g.message(g.fresh("message"), "bashExecution", body)
}

func (g *gen) system() {
	first := g.cur < 0
	m := g.systemMessage(first)
	n := g.fresh("message")
	n.role, n.visible = "system", len(m)
	g.add(n, `,"message":`+m)
}

// systemMessage returns a whole system message: the complete state when first,
// otherwise a patch of some sections and tools.
func (g *gen) systemMessage(first bool) string {
	var b strings.Builder
	b.WriteString(`{"role":"system","content":"`)
	if first || g.r.chance(0.3) {
		b.WriteString(g.text(g.r.size(400)))
	}
	b.WriteString(`"`)
	if first || g.r.chance(0.7) {
		g.mark(SystemSections)
		var list []string
		for _, name := range []string{"env", "skills", "project rules"} {
			switch {
			case !g.r.chance(0.7):
			case !first && g.r.chance(0.25):
				list = append(list, `"`+name+`":null`)
			default:
				list = append(list, `"`+name+`":"`+g.text(g.r.size(500))+`"`)
			}
		}
		b.WriteString(`,"sections":{` + strings.Join(list, ",") + `}`)
	}
	if first || g.r.chance(0.4) {
		g.mark(SystemTools)
		var list []string
		for _, name := range []string{"read", "write", "edit", "bash", "grep"} {
			if g.r.chance(0.7) {
				list = append(list, g.tool(name))
			}
		}
		b.WriteString(`,"toolsAdded":[` + strings.Join(list, ",") + `]`)
	}
	if !first && g.r.chance(0.3) {
		b.WriteString(`,"toolsRemoved":[{"name":"grep"}]`)
	}
	b.WriteString(`,"timestamp":` + strconv.FormatInt(g.now, 10) + `}`)
	return b.String()
}

func (g *gen) tool(name string) string {
	return `{"name":"` + name + `","description":"` + g.text(g.r.size(200)) + `","parameters":{"type":"object","properties":{"path":{"type":"string","minLength":1},` +
		`"limit":{"type":"number","default":20.0}},"required":["path"]}}`
}
