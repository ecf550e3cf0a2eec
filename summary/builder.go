package summary

import "github.com/clew-dev/clew/token"

// builder takes pieces while they fit an estimate: the sum of what each costs
// alone. What the whole costs is measured afterwards.
type builder struct {
	counter  token.Counter
	template *Template
	left     int64
	taken    []piece
	headed   map[string]bool // headings that are paid for
	sources  map[string]bool // sources of excerpts that are paid for
	costs    map[string]int64
	said     spoken
}

func newBuilder(in *Input, t *Template, budget int64, costs map[string]int64) *builder {
	return &builder{
		counter: in.Counter, template: t, left: budget,
		headed: map[string]bool{}, sources: map[string]bool{}, costs: costs,
	}
}

// share is a part of the budget that some pieces may use.
type share struct{ left int64 }

func (b *builder) price(s string) int64 {
	c, ok := b.costs[s]
	if !ok {
		c = b.counter.Text(s)
		b.costs[s] = c
	}
	return c
}

// cost returns what a piece adds, headings included.
func (b *builder) cost(p piece) (cost int64, headings []string, source string) {
	if p.kind == kindContext && p.line.From != "" {
		source = p.line.From
		cost = b.price(nestedMark + p.line.Text + "\n")
		if !b.sources[source] {
			cost += b.price(bullet + source + handle(Line{Ref: p.line.Ref}) + "\n")
		}
	} else {
		cost = b.price(p.body())
	}
	for _, s := range b.template.sections {
		for _, part := range s.parts {
			if part.kind != p.kind {
				continue
			}
			for _, h := range []string{"\n## " + s.heading + "\n", "### " + part.heading + "\n"} {
				key := s.heading + h
				if h != "### \n" && !b.headed[key] {
					cost += b.price(h)
					headings = append(headings, key)
				}
			}
		}
	}
	return cost, headings, source
}

// take adds a piece if it says something new, holds no tag that could end what
// the document stands in, and fits what is left, and the share if there is one.
func (b *builder) take(p piece, s *share) bool {
	cost, headings, source := b.cost(p)
	if cost > b.left || s != nil && cost > s.left {
		return false
	}
	if p.repeats() && (forbidden(p.line.Text) || b.said.has(p.line.Text)) {
		return false
	}
	b.pay(p, cost, headings, source)
	if s != nil {
		s.left -= cost
	}
	return true
}

// force adds a piece whatever it costs.
func (b *builder) force(p piece) {
	cost, headings, source := b.cost(p)
	b.pay(p, cost, headings, source)
}

func (b *builder) pay(p piece, cost int64, headings []string, source string) {
	b.left -= cost
	b.taken = append(b.taken, p)
	if p.repeats() || p.kind == kindConstraints {
		b.said.add(p.line.Text)
	}
	for _, h := range headings {
		b.headed[h] = true
	}
	if source != "" {
		b.sources[source] = true
	}
}

// takeAll adds those of the pieces that fit, and returns the others.
func (b *builder) takeAll(pieces []piece, s *share) (rest []piece) {
	for _, p := range pieces {
		if !b.take(p, s) {
			rest = append(rest, p)
		}
	}
	return rest
}
