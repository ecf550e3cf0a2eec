// Package outline lays out the entries of a session as the lines of a tree: a run without
// branches stays at one depth, and only what leaves the run that is drawn is one deeper.
package outline

import (
	"iter"
	"slices"
)

// Tree says how entries hang together when only some of them are shown. Entries are numbers
// in the order of the log; -1 stands for none.
type Tree struct {
	Above    []int   // of each entry: its nearest ancestor that is shown
	Children [][]int // of each entry that is shown: those that are shown under it
	Roots    []int   // those that are shown under none
	onPath   func(i int) bool
}

// Row is a line of a tree.
type Row struct {
	Node, Depth int
	First       bool // of its branch
}

// New hangs each entry that is shown under its nearest ancestor that is. Cycles of parents are
// cut as Cut does.
func New(parents []int, leaf int, shown, onPath func(i int) bool) *Tree {
	n := len(parents)
	t := &Tree{Above: make([]int, n), Children: make([][]int, n), onPath: onPath}
	parents = Cut(parents, leaf)
	below := make([][]int, n)
	var stack []int
	for i, p := range parents {
		if p < 0 {
			stack = append(stack, i)
		} else {
			below[p] = append(below[p], i)
		}
	}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = append(stack[:len(stack)-1], below[i]...)
		at := parents[i]
		if at >= 0 && !shown(at) {
			at = t.Above[at]
		}
		t.Above[i] = at
		switch {
		case !shown(i):
		case at < 0:
			t.Roots = append(t.Roots, i)
		default:
			t.Children[at] = append(t.Children[at], i)
		}
	}
	slices.Sort(t.Roots)
	for _, children := range t.Children {
		slices.Sort(children)
	}
	return t
}

// Cut returns parents without cycles: on each way up, the entry before the one that would come
// twice has none. The way from the leaf comes first, so that it stays whole.
func Cut(parents []int, leaf int) []int {
	parents = slices.Clone(parents)
	walked := make([]int, len(parents)) // by which walk
	walk := func(i, number int) {
		for i >= 0 && walked[i] == 0 {
			walked[i] = number
			if p := parents[i]; p >= 0 && walked[p] == number {
				parents[i] = -1
			}
			i = parents[i]
		}
	}
	walk(leaf, 1)
	for i := range parents {
		walk(i, i+2)
	}
	return parents
}

// Rows yields the lines from top to bottom. Where branches part, the one to the leaf, else the
// newest, goes on at the same depth after the others.
func (t *Tree) Rows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		stack := t.push(nil, t.Roots, 0)
		for len(stack) > 0 {
			r := stack[len(stack)-1]
			if !yield(r) {
				return
			}
			stack = t.push(stack[:len(stack)-1], t.Children[r.Node], r.Depth)
		}
	}
}

func (t *Tree) push(stack []Row, siblings []int, depth int) []Row {
	if len(siblings) == 0 {
		return stack
	}
	last := siblings[len(siblings)-1]
	for _, i := range siblings {
		if t.onPath(i) {
			last = i
		}
	}
	stack = append(stack, Row{Node: last, Depth: depth})
	for _, i := range slices.Backward(siblings) {
		if i != last {
			stack = append(stack, Row{i, depth + 1, true})
		}
	}
	return stack
}
