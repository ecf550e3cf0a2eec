package page

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

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

// shown reports whether the entry has a place of its own among what was said.
func (n *node) shown() bool { return n.kind != kindNone && n.kind != kindEdit }

// read goes through the log once.
func (p *Page) read(ctx context.Context) error {
	labels := map[string]string{}
	for e, err := range p.store.All(ctx) {
		if err != nil {
			return err
		}
		// Texts of an entry alias the whole record, so they are copied.
		n := node{id: strings.Clone(e.ID), parentID: strings.Clone(e.ParentID), parent: -1, kind: kindOf(e)}
		n.line = strings.Clone(lineOf(e, n.kind))
		switch e.Type {
		case session.TypeLabel:
			l, _ := e.Label()
			labels[strings.Clone(l.TargetID)] = strings.Clone(line(l.Label))
		case session.TypeSessionInfo:
			name, _ := e.SessionName()
			p.name = strings.Clone(line(name))
		case session.TypeCompaction:
			c, _ := e.Compaction()
			n.ref = strings.Clone(c.FirstKeptEntryID)
		case session.TypeBranchSummary:
			b, _ := e.BranchSummary()
			n.ref = strings.Clone(b.FromID)
		case session.TypeContextEdit:
			c, _ := e.ContextEdit()
			if n.omits = c.Omit; !c.Omit && c.Content == nil {
				n.kind = kindNone // an edit without effect
			}
			n.ref = strings.Clone(c.TargetID)
		default:
		}
		p.totals.add(e)
		p.byID[n.id] = len(p.nodes)
		p.nodes = append(p.nodes, n)
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		if at, ok := p.byID[n.parentID]; ok && n.parentID != "" {
			n.parent = at
		}
		if p.byID[n.id] == i {
			n.label = labels[n.id]
		}
		if at, ok := p.byID[n.ref]; ok && n.kind == kindEdit {
			p.edits[at] = append(p.edits[at], i)
		}
	}
	return nil
}

// link finds the path.
func (p *Page) link() {
	p.on = make([]bool, len(p.nodes))
	for i := p.leaf; i >= 0 && !p.on[i]; i = p.nodes[i].parent {
		p.on[i] = true
		p.path = append(p.path, i)
	}
	slices.Reverse(p.path)
}

// branched reports whether anything that is shown is not on the path.
func (p *Page) branched() bool {
	for i := range p.nodes {
		if !p.on[i] && p.nodes[i].shown() {
			return true
		}
	}
	return false
}

// above returns the nearest entry on the way to the root that is shown, or -1.
func (p *Page) above(i int) int {
	at := p.nodes[i].parent
	for n := 0; at >= 0 && !p.nodes[at].shown() && n < len(p.nodes); n++ {
		at = p.nodes[at].parent
	}
	return at
}

// anchor is the name by which an entry can be linked to. Ids that are not made of
// letters, digits and the like, and those that stand twice, are told by number.
func (p *Page) anchor(i int) string {
	if id := p.nodes[i].id; plainID(id) && p.byID[id] == i {
		return "entry-" + id
	}
	return "n-" + strconv.Itoa(i)
}

func plainID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for i := range len(id) {
		if !alphanumeric(id[i]) && strings.IndexByte("-_.", id[i]) < 0 {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func kindOf(e *session.Entry) kind {
	switch e.Type {
	case session.TypeMessage:
		m, err := e.Message()
		if err != nil {
			return kindUnknown
		}
		return kindOfMessage(m)
	case session.TypeCustomMessage:
		return kindCustom
	case session.TypeCompaction:
		return kindCompaction
	case session.TypeBranchSummary:
		return kindBranch
	case session.TypeContextEdit:
		return kindEdit
	case session.TypeModelChange, session.TypeThinkingLevel:
		return kindNote
	case session.TypeCustom:
		if c, _ := e.Custom(); c.CustomType == session.CustomPass {
			return kindNote
		}
		return kindNone
	case session.TypeLabel, session.TypeSessionInfo, session.TypeUsage:
		return kindNone
	}
	return kindUnknown
}

func kindOfMessage(m *message.Message) kind {
	switch m.Role {
	case message.RoleUser:
		if !m.UserWords() {
			return kindInjected
		}
		return kindUser
	case message.RoleAssistant:
		return kindAssistant
	case message.RoleToolResult:
		return kindResult
	case message.RoleBashExecution:
		return kindShell
	case message.RoleSystem:
		return kindSystem
	case message.RoleCustom:
		return kindCustom
	case message.RoleBranchSummary:
		return kindBranch
	case message.RoleCompactionSummary:
		return kindCompaction
	}
	return kindUnknown
}

// lineOf says in a line what an entry says, for the tree.
func lineOf(e *session.Entry, k kind) string {
	switch k {
	case kindNone, kindEdit:
		return ""
	case kindCompaction:
		c, ok := e.Compaction()
		if !ok {
			m, _ := e.Message()
			c.Summary = m.Summary
		}
		return line(c.Summary)
	case kindBranch:
		b, ok := e.BranchSummary()
		if !ok {
			m, _ := e.Message()
			b.Summary = m.Summary
		}
		return line(b.Summary)
	case kindNote:
		return noteLine(e)
	case kindUnknown:
		return line(cmp.Or(string(e.Type), "a record without a type"))
	default:
		m, ok := e.CustomMessage()
		if !ok {
			m, _ = e.Message()
		}
		return messageLine(m)
	}
}

func messageLine(m *message.Message) string {
	switch m.Role {
	case message.RoleBashExecution:
		return line("$ " + m.Command)
	case message.RoleToolResult:
		return line(m.ToolName + ": " + firstLine(m.Text()))
	case message.RoleCustom:
		return line(m.CustomType + ": " + firstLine(m.Text()))
	case message.RoleSystem:
		if t := m.Text(); t != "" || len(m.Sections) == 0 {
			return line(t)
		}
		return line(m.Sections[0].Name)
	default:
	}
	if t := line(m.Text()); t != "" {
		return t
	}
	var names []string
	for _, b := range m.ToolCalls() {
		if names = append(names, b.Name); len(names) == 4 {
			break
		}
	}
	if names != nil {
		return line(strings.Join(names, ", "))
	}
	for _, b := range m.Content {
		if b.Type == message.BlockImage {
			return "(an image)"
		}
	}
	return line(m.ErrorMessage)
}

func noteLine(e *session.Entry) string {
	if m, ok := e.ModelChange(); ok {
		return "model " + line(strings.TrimPrefix(m.Provider+"/"+m.ID, "/"))
	}
	if level, ok := e.ThinkingLevel(); ok {
		return "thinking " + line(level)
	}
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
	text := "pass: " + strings.Join(what, ", ")
	if pass.Reason != "" {
		text += " (" + line(pass.Reason) + ")"
	}
	return text
}

// totals are figures of all entries, on whatever branch.
type totals struct {
	entries, messages int
	from, to          time.Time
	input, output     int64
	cacheRead, writes int64
	cost              float64
	models            []string
	answers           map[string]int
}

func (t *totals) add(e *session.Entry) {
	t.entries++
	if at := e.Time(); !at.IsZero() {
		if t.from.IsZero() || at.Before(t.from) {
			t.from = at
		}
		if at.After(t.to) {
			t.to = at
		}
	}
	if e.Type == session.TypeMessage {
		t.messages++
		if m, err := e.Message(); err == nil && m.Role == message.RoleAssistant && m.Model != "" {
			t.model(strings.TrimPrefix(m.Provider+"/"+m.Model, "/"))
		}
	}
	if u := e.UsageReport(); u != nil {
		t.input += u.Input
		t.output += u.Output
		t.cacheRead += u.CacheRead
		t.writes += u.CacheWrite
		t.cost += u.Cost
	}
}

func (t *totals) model(name string) {
	if t.answers == nil {
		t.answers = map[string]int{}
	}
	if t.answers[name] == 0 {
		name = strings.Clone(name)
		t.models = append(t.models, name)
	}
	t.answers[name]++
}

// count writes how many there are of something.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(int64(n)) + " " + what + "s"
}

// number writes a whole number with a space between groups of three digits.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// size writes a number of bytes.
func size(n int64) string {
	switch {
	case n < 1000:
		return count(int(n), "byte")
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
