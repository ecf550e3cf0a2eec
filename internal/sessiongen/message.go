package sessiongen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// modelNames gives the API, the provider and the name of a model.
func modelNames(i int) (api, provider, id string) {
	f := strings.Fields(lines["models"][i])
	return f[0], f[1], f[2]
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
	n := g.fresh("message")
	if g.users%3 == 2 && g.users/3 < g.o.HugeUsers {
		g.mark(HugeTexts)
		g.message(n, "user", `,"content":"`+g.huge(g.o.HugeUserBytes)+`"`)
		return
	}
	g.message(n, "user", `,"content":`+g.content(0.3))
}

// content returns a string with the given probability, otherwise blocks.
func (g *gen) content(asString float64) string {
	if g.r.chance(asString) {
		return g.fill(`"«t U»"`)
	}
	return g.blocks(g.o.UserBytes)
}

// blocks returns a list of content blocks for a user, a result or an extension.
func (g *gen) blocks(limit int) string {
	b := g.fill(fmt.Sprintf(`[{"type":"text","text":"«! 0.04 «t %d»»"}«? 0.1 ,{"type":"text","text":"«t %d»"}»`, limit, limit/2))
	if g.r.chance(g.o.Odds.Image) {
		b += "," + g.imageBlock()
	}
	if g.r.chance(g.o.Odds.ExtraFields / 2) {
		b += `,{"type":"chart","points":[1,2,3]}`
		g.mark(UnknownRecords)
	}
	return b + "]"
}

// answer adds an assistant message and the results of its calls.
func (g *gen) answer() {
	d := &g.o.Odds
	stop := g.fill(`«| stop|stop|stop|stop|stop|stop|stop|length»`)
	failed := g.r.chance(d.Failed)
	if failed {
		stop = g.fill(`«| aborted|error»`)
		g.mark(FailedAnswers)
	}
	var content []string
	empty := failed && g.r.chance(0.5)
	if !empty && g.r.chance(d.Thinking) {
		content = append(content, g.thinking())
	}
	if !empty && g.r.chance(0.8) {
		content = append(content, g.fill(`{"type":"text","text":"«t A»"«? 0.05 ,"textSignature":"msg_«h 12»"»}`))
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
	}
	content = append(content, n.calls...)
	if len(calls) > 0 && g.r.chance(0.1) { // text after the calls
		content = append(content, g.fill(`{"type":"text","text":"«t 100»"}`))
	}
	api, provider, id := modelNames(g.model)
	body := fmt.Sprintf(`,"content":[%s],"api":"%s","provider":"%s","model":"%s"`, strings.Join(content, ","), api, provider, id)
	if g.o.WellFormed || !g.r.chance(0.03) {
		used := 0
		if g.cur >= 0 {
			used = g.nodes[g.cur].visible
		}
		body += `,"usage":` + g.usage(used/3)
	}
	body += `,"stopReason":"` + stop + `"`
	if failed {
		body += g.fill(`«? 0.8 ,"errorMessage":"«t 120»"»`)
	}
	body += g.fill(`«? 0.05 ,"responseId":"resp_«h 10»","diagnostics":[{"kind":"retry","attempt":1}]»`)
	if len(calls) == 0 {
		g.message(n, "assistant", body)
		return
	}
	order := g.order(len(calls), failed)
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

// order draws which of n calls get a result, and in which order.
func (g *gen) order(n int, failed bool) (order []int) {
	for i := range n {
		if !g.r.chance(g.o.Odds.Missing) && (!failed || g.r.chance(0.2)) {
			order = append(order, i)
		}
	}
	if len(order) > 1 && g.r.chance(g.o.Odds.Shuffle) {
		was := slices.Clone(order)
		for i := len(order) - 1; i > 0; i-- {
			j := g.r.n(i + 1)
			order[i], order[j] = order[j], order[i]
		}
		if !slices.Equal(order, was) {
			g.mark(ShuffledResults)
		}
	}
	if n > 1 {
		g.mark(ParallelCalls)
	}
	return order
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
		c.block = `{"type":"toolCall","id":"` + c.id + `","name":"` + c.name + `","arguments":` + args + g.fill(`«? 0.05 ,"thoughtSignature":"«b 60»"»}`)
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
		odd := lines["odd arguments"]
		if g.o.WellFormed {
			odd = odd[2:]
		}
		which := g.r.n(len(odd))
		if which == 0 && !g.o.WellFormed {
			g.mark(LoneSurrogates)
		}
		return g.fill(`«| plot|read|mcp__db__query»`), odd[which]
	}
	switch g.r.n(6) {
	case 0, 1:
		return "read", g.fill(`{"path":"«p»"«? 0.4 ,"offset":«n 2000»,"limit":«1 500»»}`)
	case 2:
		return "write", g.fill(`{"path":"«p»","content":"«t A»"}`)
	case 3:
		return "edit", g.fill(`{"path":"«p»","oldText":"«t 120»","newText":"«t 120»"}`)
	case 4:
		return "bash", `{"command":"` + g.command() + g.fill(`","timeout":«1 600»}`)
	default:
		return "grep", g.fill(`{"pattern":"«w»","path":"«p»","ignoreCase":«f 0.5»}`)
	}
}

func (g *gen) command() string {
	grep, note := pick(&g.r, words), pick(&g.r, words)
	return strings.NewReplacer("GREP", grep, "NOTE", note).Replace(pick(&g.r, lines["commands"]))
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
	body := `,"toolCallId":"` + c.id + `","toolName":"` + c.name + `","content":` + content +
		g.fill(`«? 0.25 ,"details":{"diff":"«t 200»","firstChangedLine":«n 900»}»,"isError":«f 0.12»`)
	n := g.fresh("message")
	n.unit = unit
	at := g.message(n, "toolResult", body)
	g.nodes[unit].results = append(g.nodes[unit].results, at)
}

// thinking returns a block as one of the providers sends it.
func (g *gen) thinking() string {
	if !g.r.chance(g.o.Odds.Signed) {
		return g.fill(`{"type":"thinking","thinking":"«t A»"}`)
	}
	g.mark(SignedThinking)
	switch g.r.n(4) {
	case 0: // OpenAI: the signature is the reasoning item itself
		return g.fill(`{"type":"thinking","thinking":"«t A»","thinkingSignature":"{\"type\":\"reasoning\",\"id\":\"rs_«h 16»\",` +
			`\"summary\":[],\"encrypted_content\":\"«b 300»\"}"}`)
	case 1:
		return g.fill(`{"type":"thinking","thinking":"","thinkingSignature":"«b 400»","redacted":true}`)
	default:
		return g.fill(`{"type":"thinking","thinking":"«t A»","thinkingSignature":"«b 400»"}`)
	}
}

// usage returns a usage object whose prompt is about size tokens.
func (g *gen) usage(size int) string {
	if !g.o.WellFormed && g.r.chance(0.05) {
		return `{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}`
	}
	size = max(0, size)*g.r.between(80, 130)/100 + g.r.between(20, 3000)
	read, write := 0, 0
	if g.r.chance(0.7) {
		read = g.r.n(size)
	}
	if g.r.chance(0.3) {
		write = g.r.n(size - read + 1)
	}
	input, output := size-read-write, g.r.size(4000)
	total := size + output
	if !g.o.WellFormed && g.r.chance(0.05) {
		total = 0 // readers then add the parts up
	}
	some := ""
	if g.r.chance(0.1) {
		some += fmt.Sprintf(`,"cacheWrite1h":%d`, write/2)
	}
	if g.r.chance(0.2) {
		some += fmt.Sprintf(`,"reasoning":%d`, g.r.n(output+1))
	}
	cost := func(v int) string { return fmt.Sprintf("%d.%06d", v/1000000, v%1000000) } // micro-dollars as dollars
	return fmt.Sprintf(`{"input":%d,"output":%d,"cacheRead":%d,"cacheWrite":%d%s,"totalTokens":%d,"cost":{"input":%s,"output":%s,"cacheRead":%s,"cacheWrite":%s,"total":%s}}`,
		input, output, read, write, some, total, cost(input*3), cost(output*15), cost(read/3), cost(write*4), cost(input*3+output*15+read/3+write*4))
}

func (g *gen) bash() {
	body := `,"command":"` + g.command() + g.fill(`","output":"«! 0.1 «t R»»"`)
	if cancelled := g.r.chance(0.1); cancelled {
		body += g.fill(`«? 0.3 ,"exitCode":null»,"cancelled":true`)
	} else {
		body += g.fill(`,"exitCode":«| 0|0|0|1|2|127»,"cancelled":false`)
	}
	if g.r.chance(0.15) {
		body += g.fill(`,"truncated":true,"fullOutputPath":"/home/user/out-«h 8».log"`)
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
	m := g.systemMessage(g.cur < 0)
	n := g.fresh("message")
	n.role, n.visible = "system", len(m)
	g.add(n, `,"message":`+m)
}

// systemMessage returns a whole system message: the complete state when first,
// otherwise a patch of some sections and tools.
func (g *gen) systemMessage(first bool) string {
	b := `{"role":"system","content":"`
	if first || g.r.chance(0.3) {
		b += g.fill(`«t 400»`)
	}
	b += `"`
	if first || g.r.chance(0.7) {
		g.mark(SystemSections)
		var list []string
		for _, name := range []string{"env", "skills", "project rules"} {
			switch {
			case !g.r.chance(0.7):
			case !first && g.r.chance(0.25):
				list = append(list, `"`+name+`":null`)
			default:
				list = append(list, `"`+name+g.fill(`":"«t 500»"`))
			}
		}
		b += `,"sections":{` + strings.Join(list, ",") + `}`
	}
	if first || g.r.chance(0.4) {
		g.mark(SystemTools)
		var list []string
		for _, name := range []string{"read", "write", "edit", "bash", "grep"} {
			if g.r.chance(0.7) {
				list = append(list, `{"name":"`+name+g.fill(`","description":"«t 200»","parameters":{"type":"object",`+
					`"properties":{"path":{"type":"string","minLength":1},"limit":{"type":"number","default":20.0}},"required":["path"]}}`))
			}
		}
		b += `,"toolsAdded":[` + strings.Join(list, ",") + `]`
	}
	if !first && g.r.chance(0.3) {
		b += `,"toolsRemoved":[{"name":"grep"}]`
	}
	return b + `,"timestamp":` + strconv.FormatInt(g.now, 10) + `}`
}
