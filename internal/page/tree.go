package page

import (
	"slices"
	"strconv"
	"strings"
)

// walk finds how the entries hang together.
func (p *Page) walk() {
	p.children = make([][]int, len(p.nodes))
	// An entry leads somewhere when it or one below it is shown.
	leads := make([]bool, len(p.nodes))
	for i := range p.nodes {
		if !p.nodes[i].shown() {
			continue
		}
		for at := i; at >= 0 && !leads[at]; at = p.nodes[at].parent {
			leads[at] = true
		}
	}
	for i := range p.nodes {
		switch at := p.nodes[i].parent; {
		case !leads[i]:
		case at < 0:
			p.roots = append(p.roots, i)
		default:
			p.children[at] = append(p.children[at], i)
		}
	}
}

// row is a line of the tree.
type row struct {
	node, depth int
	first       bool // of its branch
}

// rows yields the tree from top to bottom. Where branches part, the one to the leaf,
// else the newest, goes on at the same depth after the others. What hangs in a cycle
// comes last.
func (p *Page) rows(yield func(row)) {
	seen := make([]bool, len(p.nodes))
	var stack []row
	descend := func() {
		for len(stack) > 0 {
			r := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[r.node] {
				continue
			}
			seen[r.node] = true
			below := p.children[r.node]
			if p.nodes[r.node].shown() {
				yield(r)
				r.first = false
			}
			stack = p.push(stack, below, r.depth, r.first)
		}
	}
	stack = p.push(stack, p.roots, 0, false)
	descend()
	for _, i := range p.path {
		stack = append(stack, row{node: i})
		descend()
	}
	for i := range p.nodes {
		if p.nodes[i].shown() && !seen[i] {
			stack = append(stack, row{node: i, first: true})
			descend()
		}
	}
}

func (p *Page) push(stack []row, siblings []int, depth int, first bool) []row {
	if len(siblings) == 0 {
		return stack
	}
	main := siblings[len(siblings)-1]
	for _, i := range siblings {
		if p.on[i] {
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

// tree writes the tree: what the user said, where branches part and end,
// compactions, and what has a label; the rest can be asked for.
func (p *Page) tree(o *out) {
	o.raw(`<nav id="tree" aria-label="Entries of the session">
<h2>Tree</h2>
<input type="checkbox" id="all"> <label for="all">every entry</label>
<ol>
`)
	p.rows(func(r row) {
		n := &p.nodes[r.node]
		class := []string{string(n.kind), "d" + strconv.Itoa(min(r.depth, maxDepth))}
		if p.minor(r.node) {
			class = append(class, "minor")
		}
		if r.first {
			class = append(class, "first")
		}
		if p.on[r.node] {
			class = append(class, "on")
		}
		o.raw(`<li class="` + strings.Join(class, " ") + `" data-t="`)
		o.int(r.node)
		o.raw(`"><a href="#` + p.anchor(r.node) + `"><b>` + word[n.kind] + `</b> `)
		o.text(n.line)
		p.badge(o, r.node)
		o.raw("</a></li>\n")
	})
	o.raw("</ol>\n</nav>\n")
}

func (p *Page) minor(i int) bool {
	n := &p.nodes[i]
	switch n.kind {
	case kindUser, kindShell, kindCompaction, kindBranch:
		return false
	default:
		return n.label == "" && len(p.children[i]) == 1
	}
}

// badge writes the label of an entry.
func (p *Page) badge(o *out, i int) {
	if label := p.nodes[i].label; label != "" {
		o.raw(` <mark>`)
		o.text(label)
		o.raw(`</mark>`)
	}
}

// ref writes a link to an entry.
func (p *Page) ref(o *out, i int) {
	o.raw(`<a href="#` + p.anchor(i) + `">#`)
	o.text(shortID(p.nodes[i].id))
	o.raw(`</a>`)
}

// shortID is an id as it is shown.
func shortID(id string) string {
	const long = 8
	id = visible(id)
	if r := []rune(id); len(r) > long {
		return string(r[:long])
	}
	return id
}

// shape writes what the script needs to find paths: how many entries there are, where
// the session stands, and the parents of those that do not hang under the one before.
func (p *Page) shape(o *out) {
	o.raw(` data-n="` + strconv.Itoa(len(p.nodes)) + `" data-leaf="` + strconv.Itoa(p.leaf) + `" data-parents="`)
	for i := range p.nodes {
		if at := p.nodes[i].parent; at != i-1 {
			o.raw(strconv.Itoa(i) + ":" + strconv.Itoa(at) + " ")
		}
	}
	o.raw(`" data-edits="`)
	for i := range p.nodes {
		for _, e := range p.edits[i] {
			o.raw(strconv.Itoa(e) + ":" + strconv.Itoa(i) + " ")
		}
	}
	o.raw(`"`)
}
