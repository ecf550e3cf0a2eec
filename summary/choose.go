package summary

import (
	"container/heap"
	"slices"
)

// chooser picks excerpts: again and again the one that names most of what is
// not named yet, by its cost.
type chooser struct {
	weights []float64      // of the identifiers
	named   []int          // how often the document names each
	from    map[string]int // lines taken of each source
	lines   []excerpt
	queue   []ranked
}

// ranked is an excerpt with the value it had when it was last looked at. Values
// only fall, so the first in the queue that still has its value is the best.
type ranked struct {
	line  int
	value float64
}

func newChooser(lines []excerpt, s *stats) *chooser {
	return &chooser{weights: s.weights(), named: make([]int, len(s.names.text)), from: map[string]int{}, lines: lines}
}

// name records that the document names the identifier already.
func (c *chooser) name(n int32) { c.named[n]++ }

func (c *chooser) value(e *excerpt) float64 {
	if e.factor == 0 {
		return 0 // no longer true
	}
	gain := 0.0
	for i, n := range e.ids {
		if slices.Contains(e.ids[:i], n) {
			continue
		}
		w := c.weights[n]
		for k := c.named[n]; k > 0 && w > 0; k-- {
			w *= namedBefore
		}
		gain += w
	}
	if e.from != "" {
		for k := c.from[e.from]; k > 0; k-- {
			gain *= sameSource
		}
	}
	return (gain*e.factor + e.focus) / e.cost
}

// run picks excerpts in order of value and hands each to take, which says
// whether it fits. It ends after enough of them in a row did not, or when the
// next is worth next to nothing against the first: a budget need not be spent.
func (c *chooser) run(take func(e *excerpt) bool) {
	c.queue = c.queue[:0]
	for i := range c.lines {
		if v := c.value(&c.lines[i]); v > 0 {
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
		if v := c.value(e); v < top.value*(1-1e-9) {
			top.value = v
			heap.Fix(c, 0)
			continue
		}
		heap.Pop(c)
		if !take(e) {
			misses++
			continue
		}
		misses = 0
		c.from[e.from]++
		for i, n := range e.ids {
			if !slices.Contains(e.ids[:i], n) {
				c.name(n)
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
