package summary

import (
	"context"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// parts is what the sections offer. It does not depend on the budget.
type parts struct {
	constraints, done, inProgress, blocked, decisions, next []piece
	changed, read, shell                                    []piece // files
}

// planner decides what goes into the document.
type planner struct {
	in       *Input
	d        *digest
	template *Template
	lines    []excerpt
	stats    *stats
	plan     quotePlan
	parts    parts
	costs    map[string]int64
	offered  map[kind]int
	found    int
	clipped  bool
	words    float64 // how much lines of plain words are preferred, from 0

	weights []float64 // of the identifiers
	homes   []string  // where each of them stands
	gone    []bool    // and whether that is no longer true

	quoteParts map[int][]quotePart // by the order of the message
}

func newPlanner(ctx context.Context, in *Input, cache *Cache) (*planner, error) {
	p := &planner{in: in, template: in.Template, costs: map[string]int64{}, quoteParts: map[int][]quotePart{}}
	if p.template == nil {
		p.template = Structured
	}
	p.d = newDigest(in, cache)
	var err error
	if p.lines, p.stats, err = p.d.collect(ctx); err != nil {
		return nil, err
	}
	p.weights = p.stats.weights()
	p.homes, p.gone = p.findHomes()
	p.plan = p.d.quotes()
	p.parts = parts{
		constraints: p.d.constraints(), done: p.d.done(), inProgress: p.d.inProgress(), blocked: p.d.blocked(),
		decisions: p.d.decisions(), next: p.d.next(),
	}
	p.parts.changed, p.parts.read, p.parts.shell = p.d.fileLists()
	return p, nil
}

// fit builds the document with an estimate of the budget, measures it and
// corrects the estimate until the document fits and leaves little.
func (p *planner) fit() Output {
	budget := p.in.Budget
	must := p.measure(p.plan.must)
	if must > budget && p.in.ClipLast {
		p.clipLast()
		must = p.measure(p.plan.must)
	}
	if must > budget {
		budget = must + p.in.Budget/4
	}
	var best []piece
	bestCost := int64(-1)
	target := budget
	for range 4 {
		taken, cost := p.trim(p.build(target), budget)
		if cost > bestCost {
			best, bestCost = taken, cost
		}
		// The pieces cost less together than alone, or more: by about as much next time.
		next := target + (budget - cost)
		if cost >= budget-budget/50 || next <= target {
			break
		}
		target = next
	}
	return p.output(best)
}

// fitWords is fit, and again with a growing liking for plain words where the
// document has too few of them.
func (p *planner) fitWords() Output {
	out := p.fit()
	if len(p.lines) == 0 {
		return out
	}
	for p.words = 1; p.words <= 2 && plainShare(out.Text) < leastPlain; p.words++ {
		out = p.fit()
	}
	return out
}

// measure returns what the document of the pieces costs.
func (p *planner) measure(pieces []piece) int64 {
	return p.in.Counter.Text(p.template.Render(assemble(pieces, p.offered)))
}

// trim drops the last of the pieces until they fit, and returns what the rest
// costs. What must stay comes first.
func (p *planner) trim(pieces []piece, budget int64) ([]piece, int64) {
	cost := p.measure(pieces)
	if cost <= budget {
		return pieces, cost
	}
	lo, hi := len(p.plan.must), len(pieces) // lo pieces are taken to fit, hi do not
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if p.measure(pieces[:mid]) <= budget {
			lo = mid
		} else {
			hi = mid
		}
	}
	// A counter need not grow with the text: look again.
	for cost = p.measure(pieces[:lo]); cost > budget && lo > len(p.plan.must); cost = p.measure(pieces[:lo]) {
		lo--
	}
	return pieces[:lo], cost
}

// clipLast shortens the last message of the user to half of the budget.
func (p *planner) clipLast() {
	k := slices.IndexFunc(p.plan.must, func(m piece) bool { return m.kind == kindQuotes })
	if k < 0 {
		return
	}
	whole, last := *p.plan.must[k].quote, p.plan.must[k].order
	_, hi := whole.Bytes()
	lo := 0
	for lo < hi {
		mid := (lo + hi + 1) / 2
		q := p.shorten(piece{quote: &whole, order: last}, mid)
		p.plan.must[k].quote = &q
		if p.measure(p.plan.must) <= max(p.in.Budget/2, 1) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	q := p.shorten(piece{quote: &whole, order: last}, lo)
	p.plan.must[k].quote = &q
	p.clipped = !q.Whole()
	if p.measure(p.plan.must) > p.in.Budget && lo == 0 {
		// Not even the mark of a cut fits: say nothing rather than too much.
		p.plan.must = slices.Delete(p.plan.must, k, k+1)
	}
}

// build takes pieces by importance. Each section has a share; what the
// sections do not use goes to the excerpts, and what those do not use back to
// the sections.
func (p *planner) build(budget int64) []piece {
	b := newBuilder(p.in, p.template, budget, p.costs)
	part := func(percent int64) *share { return &share{left: budget * percent / 100} }
	for _, m := range p.plan.must {
		b.force(m)
	}
	d := p.d
	p.found, p.offered = 0, map[kind]int{}
	var later []piece
	section := func(pieces []piece, percent int64) {
		p.found += len(pieces)
		later = append(later, b.takeAll(pieces, part(percent))...)
	}
	files := func(pieces []piece, percent int64) {
		for _, f := range pieces {
			p.offered[f.kind]++
		}
		later = append(later, b.takeAll(pieces, part(percent))...)
	}
	section(d.goal(budget*15/100), 20)
	b.take(piece{kind: kindNote, line: Line{Text: d.words.note}}, nil)
	now, most := p.quoteBudget(budget)
	quotes := &share{left: now}
	for _, m := range p.plan.must {
		cost, _, _ := b.cost(m)
		quotes.left -= cost
	}
	section(p.parts.blocked, 10)
	rest := p.quote(b, quotes)
	quoted := quotedWhole(b.taken)
	isQuoted := func(t piece) bool { return quoted[t.line.Ref] }
	section(p.parts.inProgress, 8)
	section(p.parts.next, 8)
	files(p.parts.changed, p.d.profile.changes)
	section(unquotedFirst(p.parts.constraints, quoted), 8)
	section(p.parts.done, p.d.profile.done)
	section(slices.DeleteFunc(slices.Clone(p.parts.decisions), isQuoted), p.d.profile.decisions)
	section(d.earlier(budget*15/100, b), 20)
	files(p.parts.read, p.d.profile.files)
	files(p.parts.shell, 3)
	reserve := b.left * p.d.profile.names / 100
	if p.words > 1 {
		reserve = 0
	}
	b.left -= reserve
	p.excerpts(b)
	b.left += reserve
	b.takeAll(p.names(b, reserve), &share{left: reserve})
	b.takeAll(later, nil)
	quotes.left += most - now
	p.quoteMore(b, quotes, rest)
	return b.taken
}

// quoteBudget returns what quotes may cost at first, and what they may cost
// when other things leave room.
func (p *planner) quoteBudget(budget int64) (now, most int64) {
	if q := p.in.QuoteBudget; q > 0 {
		q = min(q, budget-min(budget/4, leastForOthers))
		return q, q
	}
	return min(defaultQuotes, budget*6/10), defaultQuotes
}

// excerpts fills what is left with lines of the log.
func (p *planner) excerpts(b *builder) {
	whole := quotedWhole(b.taken)
	lines := make([]excerpt, 0, len(p.lines))
	for _, e := range p.lines {
		if e.kind != lineUser || !whole[e.ref] {
			lines = append(lines, e)
		}
	}
	c := newChooser(lines, p.weights)
	c.words = p.words
	for _, t := range b.taken {
		for _, s := range append(t.texts()[:1:1], quoteRest(t)...) {
			for id := range text.Identifiers(s) {
				if n, ok := p.d.names.ids[id.Text]; ok {
					c.name(n)
				}
			}
		}
	}
	p.found += len(p.lines)
	all := &share{left: b.left}
	c.run(func(e *excerpt, from, to int) bool {
		t := strings.TrimSpace(e.text[from:to])
		if from > 0 {
			t = text.Ellipsis + t
			if e.kind == lineCommand {
				t = commandMark + t
			}
		}
		if to < len(e.text) && !strings.HasSuffix(t, text.Ellipsis) {
			t += text.Ellipsis
		}
		return b.take(piece{
			kind: kindContext, order: max(e.at, -1)*100_000 + min(e.seq, 1<<40),
			line: Line{Text: t, Ref: e.ref, From: e.from},
		}, all)
	})
}

func (p *planner) output(pieces []piece) Output {
	doc := assemble(pieces, p.offered).Canonical()
	out := Output{Document: doc, Text: p.template.Render(doc)}
	out.Tokens = p.in.Counter.Text(out.Text)
	c := &out.Coverage
	c.Items = len(p.d.msgs)
	c.UserMessages = len(p.d.users)
	c.LinesFound = p.found
	for _, t := range pieces {
		switch {
		case t.kind == kindQuotes && t.quote.Whole():
			c.Quoted++
		case t.kind == kindQuotes:
			c.Shortened++
		case t.quote == nil && t.path == "" && t.kind != kindNote && t.kind != kindEarlier:
			c.LinesKept++
		}
	}
	switch {
	case p.d.prev != nil:
		c.Previous = "merged"
	case p.d.foreign != "":
		c.Previous = "text"
	}
	c.OverBudget = max(0, out.Tokens-p.in.Budget)
	c.LastClipped = p.clipped
	return out
}
