package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/clew-dev/clew/message"
)

// tree walks the tree once, from the roots down, and looks at each branch.
func (v *verifier) tree(ctx context.Context) error {
	roots := 0
	for i := range v.nodes {
		if v.nodes[i].parent >= 0 {
			continue
		}
		if roots++; roots > 1 && v.byID[v.nodes[i].id] == i {
			v.report(i, "root", "root number %d of the session", roots)
		}
		if err := v.walk(ctx, i); err != nil {
			return err
		}
	}
	// What was not reached hangs in a cycle or below one.
	for i := range v.nodes {
		if v.nodes[i].in == 0 {
			if err := v.walk(ctx, v.cycle(i)); err != nil {
				return err
			}
		}
	}
	return nil
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

// walk visits root and all below it. It keeps its own stack: trees are as deep as conversations are long.
func (v *verifier) walk(ctx context.Context, root int) error {
	stack := []int{root}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		v.clock++
		if i < 0 { // all below it was visited
			stack = stack[:len(stack)-1]
			v.nodes[^i].out = v.clock
			if v.nodes[^i].msg != nil {
				v.path = v.path[:len(v.path)-1]
			}
			continue
		}
		n := &v.nodes[i]
		n.in = v.clock
		if n.msg != nil {
			v.path = append(v.path, i)
		}
		stack[len(stack)-1] = ^i
		below := len(stack)
		for _, child := range slices.Backward(n.children) {
			if v.nodes[child].in == 0 { // else it is around a cycle
				stack = append(stack, child)
			}
		}
		if len(stack) == below {
			if err := ctx.Err(); err != nil {
				return err
			}
			v.branch(i)
		}
	}
	return nil
}

// branch checks that the calls on the path to a leaf have results, and the results
// calls, as they are paired where a request is made.
func (v *verifier) branch(leaf int) {
	if len(v.path) == 0 || v.nodes[v.path[len(v.path)-1]].paired {
		return
	}
	v.nodes[v.path[len(v.path)-1]].paired = true
	msgs := make([]*message.Message, len(v.path))
	for k, i := range v.path {
		msgs[k] = v.nodes[i].msg
	}
	pairs, pending := message.PairCalls(msgs), message.Pending(msgs)
	for k, m := range msgs {
		i := v.path[k]
		n := &v.nodes[i]
		if m.Role == message.RoleToolResult {
			call := pairs.CallOf(k)
			n.split = n.split || call != nil && call.Answer < k && !msgs[call.Answer].Failed()
			if call != nil || n.said {
				continue
			}
			n.said = true
			if pairs.Known(m.ToolCallID) {
				v.report(i, "second-result", "another result of the call %s", name(m.ToolCallID))
			} else {
				v.report(i, "result-without-call", "the result of the call %s, which no answer before it made", name(m.ToolCallID))
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
