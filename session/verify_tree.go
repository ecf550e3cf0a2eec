package session

import (
	"fmt"
	"slices"

	"github.com/clew-dev/clew/message"
)

// tree walks the tree once, from the roots down, and checks on the way what
// depends on a path: that calls have results and results calls.
func (v *verifier) tree() {
	w := &treeWalk{v: v, calls: map[string]int{}}
	roots := 0
	for i := range v.nodes {
		if v.nodes[i].parent >= 0 {
			continue
		}
		if roots++; roots > 1 && v.byID[v.nodes[i].id] == i {
			v.report(i, "root", "root number %d of the session", roots)
		}
		w.walk(i)
	}
	// What was not reached hangs in a cycle or below one.
	for i := range v.nodes {
		if v.nodes[i].in < 0 {
			w.walk(v.cycle(i))
		}
	}
}

// cycle reports the cycle above an entry and returns the entry in it that
// stands first in the log: the one to walk it from.
func (v *verifier) cycle(i int) int {
	seen := map[int]bool{}
	for !seen[i] {
		seen[i] = true
		i = v.nodes[i].parent
	}
	in := []int{i}
	for p := v.nodes[i].parent; p != i; p = v.nodes[p].parent {
		in = append(in, p)
	}
	slices.Sort(in)
	ids := make([]string, 0, 4)
	for _, i := range in[:min(len(in), 4)] {
		ids = append(ids, v.nodes[i].id)
	}
	what := fmt.Sprintf("%d entries that hang under each other: %s", len(in), list(ids))
	if len(in) == 1 {
		what = "an entry that is its own parent"
	} else if len(in) > len(ids) {
		what = fmt.Sprintf("%d entries that hang under each other, among them %s", len(in), list(ids[:3]))
	}
	v.report(in[0], "cycle", "%s", what)
	return in[0]
}

// treeWalk is the state of the walk on the path to where it is.
type treeWalk struct {
	v       *verifier
	clock   int
	answers []answer       // on the path, the latest last
	calls   map[string]int // how many answers on the path have a call of that id
}

// answer is an answer on the path with what came for its calls.
type answer struct {
	node    int
	results map[string]int // call id → results
	open    int            // calls without a result
	later   int            // messages that are no results since
}

// walk visits root and all below it. It keeps its own stack: trees are as deep
// as conversations are long.
func (w *treeWalk) walk(root int) {
	type step struct{ node, child int }
	stack := []step{{root, 0}}
	w.enter(root)
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		children := w.v.nodes[top.node].children
		if top.child == len(children) {
			w.leave(top.node, len(children) == 0)
			stack = stack[:len(stack)-1]
			continue
		}
		child := children[top.child]
		top.child++
		if w.v.nodes[child].in >= 0 {
			continue // around a cycle
		}
		w.enter(child)
		stack = append(stack, step{child, 0})
	}
}

func (w *treeWalk) top() *answer {
	if len(w.answers) == 0 {
		return nil
	}
	return &w.answers[len(w.answers)-1]
}

func (w *treeWalk) enter(i int) {
	n := &w.v.nodes[i]
	n.in = w.clock
	w.clock++
	top := w.top()
	if top != nil {
		n.open = top.open
	}
	switch {
	case n.role == message.RoleAssistant:
		if top != nil && top.open > 0 {
			w.unanswered(top, i)
		}
		a := answer{node: i, results: map[string]int{}}
		for _, c := range n.calls {
			if _, twice := a.results[c.id]; !twice {
				a.results[c.id] = 0
				a.open++
			}
			w.calls[c.id]++
		}
		w.answers = append(w.answers, a)
	case n.role == message.RoleToolResult:
		w.result(top, i)
	case n.shown() && top != nil:
		top.later++
	}
}

// shown reports whether an entry contributes a message of its own.
func (n *vnode) shown() bool {
	return n.role != "" && n.role != message.RoleSystem || n.typ == TypeBranchSummary
}

func (w *treeWalk) result(top *answer, i int) {
	n := &w.v.nodes[i]
	if top != nil {
		if got, ok := top.results[n.result]; ok {
			top.results[n.result]++
			if got == 0 {
				top.open--
				return
			}
			w.v.report(i, "second-result", "another result of the call %s", name(n.result))
			return
		}
		if w.v.nodes[top.node].failed {
			return // the result of an answer that is not sent; it goes with it
		}
	}
	p := NewProblem("result-without-call", n.at, n.id, "the result of the call %s, which no answer before it made", name(n.result))
	if w.calls[n.result] > 0 {
		p.What = fmt.Sprintf("the result of the call %s, which an earlier answer than the one before it made", name(n.result))
		p.Meaning = "it came too late: the call was sent without it"
	}
	w.v.add(i, p)
}

func (w *treeWalk) leave(i int, leaf bool) {
	n := &w.v.nodes[i]
	n.out = w.clock
	w.clock++
	if leaf {
		if top := w.top(); top != nil && top.open > 0 {
			if top.later > 0 {
				w.unanswered(top, -1)
			} else {
				w.pending(top, i)
			}
		}
	}
	switch {
	case n.role == message.RoleAssistant:
		w.answers = w.answers[:len(w.answers)-1]
		for _, c := range n.calls {
			if w.calls[c.id]--; w.calls[c.id] == 0 {
				delete(w.calls, c.id)
			}
		}
	case n.role == message.RoleToolResult:
		top := w.top()
		if top == nil {
			break
		}
		if got, ok := top.results[n.result]; ok {
			top.results[n.result]--
			if got == 1 {
				top.open++
			}
		}
	case n.shown() && w.top() != nil:
		w.top().later--
	}
}

// missing names the calls of an answer that have no result.
func (w *treeWalk) missing(a *answer) []string {
	var names []string
	for _, c := range w.v.nodes[a.node].calls {
		if a.results[c.id] == 0 {
			names = append(names, c.name)
		}
	}
	return names
}

// unanswered reports calls that the conversation went on without, to the answer
// next or, when that is -1, to a message of the user.
func (w *treeWalk) unanswered(a *answer, next int) {
	n := &w.v.nodes[a.node]
	if n.said {
		return
	}
	n.said = true
	what := "an answer with calls that never got a result: " + list(w.missing(a))
	if next >= 0 {
		what += "; the answer " + w.v.nodes[next].id + " came without them"
	}
	w.v.report(a.node, "call-without-result", "%s", what)
}

func (w *treeWalk) pending(a *answer, leaf int) {
	n := &w.v.nodes[a.node]
	if n.saidPending {
		return
	}
	n.saidPending = true
	p := NewProblem("pending-call", n.at, n.id, "an answer with calls that have no result yet: %s", list(w.missing(a)))
	p.Meaning = fmt.Sprintf("the conversation stands there, at %s; nothing can be sent before they are answered", w.v.nodes[leaf].id)
	w.v.add(a.node, p)
}
