package page

import (
	"iter"
	"strconv"
)

// maxDepth is how far branches are drawn to the right.
const maxDepth = 6

// Rows yields the tree: what the user said, where branches part and end, compactions,
// and what has a label; the rest is minor.
func (d *document) Rows() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for r := range d.tree.Rows() {
			v := d.entry(r.Node)
			v.Class += " d" + strconv.Itoa(min(r.Depth, maxDepth))
			if d.minor(r.Node) {
				v.Class += " minor"
			}
			if r.First {
				v.Class += " first"
			}
			if d.on[r.Node] {
				v.Class += " on"
			}
			if !yield(v) {
				return
			}
		}
	}
}

func (d *document) minor(i int) bool {
	n := &d.Nodes[i]
	switch n.kind {
	case kindUser, kindShell, kindCompaction, kindBranch:
		return false
	default:
		return n.label == "" && len(d.tree.Children[i]) == 1
	}
}
