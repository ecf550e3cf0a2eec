package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// Located is implemented by stores whose entries have a place in a file.
type Located interface {
	// Offsets returns where each entry that All yields begins, in that order, in bytes.
	Offsets(ctx context.Context) ([]int64, error)
}

// maxProblems is how many problems Verify lists; the others are counted.
const maxProblems = 10_000

// Verify reads a whole session and returns every problem of it: those that the store found in its records
// (Store.Problems), those of the tree, and those of what the entries say. Its cost is linear in the size of the
// session, but that open calls are looked at again for each branch.
func Verify(ctx context.Context, s Store) ([]Problem, error) {
	v := &verifier{byID: map[string]int{}, unknown: map[Type][]int{}, uses: map[string]int{}}
	if err := v.read(ctx, s); err != nil {
		return nil, err
	}
	v.links()
	v.tree(ctx)
	v.references()
	for t, nodes := range v.unknown {
		v.report(nodes[0], "unknown-type", "a record of the type %q, which this clew does not know; there are %d", t, len(nodes))
	}
	return v.result(s), ctx.Err()
}

// verifier holds what is remembered of each entry: not what it says.
type verifier struct {
	nodes   []vnode
	byID    map[string]int // the last entry with an id has it
	unknown map[Type][]int // entries of types that are not known
	last    time.Time      // of the entry read before that has one
	clock   int            // of the walk of the tree
	path    []int          // the answers and results on the path to there, without those that open leaves out
	forks   [][]int        // what path was at each fork above
	uses    map[string]int // how many calls and results have an id
	found   []placed
	more    int
}

// vnode is an entry as the verifier remembers it. Entries are numbered in the order of the log; -1 stands for none.
type vnode struct {
	id, parentID string
	at           int64 // offset in the file
	typ          Type
	role         message.Role
	parent       int
	children     []int
	in, out      int // when the walk of the tree came, from 1, and left

	msg      *message.Message // an answer or a result: what tells which belong together
	paired   bool             // a branch that ends here was looked at
	said     bool             // a problem of its pairing was reported
	waits    bool             // that its calls are pending was reported
	split    bool             // a result whose call is before it
	ref      string           // target of an edit or a label, first kept entry, old leaf
	omits    bool             // an edit that takes its target out
	lines    int              // of a pass
	inBody   bool             // may belong to the body of a pass
	editable bool
}

type placed struct {
	node int
	Problem
}

func (v *verifier) report(node int, code, what string, args ...any) {
	v.add(node, NewProblem(code, v.nodes[node].at, v.nodes[node].id, what, args...))
}

func (v *verifier) add(node int, p Problem) {
	if len(v.found) == maxProblems {
		v.more++
		return
	}
	v.found = append(v.found, placed{node, p})
}

func (v *verifier) read(ctx context.Context, s Store) error {
	var offsets []int64
	if l, ok := s.(Located); ok {
		var err error
		if offsets, err = l.Offsets(ctx); err != nil {
			return err
		}
	}
	for e, err := range s.All(ctx) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		// Texts of an entry alias the whole record, so they are copied.
		shape, i := e.Shape(), len(v.nodes)
		v.byID[shape.ID] = i
		v.nodes = append(v.nodes, vnode{id: shape.ID, parentID: shape.ParentID, typ: shape.Type, parent: -1})
		if i < len(offsets) {
			v.nodes[i].at = offsets[i]
		}
		v.entry(i, e)
	}
	return nil
}

func (v *verifier) links() {
	for i := range v.nodes {
		n := &v.nodes[i]
		p, ok := v.byID[n.parentID]
		switch {
		case n.parentID == "":
		case ok:
			n.parent = p
			v.nodes[p].children = append(v.nodes[p].children, i)
		case v.byID[n.id] == i:
			v.report(i, "missing-parent", "its parent %s is nowhere in the session", n.parentID)
		}
	}
}

// references checks what entries name other than their parents, and that each pass has all its entries.
func (v *verifier) references() {
	for i := range v.nodes {
		n := &v.nodes[i]
		have := 0
		for have < n.lines && i+1+have < len(v.nodes) && v.nodes[i+1+have].inBody {
			have++
		}
		if have < n.lines {
			v.report(i, "broken-pass", "a pass of %d entries of which %d are there", n.lines, have)
		}
		target, ok := v.byID[n.ref]
		ref := cmp.Or(n.ref, unnamed)
		onPath := ok && v.above(target, i)
		switch {
		case n.typ == TypeContextEdit && !ok:
			v.report(i, "edit-target", "an edit of %s, which is nowhere in the session", ref)
		case n.typ == TypeContextEdit && !onPath:
			v.report(i, "edit-elsewhere", "an edit of %s, which is not on the path to the edit", n.ref)
		case n.typ == TypeContextEdit && !n.omits && !v.nodes[target].editable:
			v.report(i, "edit-kind", "an edit of %s, %s: it can be taken out, its content can't be replaced", n.ref, v.nodes[target].kind())
		case n.typ == TypeLabel && !ok:
			v.report(i, "label-target", "a label of %s, which is nowhere in the session", ref)
		case n.typ == TypeBranchSummary && !ok && n.ref != "root":
			v.report(i, "branch-from", "a summary of the branch at %s, which is nowhere in the session", ref)
		case n.typ == TypeCompaction && n.ref == "":
			v.report(i, "first-kept", "a compaction that does not say where what it keeps begins")
		case n.typ == TypeCompaction && n.ref == n.id:
		case n.typ == TypeCompaction && !onPath:
			v.report(i, "first-kept", "a compaction that keeps what begins at %s, which is not on the path to it", n.ref)
		case n.typ == TypeCompaction && v.nodes[target].split:
			v.report(i, "split-unit", "a compaction whose kept part begins at %s, a result whose call is before it", n.ref)
		}
	}
}

func (v *verifier) above(a, b int) bool {
	return v.nodes[a].in <= v.nodes[b].in && v.nodes[b].out <= v.nodes[a].out
}

func (v *verifier) result(s Store) []Problem {
	known := map[[2]string]bool{}
	all := s.Problems()
	for _, p := range all {
		known[[2]string{p.Code, p.EntryID}] = true
	}
	slices.SortStableFunc(v.found, func(a, b placed) int { return a.node - b.node })
	for _, p := range v.found {
		if !known[[2]string{p.Code, p.EntryID}] {
			all = append(all, p.Problem)
		}
	}
	if v.more > 0 {
		p := NewProblem("more", v.nodes[len(v.nodes)-1].at, "", "%d more problems of entries that are not listed", v.more)
		p.Severity, p.Meaning, p.Remedy = SevWarning, "", ""
		all = append(all, p)
	}
	slices.SortStableFunc(all, ByOffset)
	return all
}

const unnamed = "an entry that is not named"

func (n *vnode) kind() string {
	if n.typ == TypeMessage {
		return "a message of the role " + string(n.role)
	}
	return "a " + string(n.typ)
}

func list(names []string) string {
	const show = 3
	more := ""
	if len(names) > show {
		names, more = names[:show], fmt.Sprintf(" and %d more", len(names)-show)
	}
	return strings.Join(names, ", ") + more
}

func (v *verifier) entry(i int, e *Entry) {
	n := &v.nodes[i]
	n.inBody = PassEntry(e)
	if !utf8.Valid(e.raw) {
		v.report(i, "invalid-utf8", "bytes that are not UTF-8")
	}
	v.usage(i, e.Field("usage"))
	switch e.Type {
	case TypeMessage:
		v.message(i, e)
	case TypeCustomMessage:
		n.editable, n.role = true, message.RoleCustom
		v.content(i, e.Field("content"), message.RoleCustom)
	case TypeCompaction:
		c, _ := e.Compaction()
		n.ref = strings.Clone(c.FirstKeptEntryID)
		if strings.TrimSpace(c.Summary) == "" {
			v.report(i, "empty-summary", "a compaction without a summary")
		}
	case TypeBranchSummary:
		b, _ := e.BranchSummary()
		n.ref = strings.Clone(b.FromID)
	case TypeContextEdit:
		c, _ := e.ContextEdit()
		n.ref, n.omits = strings.Clone(c.TargetID), c.Omit
		if !c.Omit && c.Content == nil {
			v.report(i, "bad-edit", "an edit whose replacement is neither null nor an object with content")
		}
	case TypeLabel:
		l, _ := e.Label()
		n.ref = strings.Clone(l.TargetID)
	case TypeCustom:
		if c, _ := e.Custom(); c.CustomType == CustomPass {
			p, ok := e.Pass()
			n.lines = p.Lines
			if !ok {
				v.report(i, "bad-pass", "the beginning of a pass that does not say how many entries it has")
			}
		}
	case TypeModelChange, TypeThinkingLevel, TypeSessionInfo, TypeUsage:
	default:
		v.unknown[n.typ] = append(v.unknown[n.typ], i)
	}
	v.time(i, e)
}

func (v *verifier) time(i int, e *Entry) {
	t := e.Time()
	if t.IsZero() {
		v.report(i, "no-time", "a record without a time that can be read")
		return
	}
	if t.Before(v.last) {
		v.report(i, "time-order", "its time is %s before that of the record before it", v.last.Sub(t))
	}
	v.last = t
}

func (v *verifier) message(i int, e *Entry) {
	n := &v.nodes[i]
	m, err := e.Message()
	if err != nil {
		v.report(i, "bad-message", "a message that can't be read: %v", err)
		return
	}
	n.role = message.Role(strings.Clone(string(m.Role)))
	n.editable = Replaceable(m.Role)
	v.usage(i, jsonx.Get(m.Raw(), "usage"))
	switch m.Role {
	case message.RoleUser, message.RoleAssistant, message.RoleToolResult, message.RoleCustom:
		v.content(i, jsonx.Get(m.Raw(), "content"), m.Role)
	case message.RoleSystem, message.RoleBashExecution, message.RoleBranchSummary, message.RoleCompactionSummary:
	default:
		v.report(i, "unknown-role", "a message of the role %q, which this clew does not know", m.Role)
	}
	if m.Role == message.RoleAssistant || m.Role == message.RoleToolResult {
		n.msg = outline(m)
	}
	if m.Role == message.RoleToolResult {
		v.uses[n.msg.ToolCallID]++
	}
	var bad []string
	for _, c := range m.ToolCalls() {
		v.uses[strings.Clone(c.ID)]++
		if !jsonx.IsObject(c.Arguments) {
			bad = append(bad, c.Name)
		}
	}
	if len(bad) > 0 {
		v.report(i, "bad-arguments", "%s", "tool calls whose arguments are no object: "+list(bad))
	}
}

// outline returns what of a message tells which calls and results belong together, in memory of its own.
func outline(m *message.Message) *message.Message {
	out := &message.Message{
		Role: message.Role(strings.Clone(string(m.Role))), ToolCallID: strings.Clone(m.ToolCallID),
		StopReason: message.StopReason(strings.Clone(string(m.StopReason))),
	}
	for _, b := range m.Content {
		text := strings.TrimSpace(b.Text)
		out.Content = append(out.Content, message.Block{
			Type: message.BlockType(strings.Clone(string(b.Type))), ID: strings.Clone(b.ID), Name: strings.Clone(b.Name),
			Text: strings.Clone(text[:min(len(text), 1)]),
		})
	}
	return out
}

func (v *verifier) content(i int, content []byte, r message.Role) {
	blocks := r == message.RoleAssistant || r == message.RoleToolResult
	if jsonx.IsArray(content) || jsonx.IsString(content) && !blocks {
		return
	}
	what := "neither a text nor blocks"
	if content == nil {
		what = "missing"
	} else if jsonx.IsString(content) {
		what = "a text where blocks must be"
	}
	v.report(i, "bad-content", "a message of the role %s whose content is %s", r, what)
}

func (v *verifier) usage(i int, usage []byte) {
	negative := ""
	jsonx.Members(usage, func(key, val []byte) bool {
		if n, ok := jsonx.Int(val); ok && n < 0 {
			negative = string(key)
		}
		return negative == ""
	})
	if negative != "" {
		v.report(i, "negative-usage", "a usage whose %s is below 0", negative)
	}
}

// tree walks the tree once, from the roots down, and looks at each branch.
func (v *verifier) tree(ctx context.Context) {
	roots := 0
	for i := range v.nodes {
		if v.nodes[i].parent >= 0 {
			continue
		}
		if roots++; roots > 1 && v.byID[v.nodes[i].id] == i {
			v.report(i, "root", "root number %d of the session", roots)
		}
		v.walk(ctx, i)
	}
	// What was not reached hangs in a cycle or below one.
	for i := range v.nodes {
		if v.nodes[i].in == 0 {
			v.walk(ctx, v.cycle(i))
		}
	}
}

// cycle reports the cycle above an entry and returns the first of it in the log: the one to walk it from.
func (v *verifier) cycle(i int) int {
	seen := map[int]bool{}
	for !seen[i] {
		seen[i] = true
		i = v.nodes[i].parent
	}
	in, ids := []int{i}, []string{}
	for p := v.nodes[i].parent; p != i; p = v.nodes[p].parent {
		in = append(in, p)
	}
	slices.Sort(in)
	for _, i := range in {
		ids = append(ids, v.nodes[i].id)
	}
	what := fmt.Sprintf("%d entries that hang under each other: %s", len(in), list(ids))
	if len(in) == 1 {
		what = "an entry that is its own parent"
	}
	v.report(in[0], "cycle", "%s", what)
	return in[0]
}

// walk visits root and all below it. It keeps its own stack: trees are as deep as conversations are long.
func (v *verifier) walk(ctx context.Context, root int) {
	stack := []int{root}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		v.clock++
		if i < 0 { // all below it was visited
			stack = stack[:len(stack)-1]
			n := &v.nodes[^i]
			n.out = v.clock
			if last := len(v.forks) - 1; len(n.children) > 1 {
				v.path, v.forks = v.forks[last], v.forks[:last]
			}
			if n.msg != nil {
				v.path = v.path[:len(v.path)-1]
			}
			continue
		}
		n := &v.nodes[i]
		n.in = v.clock
		if n.msg != nil {
			v.path = append(v.path, i)
		}
		if len(n.children) > 1 {
			v.forks = append(v.forks, v.path)
			v.path = v.open()
		}
		stack[len(stack)-1] = ^i
		below := len(stack)
		for _, child := range slices.Backward(n.children) {
			if v.nodes[child].in == 0 { // else it is around a cycle
				stack = append(stack, child)
			}
		}
		if len(stack) == below && ctx.Err() == nil {
			v.branch(i)
		}
	}
}

func (v *verifier) pairs() ([]*message.Message, *message.Pairs) {
	msgs := make([]*message.Message, len(v.path))
	for k, i := range v.path {
		msgs[k] = v.nodes[i].msg
	}
	pairs := message.PairCalls(msgs)
	for k, i := range v.path {
		if call := pairs.CallOf(k); call != nil && call.Answer < k && !msgs[call.Answer].Failed() {
			v.nodes[i].split = true
		}
	}
	return msgs, pairs
}

// open returns the path without what changes nothing below a fork, so that it is not paired again for each branch: the
// answers whose calls all have results, where nothing else has their ids, and these results. Its end stays.
func (v *verifier) open() (path []int) {
	_, pairs := v.pairs()
	answer := func(k int) int {
		if call := pairs.CallOf(k); call != nil {
			return call.Answer
		}
		return k
	}
	matters := func(c message.Call) bool { return c.Result < 0 || v.uses[c.Block.ID] != 2 }
	for k, i := range v.path {
		a := answer(k)
		alone := a == k && v.nodes[i].msg.Role == message.RoleToolResult
		if alone || a == pairs.Last || a == answer(len(v.path)-1) || slices.ContainsFunc(pairs.Of(a), matters) {
			path = append(path, i)
		}
	}
	return path
}

// branch checks that the calls on the path to a leaf have results, and the results calls, as requests pair them.
func (v *verifier) branch(leaf int) {
	if len(v.path) == 0 || v.nodes[v.path[len(v.path)-1]].paired {
		return
	}
	v.nodes[v.path[len(v.path)-1]].paired = true
	msgs, pairs := v.pairs()
	pending := pairs.Pending()
	for k, m := range msgs {
		i := v.path[k]
		n := &v.nodes[i]
		if m.Role == message.RoleToolResult {
			if pairs.CallOf(k) != nil || n.said {
				continue
			}
			n.said = true
			id := cmp.Or(m.ToolCallID, unnamed)
			if pairs.Known(m.ToolCallID) {
				v.report(i, "second-result", "another result of the call %s", id)
			} else {
				v.report(i, "result-without-call", "the result of the call %s, which no answer before it made", id)
			}
			continue
		}
		var open []string // the calls of the answer that have no result
		for _, c := range pairs.Of(k) {
			if c.Result < 0 {
				open = append(open, c.Block.Name)
			}
		}
		switch waits := len(pending) > 0 && pending[0].Answer == k; {
		case len(open) == 0 || m.Failed(): // a failed answer is not sent, so its calls need no results
		case waits && !n.waits:
			n.waits = true
			p := NewProblem("pending-call", n.at, n.id, "an answer with calls that have no result yet: %s", list(open))
			p.Meaning = fmt.Sprintf("the conversation stands there, at %s; nothing can be sent before they are answered", v.nodes[leaf].id)
			v.add(i, p)
		case !waits && !n.said:
			n.said = true
			v.report(i, "call-without-result", "an answer with calls that never got a result: %s", list(open))
		}
	}
}
