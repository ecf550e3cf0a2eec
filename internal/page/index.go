package page

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/outline"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// document is what the template is filled with: an index of the session, whose
// entries are read again while it is written. The first error of that stays in err.
type document struct {
	store  session.Store
	header session.Header
	ctx    context.Context
	err    error

	Style, Script string

	Nodes   []node
	byID    map[string]int
	Leaf    int           // -1 in an empty session
	Path    []int         // from the root to the leaf
	on      []bool        // of each node: whether it is on the path
	edits   map[int][]int // by target, oldest first
	inForce map[int]int   // of the path: the edit that counts, by target
	hidden  map[int]bool  // of the path: entries that a summary stands for
	tree    *outline.Tree

	Branched bool // whether anything that is shown is not on the path
	// Parents and Edits are pairs of numbers for the script: the entries that do not
	// hang under the one before, with their parents, and edits with their targets.
	Parents, Edits string

	// Figures of all entries, on whatever branch.
	name     string
	Entries  int64
	Messages int
	from, to time.Time
	Usage    message.Usage
	models   []string
	Secrets  int
}

// node is what is remembered of an entry: not what it says.
type node struct {
	id, parentID string
	parent       int // -1 for none
	kind         kind
	line         string // what it says, in a line
	label        string
	ref          string // compaction: the first kept entry; branch summary: the old leaf; edit: its target
	omits        bool   // of an edit
}

// kind is what an entry is to the reader of a page; it is a class of the style.
type kind string

const (
	kindUser       kind = "user"
	kindInjected   kind = "injected" // stands for the user, and was not typed
	kindAssistant  kind = "assistant"
	kindResult     kind = "result"
	kindShell      kind = "shell"
	kindSystem     kind = "system"
	kindCustom     kind = "custom"
	kindCompaction kind = "compaction"
	kindBranch     kind = "branch"
	kindNote       kind = "note"    // a line: another model, a pass
	kindUnknown    kind = "unknown" // a record that can't be read
	kindEdit       kind = "edit"    // shown at its target
	kindNone       kind = ""        // labels, names, the state of extensions
)

// word is what a kind is called on the page.
var word = map[kind]string{
	kindUser: "User", kindInjected: "Put in", kindAssistant: "Assistant", kindResult: "Result", kindShell: "Shell",
	kindSystem: "System", kindCustom: "Extension", kindCompaction: "Compaction", kindBranch: "Branch summary",
	kindNote: "Note", kindUnknown: "Record",
}

var kindOfRole = map[message.Role]kind{
	message.RoleUser: kindUser, message.RoleAssistant: kindAssistant, message.RoleToolResult: kindResult,
	message.RoleBashExecution: kindShell, message.RoleSystem: kindSystem, message.RoleCustom: kindCustom,
	message.RoleBranchSummary: kindBranch, message.RoleCompactionSummary: kindCompaction,
}

// shown reports whether the entry has a place of its own among what was said.
func (n *node) shown() bool { return n.kind != kindNone && n.kind != kindEdit }

// read goes through the log once.
func (d *document) read(ctx context.Context) error {
	labels := map[string]string{}
	for e, err := range d.store.All(ctx) {
		if err != nil {
			return err
		}
		switch e.Type {
		case session.TypeLabel:
			l, _ := e.Label()
			labels[strings.Clone(l.TargetID)] = strings.Clone(line(l.Label))
		case session.TypeSessionInfo:
			name, _ := e.SessionName()
			d.name = strings.Clone(line(name))
		default:
		}
		d.add(e)
		n := describe(e)
		d.byID[n.id] = len(d.Nodes)
		d.Nodes = append(d.Nodes, n)
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if at, ok := d.byID[n.parentID]; ok && n.parentID != "" {
			n.parent = at
		}
		if d.byID[n.id] == i {
			n.label = labels[n.id]
		}
		if at, ok := d.byID[n.ref]; ok && n.kind == kindEdit {
			d.edits[at] = append(d.edits[at], i)
		}
	}
	return nil
}

// add counts an entry.
func (d *document) add(e *session.Entry) {
	d.Entries++
	if at := e.Time(); !at.IsZero() {
		if d.from.IsZero() || at.Before(d.from) {
			d.from = at
		}
		if at.After(d.to) {
			d.to = at
		}
	}
	if e.Type == session.TypeMessage {
		d.Messages++
		if m, err := e.Message(); err == nil && m.Role == message.RoleAssistant && m.Model != "" {
			if name := strings.TrimPrefix(m.Provider+"/"+m.Model, "/"); !slices.Contains(d.models, name) {
				d.models = append(d.models, strings.Clone(name))
			}
		}
	}
	if u := e.UsageReport(); u != nil {
		d.Usage.Input += u.Input
		d.Usage.Output += u.Output
		d.Usage.CacheRead += u.CacheRead
		d.Usage.CacheWrite += u.CacheWrite
		d.Usage.Cost += u.Cost
	}
}

// describe returns what is remembered of an entry. Texts of an entry alias the whole
// record, so they are copied.
func describe(e *session.Entry) node {
	n := node{id: strings.Clone(e.ID), parentID: strings.Clone(e.ParentID), parent: -1}
	switch e.Type {
	case session.TypeMessage, session.TypeCustomMessage:
		n.kind, n.line = kindUnknown, string(e.Type)
		if m := messageOf(e); m != nil && kindOfRole[m.Role] != "" {
			n.kind, n.line = kindOfRole[m.Role], messageLine(m)
			if m.Role == message.RoleUser && !m.UserWords() {
				n.kind = kindInjected
			}
		}
	case session.TypeCompaction:
		c, _ := e.Compaction()
		n.kind, n.line, n.ref = kindCompaction, c.Summary, c.FirstKeptEntryID
	case session.TypeBranchSummary:
		b, _ := e.BranchSummary()
		n.kind, n.line, n.ref = kindBranch, b.Summary, b.FromID
	case session.TypeContextEdit:
		c, _ := e.ContextEdit()
		if n.omits, n.ref = c.Omit, c.TargetID; c.Omit || c.Content != nil {
			n.kind = kindEdit // else it has no effect
		}
	case session.TypeModelChange:
		m, _ := e.ModelChange()
		n.kind, n.line = kindNote, "model "+strings.TrimPrefix(m.Provider+"/"+m.ID, "/")
	case session.TypeThinkingLevel:
		level, _ := e.ThinkingLevel()
		n.kind, n.line = kindNote, "thinking "+level
	case session.TypeCustom:
		if c, _ := e.Custom(); c.CustomType == session.CustomPass {
			n.kind, n.line = kindNote, passLine(e)
		}
	case session.TypeLabel, session.TypeSessionInfo, session.TypeUsage:
	default:
		n.kind, n.line = kindUnknown, cmp.Or(string(e.Type), "a record without a type")
	}
	n.line, n.ref = strings.Clone(line(n.line)), strings.Clone(n.ref)
	return n
}

// messageLine is what says most of a message.
func messageLine(m *message.Message) string {
	first := text.FirstLine(m.Text())
	switch m.Role {
	case message.RoleBashExecution:
		return "$ " + m.Command
	case message.RoleToolResult:
		return m.ToolName + ": " + first
	case message.RoleCustom:
		return m.CustomType + ": " + first
	case message.RoleCompactionSummary, message.RoleBranchSummary:
		return m.Summary
	case message.RoleSystem:
		if first == "" && len(m.Sections) > 0 {
			return m.Sections[0].Name
		}
	default:
	}
	if first != "" {
		return first
	}
	var names []string
	image := ""
	for _, b := range m.Content {
		switch {
		case b.Type == message.BlockToolCall && len(names) < 4:
			names = append(names, b.Name)
		case b.Type == message.BlockImage:
			image = "(an image)"
		}
	}
	return cmp.Or(strings.Join(names, ", "), image, m.ErrorMessage)
}

func passLine(e *session.Entry) string {
	pass, ok := e.Pass()
	if !ok {
		return "a pass that can't be read"
	}
	var what []string
	if n := len(pass.Edits); n > 0 {
		what = append(what, count(n, "edit"))
	}
	if n := pass.Lines - len(pass.Edits); n > 0 {
		what = append(what, count(n, "more record"))
	}
	s := "pass: " + strings.Join(what, ", ")
	if pass.Reason != "" {
		s += " (" + pass.Reason + ")"
	}
	return s
}

// link finds the path, what the model sees of it, and how all entries hang together.
func (d *document) link() {
	d.on = make([]bool, len(d.Nodes))
	for i := d.Leaf; i >= 0 && !d.on[i]; i = d.Nodes[i].parent {
		d.on[i] = true
		d.Path = append(d.Path, i)
	}
	slices.Reverse(d.Path)
	d.inForce, d.hidden = map[int]int{}, map[int]bool{}
	last := -1
	for k, i := range d.Path {
		n := &d.Nodes[i]
		if n.kind == kindCompaction && n.ref != "" {
			last = k
		} else if at, ok := d.byID[n.ref]; ok && n.kind == kindEdit {
			d.inForce[at] = i
		}
	}
	for k := 0; k < last && d.Path[k] != d.kept(d.Path[last]); k++ {
		d.hidden[d.Path[k]] = true
	}
	var parents, edits []byte
	pair := func(to []byte, a, b int) []byte {
		return append(strconv.AppendInt(append(strconv.AppendInt(to, int64(a), 10), ':'), int64(b), 10), ' ')
	}
	above := make([]int, len(d.Nodes))
	for i := range d.Nodes {
		d.Branched = d.Branched || d.Nodes[i].shown() && !d.on[i]
		if above[i] = d.Nodes[i].parent; above[i] != i-1 {
			parents = pair(parents, i, above[i])
		}
		for _, e := range d.edits[i] {
			edits = pair(edits, e, i)
		}
	}
	d.tree = outline.New(above, d.Leaf, func(i int) bool { return d.Nodes[i].shown() }, func(i int) bool { return d.on[i] })
	d.Parents, d.Edits = string(parents), string(edits)
}

// kept is the first entry that a compaction kept, -1 for none.
func (d *document) kept(i int) int {
	at, ok := d.byID[d.Nodes[i].ref]
	if !ok || at == i || d.Nodes[i].ref == "" {
		return -1
	}
	return at
}

// anchor is the name by which an entry can be linked to. Ids that are not made of
// letters, digits and the like, and those that stand twice, are told by number.
func (d *document) anchor(i int) string {
	if id := d.Nodes[i].id; id != "" && len(id) <= 128 && only(id, "-_.") && d.byID[id] == i {
		return "entry-" + id
	}
	return "n-" + strconv.Itoa(i)
}
