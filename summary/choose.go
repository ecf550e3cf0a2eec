package summary

import (
	"container/heap"
	"math"
	"slices"

	"github.com/clew-dev/clew/internal/text"
)

// chooser picks excerpts: again and again the one that names most of what is
// not named yet, by its cost.
type chooser struct {
	weights []float64      // of the identifiers
	gains   []float64      // of the spots of the line that is looked at
	named   []int          // how often the document names each
	from    map[string]int // lines taken of each source
	rows    map[table]int  // and of each table
	lines   []excerpt
	queue   []ranked
	words   float64 // how much lines of plain words are preferred, from 0
}

// ranked is an excerpt with the value it had when it was last looked at. Values
// only fall, so the first in the queue that still has its value is the best.
type ranked struct {
	line  int
	value float64
}

func newChooser(lines []excerpt, weights []float64) *chooser {
	return &chooser{weights: weights, named: make([]int, len(weights)), from: map[string]int{}, rows: map[table]int{}, lines: lines}
}

// name records that the document names the identifier already.
func (c *chooser) name(n int32) { c.named[n]++ }

// value returns what the best part of a line is worth for its cost, and which
// part that is.
func (c *chooser) value(e *excerpt) (value float64, from, to int) {
	if e.factor == 0 {
		return 0, 0, 0 // no longer true
	}
	if e.row != 0 && c.rows[e.table()] >= maxRows {
		return 0, 0, 0
	}
	factor := e.factor
	if e.from != "" {
		for k := c.from[e.from]; k > 0; k-- {
			factor *= sameSource
		}
	}
	if c.words > 0 {
		factor *= max(0, 1+c.words*(2*e.plain()-1))
	}
	c.gains = c.gains[:0]
	for i, sp := range e.spots {
		gain := 0.0
		if sp.id >= 0 && !slices.ContainsFunc(e.spots[:i], func(o spot) bool { return o.id == sp.id }) {
			gain = c.weights[sp.id]
			for k := c.named[sp.id]; k > 0 && gain > 0; k-- {
				gain *= namedBefore
			}
		}
		c.gains = append(c.gains, gain)
	}
	whole := e.focus
	for _, g := range c.gains {
		whole += g * factor
	}
	value, from, to = whole/cost(len(e.text)), 0, len(e.text)
	if e.kind == lineProse || e.kind == lineUser || len(e.text) < wholeLine {
		return value, from, to
	}
	for i, g := range c.gains {
		if g == 0 {
			continue
		}
		sum := 0.0
		for k := i; k < len(c.gains); k++ {
			if c.gains[k] == 0 {
				continue
			}
			sum += c.gains[k]
			a, b := e.part(i, k)
			if v := (sum*factor + e.focus) / cost(b-a+2*len(text.Ellipsis)); v > value && (b-a)*4 < len(e.text)*3 {
				value, from, to = v, a, b
			}
		}
	}
	return value, from, to
}

// cost is what a line of so many bytes costs, beyond its length: it is a line.
func cost(n int) float64 { return math.Pow(float64(n)/3.3+perLine, lengthPower) }

// part returns where the part of a line begins and ends that has its spots from i
// to k in it and the plain words next to them.
func (e *excerpt) part(i, k int) (from, to int) {
	words := 0
	for _, sp := range e.spots[i : k+1] {
		if sp.id < 0 {
			words++
		}
	}
	for words < partWords && (i > 0 || k < len(e.spots)-1) {
		// The nearer word first.
		left, right := math.MaxInt, math.MaxInt
		if i > 0 {
			left = int(e.spots[i].from) - int(e.spots[i-1].from)
		}
		if k < len(e.spots)-1 {
			right = int(e.spots[k+1].to) - int(e.spots[k].to)
		}
		if left <= right {
			i--
			if e.spots[i].id < 0 {
				words++
			}
		} else {
			k++
			if e.spots[k].id < 0 {
				words++
			}
		}
	}
	from, to = int(e.spots[i].from), int(e.spots[k].to)
	for from > 0 && e.text[from-1] != ' ' && e.text[from-1] < 0x80 {
		from--
	}
	for to < len(e.text) && e.text[to] != ' ' && e.text[to] < 0x80 {
		to++
	}
	return from, to
}

// run picks excerpts in order of value and hands each to take, which says
// whether it fits. It ends after enough of them in a row did not, or when the
// next is worth next to nothing against the first: a budget need not be spent.
func (c *chooser) run(take func(e *excerpt, from, to int) bool) {
	c.queue = c.queue[:0]
	for i := range c.lines {
		if v, _, _ := c.value(&c.lines[i]); v > 0 {
			c.queue = append(c.queue, ranked{i, v})
		}
	}
	heap.Init(c)
	misses := 0
	best := 0.0
	for len(c.queue) > 0 && misses < 40 {
		top := &c.queue[0]
		best = max(best, top.value)
		if top.value < best*worthless {
			return
		}
		e := &c.lines[top.line]
		v, from, to := c.value(e)
		if v < top.value*(1-1e-9) {
			top.value = v
			heap.Fix(c, 0)
			continue
		}
		heap.Pop(c)
		if !take(e, from, to) {
			misses++
			continue
		}
		misses = 0
		c.from[e.from]++
		if e.row != 0 {
			c.rows[e.table()]++
		}
		for i, sp := range e.spots {
			if sp.id >= 0 && int(sp.from) >= from && int(sp.to) <= to &&
				!slices.ContainsFunc(e.spots[:i], func(o spot) bool { return o.id == sp.id }) {
				c.name(sp.id)
			}
		}
	}
}

// Len implements heap.Interface.
func (c *chooser) Len() int { return len(c.queue) }

// Less implements heap.Interface; of equal values the earlier line comes first.
func (c *chooser) Less(i, j int) bool {
	a, b := c.queue[i], c.queue[j]
	if a.value != b.value {
		return a.value > b.value
	}
	return a.line < b.line
}

// Swap implements heap.Interface.
func (c *chooser) Swap(i, j int) { c.queue[i], c.queue[j] = c.queue[j], c.queue[i] }

// Push implements heap.Interface.
func (c *chooser) Push(x any) { c.queue = append(c.queue, x.(ranked)) }

// Pop implements heap.Interface.
func (c *chooser) Pop() any {
	last := c.queue[len(c.queue)-1]
	c.queue = c.queue[:len(c.queue)-1]
	return last
}
