package sessiongen

import "strconv"

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
		n := g.fresh("message")
		n.parent, n.role, n.editable, n.hasUser, n.starts = -1, "user", true, true, true
		g.tick()
		g.roots++
		g.nodes = append(g.nodes, n)
		g.cur = len(g.nodes) - 1
		g.write(`{"type":"message","id":"`+n.id+`","parentId":`+nowhere+`,"timestamp":"`+stamp(g.now)+
			`","message":{"role":"user","content":"`+g.text(60)+`","timestamp":`+strconv.FormatInt(g.now, 10)+`}}`,
			Entry{ID: n.id, Parent: nowhere[1 : len(nowhere)-1], Type: "message", Role: "user"})
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
	g.rawMessage(a, b)
	if a != b {
		g.rawMessage(b, a)
	}
	if g.r.chance(0.6) {
		g.cur = was
	}
}

func (g *gen) rawMessage(id, parent string) {
	g.tick()
	g.nodes = append(g.nodes, node{id: id, parent: -1, typ: "message", role: "user", unit: -1, target: -1, last: -1, kept: -1, hasUser: true, starts: true})
	g.cur = len(g.nodes) - 1
	g.write(`{"type":"message","id":"`+id+`","parentId":"`+parent+`","timestamp":"`+stamp(g.now)+`","message":{"role":"user","content":"`+g.text(40)+
		`","timestamp":`+strconv.FormatInt(g.now, 10)+`}}`, Entry{ID: id, Parent: parent, Type: "message", Role: "user"})
}

// malformed adds a record with a field that is missing or of the wrong kind.
func (g *gen) malformed() {
	g.mark(MalformedRecords)
	type bad struct{ typ, role, fields string }
	msg := func(role, body string) bad {
		return bad{"message", role, `,"message":{"role":"` + role + `"` + body + `}`}
	}
	b := pick(&g.r, []bad{
		{"message", "", ``},
		{"message", "", `,"message":null`},
		{"message", "", `,"message":"text"`},
		{"message", "", `,"message":{"content":"no role"}`},
		msg("user", ``),
		msg("user", `,"content":null`),
		msg("user", `,"content":7`),
		msg("user", `,"content":[null,"text",{"text":"no type"},{"type":"text"},{"type":"image"}]`),
		msg("wizard", `,"content":"an unknown role"`),
		msg("assistant", `,"content":null,"stopReason":"stop"`),
		msg("assistant", `,"content":"a string","usage":null`),
		msg("assistant", `,"content":[{"type":"toolCall","id":"a1","name":"read"}],"usage":{"input":"many"}`),
		msg("assistant", `,"content":[{"type":"toolCall","id":null,"name":7,"arguments":null}],"stopReason":3`),
		msg("assistant", `,"content":[{"type":"thinking"},{"type":"text","text":null}]`),
		msg("toolResult", `,"content":null,"toolCallId":12`),
		msg("bashExecution", `,"exitCode":"0"`),
		msg("system", `,"content":null,"sections":[],"toolsAdded":{}`),
		{"compaction", "", `,"firstKeptEntryId":null,"tokensBefore":"1"`},
		{"compaction", "", `,"summary":5`},
		{"branch_summary", "", `,"summary":null`},
		{"context_edit", "", `,"targetId":5,"replacement":{}`},
		{"context_edit", "", ``},
		{"custom_message", "", `,"content":null`},
		{"label", "", `,"targetId":null,"label":3`},
		{"session_info", "", `,"name":{"a":1}`},
		{"model_change", "", `,"provider":null`},
		{"session", "", `,"version":3`},
	})
	if g.r.chance(0.2) { // the base fields are wrong instead
		g.tick()
		line := pick(&g.r, []string{
			`{"type":"custom","id":17,"parentId":null}`,
			`{"type":"custom","parentId":null,"timestamp":"` + stamp(g.now) + `"}`,
			`{"type":7,"id":"` + g.newID() + `","parentId":null}`,
			`{"id":"` + g.newID() + `","parentId":false,"timestamp":12}`,
			`{"type":"message","id":null,"parentId":null,"message":{"role":"user","content":"lost"}}`,
		})
		g.nodes = append(g.nodes, node{parent: -1, typ: "malformed", unit: -1, target: -1, last: -1, kept: -1, children: 1})
		g.write(line, Entry{Type: "malformed"})
		return
	}
	n := g.fresh(b.typ)
	n.role = b.role
	g.add(n, b.fields)
}
