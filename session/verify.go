package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/message"
)

// Located is implemented by stores whose entries have a place in a file.
type Located interface {
	// Offsets returns where each entry that All yields begins, in that order, in
	// bytes.
	Offsets(ctx context.Context) ([]int64, error)
}

// maxProblems is how many problems Verify lists; the others are counted.
const maxProblems = 10_000

// Verify reads a whole session and returns every problem of it: those that the
// store found in its records (Store.Problems), those of the tree, and those of
// what the entries say. Its cost is linear in the size of the session.
func Verify(ctx context.Context, s Store) ([]Problem, error) {
	v := &verifier{byID: map[string]int{}, types: map[Type]*counted{}}
	if err := v.read(ctx, s); err != nil {
		return nil, err
	}
	v.links()
	v.tree()
	v.references()
	v.passes()
	for _, c := range v.types {
		v.report(c.first, Problem{
			Code: "unknown-type", Severity: SevInfo,
			What:    fmt.Sprintf("a record of the type %q, which this clew does not know; there are %d", c.name, c.n),
			Meaning: "it is kept and takes part in the tree; the model sees nothing of it",
		})
	}
	return v.result(s), nil
}

// verifier holds what is remembered of each entry: not what it says.
type verifier struct {
	nodes []vnode
	byID  map[string]int // the last entry with an id has it
	types map[Type]*counted
	found []placed
	more  int
}

// vnode is an entry as the verifier remembers it. Entries are numbered in the
// order of the log; -1 stands for none.
type vnode struct {
	id, parentID string
	at           int64 // offset in the file
	typ          Type
	role         message.Role
	parent       int
	children     []int

	calls    []call // of an answer that waits for results
	result   string // the call that a result belongs to
	ref      string // target of an edit or a label, first kept entry, old leaf
	omits    bool   // an edit that takes its target out
	failed   bool   // an answer that ended in an error or was aborted
	lines    int    // of a pass
	inBody   bool   // may belong to the body of a pass
	editable bool

	in, out int // when the walk of the tree came and left
	open    int // calls without result before it, on its path
}

type call struct{ id, name string }

type counted struct {
	first int
	n     int
	name  string
}

// placed is a problem with the entry it was found at, for the order.
type placed struct {
	node int
	Problem
}

// report adds a problem of an entry.
func (v *verifier) report(node int, p Problem) {
	if len(v.found) == maxProblems {
		v.more++
		return
	}
	p.Offset, p.EntryID = v.nodes[node].at, v.nodes[node].id
	v.found = append(v.found, placed{node, p})
}

func (v *verifier) read(ctx context.Context, s Store) error {
	var last time.Time
	for e, err := range s.All(ctx) {
		if err != nil {
			return err
		}
		if len(v.nodes)%256 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		// Texts of an entry alias the whole record, so they are copied.
		id := strings.Clone(e.ID)
		v.byID[id] = len(v.nodes)
		v.nodes = append(v.nodes, vnode{
			id: id, parentID: strings.Clone(e.ParentID), typ: Type(strings.Clone(string(e.Type))), parent: -1, in: -1,
		})
		last = v.entry(len(v.nodes)-1, e, last)
	}
	if l, ok := s.(Located); ok {
		offsets, err := l.Offsets(ctx)
		if err != nil {
			return err
		}
		for i := range min(len(offsets), len(v.nodes)) {
			v.nodes[i].at = offsets[i]
		}
		for i := range v.found {
			v.found[i].Offset = v.nodes[v.found[i].node].at
		}
	}
	return nil
}

// links finds the parents.
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
			v.report(i, Problem{
				Code: "missing-parent", Severity: SevError,
				What:    fmt.Sprintf("its parent %s is nowhere in the session", n.parentID),
				Meaning: "it is taken for a root: nothing before it is in its context",
			})
		}
	}
}

// references checks what entries name other than their parents.
func (v *verifier) references() {
	for i := range v.nodes {
		n := &v.nodes[i]
		target, ok := v.byID[n.ref]
		ok = ok && n.ref != ""
		switch n.typ {
		case TypeContextEdit:
			v.editTarget(i, target, ok)
		case TypeLabel:
			if !ok {
				v.report(i, Problem{
					Code: "label-target", Severity: SevWarning,
					What:    fmt.Sprintf("a label of %s, which is nowhere in the session", name(n.ref)),
					Meaning: "nothing carries this label",
				})
			}
		case TypeCompaction:
			v.firstKept(i, target, ok)
		case TypeBranchSummary:
			if !ok && n.ref != "root" {
				v.report(i, Problem{
					Code: "branch-from", Severity: SevInfo,
					What:    fmt.Sprintf("a summary of the branch at %s, which is nowhere in the session", name(n.ref)),
					Meaning: "the branch can't be looked at here; a copy of one path of a session has such summaries",
				})
			}
		default:
		}
	}
}

func (v *verifier) editTarget(i, target int, ok bool) {
	n := &v.nodes[i]
	p := Problem{Severity: SevWarning, Meaning: "the edit has no effect"}
	switch {
	case !ok:
		p.Code, p.What = "edit-target", fmt.Sprintf("an edit of %s, which is nowhere in the session", name(n.ref))
	case !v.above(target, i):
		p.Code, p.What = "edit-elsewhere", fmt.Sprintf("an edit of %s, which is not on the path to the edit", n.ref)
		p.Severity = SevInfo
	case !n.omits && !v.nodes[target].editable:
		p.Code, p.What = "edit-kind", fmt.Sprintf("an edit of %s, %s: it can be taken out, its content can't be replaced", n.ref, v.nodes[target].kind())
	default:
		return
	}
	v.report(i, p)
}

func (v *verifier) firstKept(i, target int, ok bool) {
	n := &v.nodes[i]
	switch {
	case n.ref == "":
		v.report(i, Problem{
			Code: "first-kept", Severity: SevWarning,
			What:    "a compaction that does not say where what it keeps begins",
			Meaning: "nothing before it is in the context but its summary",
			Remedy:  remedyRepair,
		})
	case n.ref == n.id:
	case !ok || !v.above(target, i):
		v.report(i, Problem{
			Code: "first-kept", Severity: SevWarning,
			What:    fmt.Sprintf("a compaction that keeps what begins at %s, which is not on the path to it", n.ref),
			Meaning: "nothing before it is in the context but its summary",
			Remedy:  remedyRepair,
		})
	case v.nodes[target].open > 0 && v.nodes[target].role == message.RoleToolResult:
		v.report(i, Problem{
			Code: "split-unit", Severity: SevWarning,
			What:    fmt.Sprintf("a compaction whose kept part begins at %s, a result whose call is before it", n.ref),
			Meaning: "the result can't be sent, because its call is not in the context",
		})
	}
}

const remedyRepair = "clew repair FILE --out FILE makes a sound copy"

// passes checks that each pass has all its entries.
func (v *verifier) passes() {
	for i := range v.nodes {
		n := &v.nodes[i]
		if n.lines == 0 {
			continue
		}
		have := 0
		for have < n.lines && i+1+have < len(v.nodes) && v.nodes[i+1+have].inBody {
			have++
		}
		if have < n.lines {
			v.report(i, Problem{
				Code: "broken-pass", Severity: SevWarning,
				What:    fmt.Sprintf("a pass of %d entries of which %d are there", n.lines, have),
				Meaning: "what is there counts; the context behind it may be one that nobody planned",
				Remedy:  "clew undo takes the pass back, where it is the latest on the path",
			})
		}
	}
}

// above reports whether a is b or on the path to it.
func (v *verifier) above(a, b int) bool {
	return v.nodes[a].in <= v.nodes[b].in && v.nodes[b].out <= v.nodes[a].out
}

// result returns the problems in the order of the log.
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
		all = append(all, Problem{
			Code: "more", Severity: SevWarning, Offset: v.nodes[len(v.nodes)-1].at,
			What: fmt.Sprintf("%d more problems of entries that are not listed", v.more),
		})
	}
	slices.SortStableFunc(all, func(a, b Problem) int {
		switch {
		case a.Offset < b.Offset:
			return -1
		case a.Offset > b.Offset:
			return 1
		}
		return 0
	})
	return all
}

// name is an id in a sentence.
func name(id string) string {
	if id == "" {
		return "an entry that is not named"
	}
	return id
}

// kind says what an entry is, in a sentence.
func (n *vnode) kind() string {
	if n.typ == TypeMessage {
		return "a message of the role " + string(n.role)
	}
	return "a " + string(n.typ)
}

// list names the first few of many.
func list(names []string) string {
	const show = 3
	if len(names) > show {
		return strings.Join(names[:show], ", ") + fmt.Sprintf(" and %d more", len(names)-show)
	}
	return strings.Join(names, ", ")
}
