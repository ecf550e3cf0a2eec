package sessiongen

import (
	"slices"
	"strconv"
	"strings"
)

// lookBack bounds how far back on its path a step looks for something to refer
// to, so that a long chain is made in linear time.
const lookBack = 250

// branch moves the leaf to an earlier entry; half of the time a summary of what was left follows.
func (g *gen) branch() {
	if len(g.nodes) == 0 {
		return
	}
	left := g.cur
	for range 20 {
		to := g.r.n(len(g.nodes))
		if g.r.chance(0.5) { // near the end, as people do
			to = len(g.nodes) - 1 - g.r.n(min(len(g.nodes), 15))
		}
		if g.nodes[to].id == "" || g.o.WellFormed && g.nodes[to].open > 0 {
			continue
		}
		g.cur = to
		break
	}
	if g.r.chance(g.o.Odds.Summarized) {
		g.branchSummary(left)
	}
}

func (g *gen) branchSummary(left int) {
	from := "root"
	if left >= 0 {
		from = g.nodes[left].id
	}
	summary := g.summary(600)
	n := g.fresh("branch_summary")
	n.visible = len(summary)
	g.mark(BranchSummaries)
	g.add(n, `,"fromId":"`+from+`","summary":"`+summary+`"`+g.summaryDetails())
}

// summary returns a text, in a wild session now and then an empty one.
func (g *gen) summary(limit int) string {
	if !g.o.WellFormed && g.r.chance(0.04) {
		return ""
	}
	return g.text(g.r.size(limit))
}

// summaryDetails returns the optional fields that compactions and branch summaries share.
func (g *gen) summaryDetails() string {
	fields := ""
	if g.r.chance(0.7) {
		fields = `,"details":{"readFiles":[` + g.pathList() + `],"modifiedFiles":[` + g.pathList() + `]}`
	}
	if g.o.Version == 3 && g.r.chance(0.4) {
		fields += `,"usage":` + g.usage(g.r.size(50000))
	}
	return fields + g.fill(`«? 0.6 ,"fromHook":«f 0.3»»`)
}

func (g *gen) pathList() string {
	paths := make([]string, g.r.n(4))
	for i := range paths {
		paths[i] = g.fill(`"«p»"`)
	}
	return strings.Join(paths, ",")
}

// compact writes a compaction. Which entry it keeps first is drawn among the
// kinds that a reader has to tell apart.
func (g *gen) compact() {
	path := g.back(lookBack)
	if len(path) == 0 {
		return
	}
	d := &g.o.Odds
	n := g.fresh("compaction")
	first, kept := "", -1
	index := strconv.Itoa(len(g.nodes) + 1) // of this record; the header is 0
	switch {
	case g.r.chance(d.RetainNone):
		first = n.id
		g.mark(RetainNone)
	case g.r.chance(d.DanglingKept):
		first = g.elsewhere(path)
		index = pick(&g.r, []string{"0", strconv.Itoa(len(g.nodes) + 1 + g.r.between(1, 500)), "-1", "1.5"})
		g.mark(DanglingFirstKept)
	default:
		kept = g.firstKept(path)
	}
	if kept >= 0 {
		first, index = g.nodes[kept].id, strconv.Itoa(kept+1)
		if g.nodes[kept].typ == "label" {
			g.mark(LabelFirstKept)
		}
		before := 0
		if p := g.nodes[kept].parent; p >= 0 {
			before = g.nodes[p].comps
			n.visible -= g.nodes[p].visible
		}
		if g.nodes[g.cur].comps > before {
			g.mark(NestedCompaction)
		}
	} else {
		n.visible -= g.nodes[g.cur].visible
	}
	summary := g.summary(1500)
	n.kept = kept
	n.visible += len(summary)
	fields := `,"summary":"` + summary + `"`
	if g.o.Version == 1 {
		fields += `,"firstKeptEntryIndex":` + index
	} else {
		fields += `,"firstKeptEntryId":"` + first + `"`
	}
	fields += `,"tokensBefore":` + strconv.Itoa(max(0, g.nodes[g.cur].visible)/3+g.r.n(5000))
	if g.o.Version > 1 {
		fields += g.summaryDetails()
	}
	if g.o.Version == 3 && g.r.chance(0.4) {
		fields += `,"systemMessage":` + g.systemMessage(true)
	}
	g.add(n, fields)
}

// firstKept chooses an entry of path (newest first) to keep from.
func (g *gen) firstKept(path []int) int {
	var any, labels, nested []int
	before := g.nodes[g.cur].comps
	for _, i := range path {
		n := &g.nodes[i]
		if g.o.WellFormed && !n.starts {
			continue
		}
		any = append(any, i)
		if n.typ == "label" {
			labels = append(labels, i)
		}
		if before > 0 && (n.comps < before || n.typ == "compaction") {
			nested = append(nested, i)
		}
	}
	switch {
	case len(any) == 0:
		return -1
	case len(labels) > 0 && g.r.chance(g.o.Odds.LabelKept):
		return pick(&g.r, labels)
	case len(nested) > 0 && g.r.chance(g.o.Odds.Nested):
		return pick(&g.r, nested)
	default:
		return any[g.r.n(min(len(any), 30))]
	}
}

// elsewhere returns an id that is not on the path: one of another branch, or none at all.
func (g *gen) elsewhere(path []int) string {
	if g.r.chance(0.4) && len(path) < lookBack {
		on := map[int]bool{}
		for _, i := range path {
			on[i] = true
		}
		for range 10 {
			if i := g.r.n(len(g.nodes)); !on[i] {
				return g.nodes[i].id
			}
		}
	}
	return g.newID()
}

// edit writes a context edit, or in a well-formed session as many as keep calls
// and results together.
func (g *gen) edit() {
	path := g.back(lookBack)
	var targets, kept, inRange []int
	omitted := map[int]bool{}
	// The kept range is the part of the path from the latest compaction's first kept
	// entry up to that compaction.
	last, inKept := -1, false
	if g.cur >= 0 {
		last = g.nodes[g.cur].last
	}
	for _, i := range path {
		n := &g.nodes[i]
		if inKept {
			inRange = append(inRange, i)
		}
		if n.omits {
			omitted[n.target] = true
		}
		// In a well-formed session a unit that is omitted stays whole, and omitted.
		gone := g.o.WellFormed && slices.ContainsFunc(g.unit(i), func(k int) bool { return omitted[k] })
		if n.editable && !gone {
			targets = append(targets, i)
			if inKept {
				kept = append(kept, i)
			}
		}
		if i == last {
			inKept = n.kept >= 0
		} else if last >= 0 && i == g.nodes[last].kept {
			inKept = false
		}
	}
	if len(targets) == 0 {
		return
	}
	target := pick(&g.r, targets)
	if len(kept) > 0 && g.r.chance(g.o.Odds.EditKept) {
		target = pick(&g.r, kept)
	}
	if !g.o.WellFormed && g.r.chance(0.15) {
		// pi refuses to write such edits, but it reads them: on a summary, a shell
		// run, a label, or an entry of another branch.
		target = g.r.n(len(g.nodes))
		if !g.nodes[target].editable {
			g.mark(EditsOnFixed)
		}
	}
	if slices.Contains(inRange, target) {
		g.mark(EditsOnKept)
	}
	if g.r.chance(g.o.Odds.Omit) {
		g.omit(target)
		return
	}
	g.mark(Replacements)
	g.addEdit(target, `{"content":`+g.replacement(target)+`}`)
}

// unit returns the entries that belong together with entry i: an answer and its results.
func (g *gen) unit(i int) []int {
	u := g.nodes[i].unit
	if u < 0 {
		return []int{i}
	}
	return append([]int{u}, g.nodes[u].results...)
}

// omit takes target out of the context, in a well-formed session with its whole unit.
func (g *gen) omit(target int) {
	g.mark(Omissions)
	unit := []int{target}
	if g.o.WellFormed {
		unit = g.unit(target)
	}
	g.batch = len(unit) > 1
	for k, i := range unit {
		g.depth = len(unit) - 1 - k
		g.addEdit(i, "null")
	}
	g.batch, g.depth = false, 0
}

func (g *gen) addEdit(target int, replacement string) {
	n := g.fresh("context_edit")
	n.target, n.omits = target, replacement == "null"
	g.add(n, `,"targetId":"`+g.nodes[target].id+`","replacement":`+replacement)
}

// replacement returns new content for target. It keeps the calls of an answer,
// except in a wild session now and then.
func (g *gen) replacement(target int) string {
	t := &g.nodes[target]
	if !g.o.WellFormed && g.r.chance(0.05) {
		return `[]`
	}
	text := g.text(g.r.size(300))
	if len(t.calls) > 0 && (g.o.WellFormed || g.r.chance(0.8)) {
		return `[{"type":"text","text":"` + text + `"},` + strings.Join(t.calls, ",") + `]`
	}
	switch {
	case g.r.chance(0.5):
		return `"` + text + `"`
	case t.role != "assistant" && g.r.chance(g.o.Odds.Image):
		return `[{"type":"text","text":"` + text + `"},` + g.imageBlock() + `]`
	default:
		return `[{"type":"text","text":"` + text + `"}]`
	}
}

func (g *gen) label() {
	if len(g.nodes) == 0 {
		return
	}
	g.mark(Labels)
	target := pick(&g.r, g.nodes).id
	fields := g.fill(`«! 0.2 ,"label":"«s»"»`)
	g.add(g.fresh("label"), `,"targetId":"`+target+`"`+fields)
}

func (g *gen) name() {
	name := g.shortText()
	if g.r.chance(0.15) {
		name = ""
	}
	g.add(g.fresh("session_info"), `,"name":"`+name+`"`)
}

func (g *gen) modelChange() {
	g.model = g.r.n(len(lines["models"]))
	_, provider, id := modelNames(g.model)
	g.add(g.fresh("model_change"), `,"provider":"`+provider+`","modelId":"`+id+`"`)
}

func (g *gen) level() {
	n := g.fresh("thinking_level_change")
	g.add(n, g.fill(`,"thinkingLevel":"«| off|minimal|low|medium|high»"`))
}

func (g *gen) custom() {
	data := pick(&g.r, []string{g.fill(`,"data":{"n":«n 100»}`), ``, `,"data":null`, `,"data":[1,"two",{"three":3.0}]`})
	if g.r.chance(0.2) {
		data = g.fill(`,"data":"«t 200»"`)
	}
	n := g.fresh("custom")
	g.add(n, g.fill(`,"customType":"«| state|todo|ext.cache»"`)+data)
}

func (g *gen) customMessage() {
	content := g.content(0.6)
	fields := `"customType":"ext","content":` + content + g.fill(`,"display":«f 0.5»«? 0.5 ,"details":{"k":1}»`)
	g.mark(CustomMessages)
	role := ""
	switch {
	case g.o.Version == 2 && g.r.chance(0.7):
		role = "hookMessage"
	case g.o.Version == 3 && g.r.chance(0.15):
		role = "custom" // what pi's migration makes of a hookMessage
	}
	if role == "" {
		n := g.fresh("custom_message")
		n.editable, n.visible = true, len(content)
		g.add(n, ","+fields)
		return
	}
	n := g.fresh("message")
	n.role, n.visible = role, len(content)
	g.add(n, `,"message":{"role":"`+role+`",`+fields+`,"timestamp":`+strconv.FormatInt(g.now, 10)+`}`)
}

func (g *gen) usageRecord() {
	_, provider, id := modelNames(g.model)
	fields := g.fill(`,"kind":"«| cache_warm|title|other kind»"`) + `,"provider":"` + provider + `","model":"` + id + `","usage":` + g.usage(g.r.size(150000)) +
		g.fill(`«? 0.3 ,"note":"«s»"»`)
	g.mark(UsageRecords)
	g.add(g.fresh("usage"), fields)
}

// orphan adds a result whose call is nowhere.
func (g *gen) orphan() {
	if g.cur < 0 {
		return
	}
	g.mark(OrphanResults)
	g.message(g.fresh("message"), "toolResult", `,"toolCallId":"call_`+g.r.hex(9)+`","toolName":"read","content":`+g.blocks(200)+`,"isError":false`)
}

// dangling adds a record that refers to an id that does not exist.
func (g *gen) dangling() {
	g.mark(DanglingRefs)
	nowhere := `"` + g.newID() + `"`
	switch {
	case g.r.chance(0.3):
		g.add(g.fresh("label"), `,"targetId":`+nowhere+`,"label":"`+g.shortText()+`"`)
	case g.o.Version == 3 && g.r.chance(0.4):
		g.add(g.fresh("context_edit"), `,"targetId":`+nowhere+`,"replacement":null`)
	default:
		g.roots++
		g.rawMessage(g.newID(), nowhere[1:len(nowhere)-1], 60)
		g.nodes[g.cur].editable = true
	}
}

// unknown adds a record of a type that no version of the format has.
func (g *gen) unknown() {
	g.mark(UnknownRecords)
	g.add(g.fresh("bookmark"), `,"page":3,"message":{"role":"user","content":"not shown"}`)
}

// duplicate writes another user message under an id that is taken. pi's index
// keeps the last, which may make an entry its own ancestor.
func (g *gen) duplicate() {
	if len(g.nodes) == 0 {
		return
	}
	n := g.fresh("message")
	if id := pick(&g.r, g.nodes).id; id != "" {
		n.id = id
		g.mark(DuplicateIDs)
	}
	g.message(n, "user", `,"content":"`+g.text(60)+`"`)
}

// cycle adds an entry that is its own parent, or two that are each other's.
func (g *gen) cycle() {
	g.mark(Cycles)
	was := g.cur
	a, b := g.newID(), g.newID()
	if g.r.chance(0.4) {
		b = a
	}
	g.rawMessage(a, b, 40)
	if a != b {
		g.rawMessage(b, a, 40)
	}
	if g.r.chance(0.6) {
		g.cur = was
	}
}

// rawMessage adds a user message that hangs under what need not be there.
func (g *gen) rawMessage(id, parent string, size int) {
	g.tick()
	n := noNode("message")
	n.id, n.role, n.hasUser, n.starts = id, "user", true, true
	g.nodes = append(g.nodes, n)
	g.cur = len(g.nodes) - 1
	g.write(`{"type":"message","id":"`+id+`","parentId":"`+parent+`","timestamp":"`+stamp(g.now)+`","message":{"role":"user","content":"`+g.text(size)+
		`","timestamp":`+strconv.FormatInt(g.now, 10)+`}}`, Entry{ID: id, Parent: parent, Type: "message", Role: "user"})
}

// malformed adds a record with a field that is missing or of the wrong kind.
func (g *gen) malformed() {
	g.mark(MalformedRecords)
	kind := strings.SplitN(pick(&g.r, lines["malformed"]), " ", 3)
	if g.r.chance(0.2) { // the base fields are wrong instead
		g.tick()
		line := pick(&g.r, []string{
			`{"type":"custom","id":17,"parentId":null}`,
			`{"type":"custom","parentId":null,"timestamp":"` + stamp(g.now) + `"}`,
			`{"type":7,"id":"` + g.newID() + `","parentId":null}`,
			`{"id":"` + g.newID() + `","parentId":false,"timestamp":12}`,
			`{"type":"message","id":null,"parentId":null,"message":{"role":"user","content":"lost"}}`,
		})
		n := noNode("malformed")
		n.children = 1
		g.nodes = append(g.nodes, n)
		g.write(line, Entry{Type: "malformed"})
		return
	}
	n := g.fresh(kind[0])
	n.role = strings.TrimPrefix(kind[1], "-")
	g.add(n, kind[2])
}
