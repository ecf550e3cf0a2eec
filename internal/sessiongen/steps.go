package sessiongen

import (
	"slices"
	"strconv"
	"strings"
)

// lookBack bounds how far back on its path a step looks for something to refer
// to, so that a long chain is made in linear time.
const lookBack = 250

func (g *gen) run() {
	g.header()
	target := g.o.Entries
	if target == 0 {
		target = g.r.between(20, 120)
	}
	if g.r.chance(g.o.Odds.SystemFirst) {
		g.system()
	}
	for len(g.entries) < target {
		g.step()
	}
}

// step does one thing. The odds of the special steps are used up in order, and
// what remains is conversation.
func (g *gen) step() {
	d := &g.o.Odds
	for _, s := range []struct {
		p  float64
		do func()
	}{
		{d.System, g.system},
		{d.Bash, g.bash},
		{d.CustomMessage, g.customMessage},
		{d.Custom, g.custom},
		{d.Label, g.label},
		{d.Name, g.name},
		{d.Model, g.modelChange},
		{d.Level, g.level},
		{d.Usage, g.usageRecord},
		{d.Edit, g.edit},
		{d.Compact, g.compact},
		{d.Branch, g.branch},
		{d.Root, func() { g.cur = -1 }},
		{d.Orphan, g.orphan},
		{d.DanglingRef, g.dangling},
		{d.Unknown, g.unknown},
		{d.Malformed, g.malformed},
		{d.DuplicateID, g.duplicate},
		{d.Cycle, g.cycle},
	} {
		if g.r.chance(s.p) {
			s.do()
			return
		}
	}
	begun := g.cur >= 0 && g.nodes[g.cur].hasUser
	if !begun && (g.o.WellFormed || g.r.chance(0.9)) || g.r.chance(d.UserShare) {
		g.user()
		return
	}
	g.answer()
}

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
	var b strings.Builder
	if g.r.chance(0.7) {
		b.WriteString(`,"details":{"readFiles":[` + g.pathList() + `],"modifiedFiles":[` + g.pathList() + `]}`)
	}
	if g.o.Version == 3 && g.r.chance(0.4) {
		b.WriteString(`,"usage":` + g.usage(g.r.size(50000)))
	}
	if g.r.chance(0.6) {
		b.WriteString(`,"fromHook":` + strconv.FormatBool(g.r.chance(0.3)))
	}
	return b.String()
}

func (g *gen) pathList() string {
	paths := make([]string, g.r.n(4))
	for i := range paths {
		paths[i] = `"` + g.path() + `"`
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
	var b strings.Builder
	b.WriteString(`,"summary":"` + summary + `"`)
	if g.o.Version == 1 {
		b.WriteString(`,"firstKeptEntryIndex":` + index)
	} else {
		b.WriteString(`,"firstKeptEntryId":"` + first + `"`)
	}
	b.WriteString(`,"tokensBefore":` + strconv.Itoa(max(0, g.nodes[g.cur].visible)/3+g.r.n(5000)))
	if g.o.Version > 1 {
		b.WriteString(g.summaryDetails())
	}
	if g.o.Version == 3 && g.r.chance(0.4) {
		b.WriteString(`,"systemMessage":` + g.systemMessage(true))
	}
	g.add(n, b.String())
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
		gone := g.o.WellFormed && (omitted[i] || n.unit >= 0 && g.anyOmitted(n.unit, omitted))
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

func (g *gen) anyOmitted(unit int, omitted map[int]bool) bool {
	if omitted[unit] {
		return true
	}
	for _, i := range g.nodes[unit].results {
		if omitted[i] {
			return true
		}
	}
	return false
}

// omit takes target out of the context, in a well-formed session with its whole unit.
func (g *gen) omit(target int) {
	g.mark(Omissions)
	unit := []int{target}
	if u := g.nodes[target].unit; u >= 0 && g.o.WellFormed {
		unit = append([]int{u}, g.nodes[u].results...)
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
	fields := `,"targetId":"` + pick(&g.r, g.nodes).id + `"`
	if !g.r.chance(0.2) {
		fields += `,"label":"` + g.shortText() + `"`
	}
	g.mark(Labels)
	g.add(g.fresh("label"), fields)
}

func (g *gen) name() {
	name := g.shortText()
	if g.r.chance(0.15) {
		name = ""
	}
	g.add(g.fresh("session_info"), `,"name":"`+name+`"`)
}

func (g *gen) modelChange() {
	g.model = g.r.n(len(models))
	m := models[g.model]
	g.add(g.fresh("model_change"), `,"provider":"`+m.provider+`","modelId":"`+m.id+`"`)
}

func (g *gen) level() {
	g.add(g.fresh("thinking_level_change"), `,"thinkingLevel":"`+pick(&g.r, []string{"off", "minimal", "low", "medium", "high"})+`"`)
}

func (g *gen) custom() {
	data := pick(&g.r, []string{`,"data":{"n":` + strconv.Itoa(g.r.n(100)) + `}`, ``, `,"data":null`, `,"data":[1,"two",{"three":3.0}]`})
	if g.r.chance(0.2) {
		data = `,"data":"` + g.text(g.r.size(200)) + `"`
	}
	g.add(g.fresh("custom"), `,"customType":"`+pick(&g.r, []string{"state", "todo", "ext.cache"})+`"`+data)
}

func (g *gen) customMessage() {
	content := g.content(0.6)
	fields := `"customType":"ext","content":` + content + `,"display":` + strconv.FormatBool(g.r.chance(0.5))
	if g.r.chance(0.5) {
		fields += `,"details":{"k":1}`
	}
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
	m := models[g.model]
	fields := `,"kind":"` + pick(&g.r, []string{"cache_warm", "title", "other kind"}) + `","provider":"` + m.provider + `","model":"` + m.id +
		`","usage":` + g.usage(g.r.size(150000))
	if g.r.chance(0.3) {
		fields += `,"note":"` + g.shortText() + `"`
	}
	g.mark(UsageRecords)
	g.add(g.fresh("usage"), fields)
}
