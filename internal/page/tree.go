package page

import (
	"iter"
	"slices"
	"strconv"
)

// row is a line of the tree.
type row struct {
	node, depth int
	first       bool // of its branch
}

// rows yields the tree from top to bottom. Where branches part, the one to the leaf,
// else the newest, goes on at the same depth after the others. What hangs in a cycle
// comes last.
func (d *document) rows(yield func(row) bool) {
	seen := make([]bool, len(d.Nodes))
	var stack []row
	more := true
	descend := func() {
		for more && len(stack) > 0 {
			r := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[r.node] {
				continue
			}
			seen[r.node] = true
			below := d.children[r.node]
			if d.Nodes[r.node].shown() {
				more = yield(r)
				r.first = false
			}
			stack = d.push(stack, below, r.depth, r.first)
		}
	}
	stack = d.push(stack, d.roots, 0, false)
	descend()
	for _, i := range d.Path {
		stack = append(stack, row{node: i})
		descend()
	}
	for i := range d.Nodes {
		if d.Nodes[i].shown() && !seen[i] {
			stack = append(stack, row{node: i, first: true})
			descend()
		}
	}
}

func (d *document) push(stack []row, siblings []int, depth int, first bool) []row {
	if len(siblings) == 0 {
		return stack
	}
	main := siblings[len(siblings)-1]
	for _, i := range siblings {
		if d.on[i] {
			main = i
		}
	}
	stack = append(stack, row{main, depth, first})
	for _, i := range slices.Backward(siblings) {
		if i != main {
			stack = append(stack, row{i, depth + 1, true})
		}
	}
	return stack
}

// maxDepth is how far branches are drawn to the right.
const maxDepth = 6

// Rows yields the tree: what the user said, where branches part and end, compactions,
// and what has a label; the rest is minor.
func (d *document) Rows() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		d.rows(func(r row) bool {
			v := d.entry(r.node)
			v.Class += " d" + strconv.Itoa(min(r.depth, maxDepth))
			if d.minor(r.node) {
				v.Class += " minor"
			}
			if r.first {
				v.Class += " first"
			}
			if d.on[r.node] {
				v.Class += " on"
			}
			return yield(v)
		})
	}
}

func (d *document) minor(i int) bool {
	n := &d.Nodes[i]
	switch n.kind {
	case kindUser, kindShell, kindCompaction, kindBranch:
		return false
	default:
		return n.label == "" && len(d.children[i]) == 1
	}
}
