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
	roots    []int
	onPath   func(i int) bool
}

// Row is a line of a tree.
type Row struct {
	Node, Depth int
	First       bool // of its branch
}

// New hangs each entry that is shown under its nearest ancestor that is. Where parents form a
// cycle, it is cut; the path to the leaf stays whole.
func New(parents []int, leaf int, shown, onPath func(i int) bool) *Tree {
	n := len(parents)
	t := &Tree{Above: make([]int, n), Children: make([][]int, n), onPath: onPath}
	below := make([][]int, n)
	for i, p := range parents {
		if p >= 0 {
			below[p] = append(below[p], i)
		}
	}
	visited := make([]bool, n)
	descend := func(root int) {
		for stack := []int{root}; len(stack) > 0; {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if visited[i] {
				continue // around a cycle
			}
			visited[i] = true
			t.Above[i] = -1
			if p := parents[i]; p >= 0 && i != root {
				t.Above[i] = p
				if !shown(p) {
					t.Above[i] = t.Above[p]
				}
			}
			if at := t.Above[i]; shown(i) && at < 0 {
				t.roots = append(t.roots, i)
			} else if shown(i) {
				t.Children[at] = append(t.Children[at], i)
			}
			stack = append(stack, below[i]...)
		}
	}
	for i, p := range parents {
		if p < 0 {
			descend(i)
		}
	}
	// What is left hangs in a cycle or under one.
	if leaf >= 0 && !visited[leaf] {
		descend(Top(parents, leaf))
	}
	for i := range parents {
		if !visited[i] {
			descend(Top(parents, i))
		}
	}
	slices.Sort(t.roots)
	for _, children := range t.Children {
		slices.Sort(children)
	}
	return t
}

// Top returns where the path to an entry begins: its root, or the entry before the one that
// would come twice.
func Top(parents []int, i int) int {
	seen := map[int]bool{i: true}
	for p := parents[i]; p >= 0 && !seen[p]; p = parents[i] {
		i, seen[p] = p, true
	}
	return i
}

// Rows yields the lines from top to bottom. Where branches part, the one to the leaf, else the
// newest, goes on at the same depth after the others.
func (t *Tree) Rows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		stack := t.push(nil, t.roots, 0)
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
