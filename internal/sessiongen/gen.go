package sessiongen

import (
	"strconv"
	"time"
)

// node is what later steps need to know about an entry.
type node struct {
	id     string
	parent int // index in gen.nodes; -1 for a root and for a parent that is not there
	typ    string
	role   string

	// open is how many records of the unit that n belongs to are still to come on
	// its path: results of calls, or edits that belong together.
	open int
	// starts says that n begins a unit, so that a kept range may begin with it.
	starts bool
	// unit is the answer that n belongs to, when n is an answer with calls or a result; else -1.
	unit int
	// results are the indices of an answer's results, and calls its call blocks as written.
	results []int
	calls   []string

	editable bool // pi lets a context edit name it
	target   int  // of a context edit: the entry it edits; -1
	omits    bool // of a context edit
	comps    int  // compactions on the path up to and including n
	last     int  // the latest of them, -1
	kept     int  // of a compaction: its first kept entry, -1 for none
	visible  int  // roughly the bytes of context at n
	hasUser  bool // a user message is on the path
	children int
}

type gen struct {
	r     rng
	o     Options
	buf   []byte
	line  int
	now   int64 // milliseconds since 1970
	sid   string
	cur   int // the leaf: where the next entry goes, -1 for none
	batch bool
	depth int // open of the records in the running batch

	nodes   []node
	entries []Entry
	ids     map[string]bool
	roots   int
	stats   Stats

	idLength   int
	callStyle  int
	reuseCalls bool
	model      int
	users      int
	results    int
}

func newGen(seed uint64, o Options) *gen {
	g := &gen{r: rng{seed}, o: o, cur: -1, ids: map[string]bool{}, stats: newStats()}
	g.sid = g.r.uuid()
	g.now = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() + int64(g.r.n(300*24*3600*1000))
	g.idLength = pick(&g.r, []int{8, 8, 8, 16, 0}) // 0 mixes lengths
	g.callStyle = g.r.n(4)
	g.reuseCalls = g.r.chance(o.Odds.ReuseCalls)
	g.model = g.r.n(len(lines["models"]))
	return g
}

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

func (g *gen) finish() Session {
	for i := range g.nodes {
		if n := &g.nodes[i]; n.children == 0 && n.open > 0 {
			g.mark(MissingResults)
		}
	}
	if g.roots > 1 {
		g.mark(SeveralRoots)
	}
	g.stats.Sessions = 1
	g.stats.Entries = len(g.entries)
	g.stats.Bytes = len(g.buf)
	for _, e := range g.entries {
		kind := e.Type
		if e.Role != "" {
			kind += "/" + e.Role
		}
		g.stats.Types[kind]++
	}
	return Session{ID: g.sid, Entries: g.entries, Stats: g.stats, data: g.buf}
}

// tick moves the clock: mostly a little, sometimes not at all and, in a wild
// session, now and then backwards.
func (g *gen) tick() {
	switch {
	case g.r.chance(0.1):
	case !g.o.WellFormed && g.r.chance(0.01):
		g.now -= int64(g.r.n(3600 * 1000))
	default:
		g.now += int64(g.r.size(60 * 1000))
	}
}

func stamp(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

func (g *gen) newID() string {
	for {
		id := g.r.hex(8)
		switch {
		case g.idLength == 16, g.idLength == 0 && g.r.chance(0.3):
			id = g.r.hex(16)
		case g.idLength == 0 && g.r.chance(0.05):
			id = g.r.uuid()
		}
		if !g.ids[id] {
			g.ids[id] = true
			return id
		}
	}
}

func (g *gen) header() {
	line := `{"type":"session"`
	if g.o.Version > 1 {
		line += `,"version":` + strconv.Itoa(g.o.Version)
	}
	line += `,"id":"` + g.sid + `","timestamp":"` + stamp(g.now) + `","cwd":"/home/user/app"`
	switch {
	case g.o.Version == 1:
		line += `,"provider":"anthropic","modelId":"claude-opus-4-5","thinkingLevel":"off"`
		if g.r.chance(0.5) {
			line += `,"branchedFrom":"/home/user/sessions/` + g.r.uuid() + `.jsonl"`
		}
	case g.r.chance(0.1):
		line += `,"parentSession":"/home/user/sessions/` + g.r.uuid() + `.jsonl"`
	}
	if g.r.chance(g.o.Odds.ExtraFields) {
		line += g.extra()
	}
	g.buf = append(g.buf, line+"}\n"...)
	g.line = 1
}

// noNode returns a node that refers to no other.
func noNode(typ string) node {
	return node{typ: typ, parent: -1, unit: -1, target: -1, last: -1, kept: -1}
}

// fresh returns a node for the next entry, a child of the leaf.
func (g *gen) fresh(typ string) node {
	n := noNode(typ)
	n.parent = g.cur
	if g.o.Version > 1 {
		n.id = g.newID()
	}
	return n
}

// add writes an entry as a child of its parent and makes it the leaf. fields is
// what follows the base fields, beginning with a comma.
func (g *gen) add(n node, fields string) int {
	g.tick()
	parent := ""
	if n.parent >= 0 {
		p := &g.nodes[n.parent]
		parent = p.id
		n.comps, n.last, n.hasUser = p.comps, p.last, p.hasUser
		n.visible += p.visible
		if p.open > 0 && !g.batch {
			g.mark(MissingResults)
		}
		if p.children++; p.children == 2 {
			g.mark(Branches)
		}
		n.starts = p.open == 0
	} else {
		g.roots++
		n.starts = true
	}
	if g.batch {
		n.open = g.depth
	}
	switch {
	case n.typ == "compaction":
		n.comps++
		n.last = len(g.nodes)
		if n.comps == 2 {
			g.mark(TwoCompactions)
		}
	case n.role == "user":
		n.hasUser = true
	}

	base := ""
	if g.o.Version > 1 {
		base = `,"id":"` + n.id + `","parentId":` + quoted(parent)
		if n.parent < 0 && !g.o.WellFormed && g.r.chance(0.1) {
			base = `,"id":"` + n.id + `"` // a root may come without the field
		}
	}
	base += `,"timestamp":"` + stamp(g.now) + `"`
	if g.r.chance(g.o.Odds.ExtraFields) {
		fields += g.extra()
		g.mark(UnknownRecords)
	}
	// pi writes its custom records with the base fields last.
	baseLast := n.typ == "custom" || n.typ == "custom_message"
	if !g.o.WellFormed && g.r.chance(0.03) {
		baseLast = !baseLast
	}
	line := `{"type":"` + n.typ + `"`
	if baseLast {
		line += fields + base + "}"
	} else {
		line += base + fields + "}"
	}
	g.nodes = append(g.nodes, n)
	g.cur = len(g.nodes) - 1
	g.write(line, Entry{ID: n.id, Parent: parent, Type: n.typ, Role: n.role})
	return g.cur
}

// write appends a line for e.
func (g *gen) write(line string, e Entry) {
	spaced := g.r.chance(g.o.Odds.Spacing)
	if spaced {
		line = `  { ` + line[1:len(line)-1] + " }\t"
	}
	g.line++
	e.Line = g.line
	e.Start = len(g.buf)
	g.buf = append(g.buf, line...)
	e.End = len(g.buf)
	g.buf = append(g.buf, '\n')
	if spaced && g.r.chance(0.3) {
		g.buf = append(g.buf, " \n"...)
		g.line++
	}
	g.entries = append(g.entries, e)
}

func quoted(id string) string {
	if id == "" {
		return "null"
	}
	return `"` + id + `"`
}

// extra returns fields that no version of the format knows, some of them twice.
func (g *gen) extra() string {
	if g.r.chance(0.2) {
		g.mark(LoneSurrogates)
		return `,"x_text":"\ud83d \u2028 é \u00e9"`
	}
	return pick(&g.r, lines["extra fields"])
}

// back returns up to limit entries of the leaf's path, newest first.
func (g *gen) back(limit int) []int {
	var path []int
	for i := g.cur; i >= 0 && len(path) < limit; i = g.nodes[i].parent {
		path = append(path, i)
	}
	return path
}
