package summary

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/text"
)

// piece is something that may stand in the document.
type piece struct {
	kind  kind
	line  Line
	path  string // of a file list
	note  string // what changed in the file
	quote *Quote
	order int // place among the pieces of its kind

	ids  []int32 // what it names
	sure float64 // how sure a reader has that from it
	// worth says what comes first of what is told; of a source it is a factor of what it names.
	worth float64

	// What it costs alone, as a line below its source, and what the line of its source
	// costs; 0 is not known yet.
	alone, below, head int64
	source             *source // line.From, when it was asked for
}

// source is what lines are taken from: a file, a command, a request.
type source struct {
	build int // the one that taken is of
	taken int // pieces
}

// The shares of a text that its parts may take at most while others want the room, in
// percent of the budget.
const (
	userShare     = 22
	userShareMost = 60 // where room is left
	briefingShare = 35 // more where the agent talks more than it does
	beforeStory   = 70 // of the briefing, at most
	storyShare    = 60 // of the briefing, at most
	filesShare    = 12
	rulesShare    = 9
	stateShare    = 6 // each of decisions, in progress, failing, next
	doneShare     = 8
	goalShare     = 8
	readShare     = 10
	manyFiles     = 12
)

// The rules of the choice.
const (
	firstOfTurn  = 2.5 // the first sentence on a request
	sameSource   = .97 // each line of the same source that is there already
	chosenBefore = .7  // what stood in an earlier summary had its time
	outOfDate    = .5  // a later edit or reading took its place: the names stay
)

// planner decides what goes into the document.
type planner struct {
	in         *Input
	d          *digest
	template   *Template
	weights    []float64
	story      []piece // what is worth most first
	sources    []piece
	must, rest []piece // quotes: pins and the last one, and the others
	said       []piece // what somebody else wrote
	costs      map[string]int64
	from       map[string]*source
	builds     int
	offered    map[kind]int
	found      int
	clipped    bool
	userShare  int64
	quoteParts map[int][]quotePart // by the order of the message

	rules, decided, done, seen, active, failing, next []piece
	changed, read, shell                              []piece
	deleted                                           []piece // where many files were changed, else among them
}

func newPlanner(ctx context.Context, in *Input, cache *Cache) (*planner, error) {
	d := newDigest(in, cache)
	p := &planner{
		in: in, d: d, template: cmp.Or(in.Template, Briefing),
		costs: map[string]int64{}, from: map[string]*source{}, quoteParts: map[int][]quotePart{},
	}
	p.must, p.rest = d.quotes()
	sources, err := d.sources(ctx)
	if err != nil {
		return nil, err
	}
	p.changed, p.read, p.shell = d.fileLists()
	if len(p.changed) > manyFiles { // what is gone comes after what is there
		p.deleted = slices.DeleteFunc(slices.Clone(p.changed), func(f piece) bool { return f.kind != kindDeleted })
		p.changed = slices.DeleteFunc(p.changed, func(f piece) bool { return f.kind == kindDeleted })
	}
	p.failing = d.failing()
	if in.Written != nil {
		p.written(in.Written, sources)
		p.weights = d.weights()
		return p, nil
	}
	p.story, p.sources = d.story(), sources
	p.decided = d.decisions()
	p.rules, p.done, p.seen = d.rules(), d.done(), d.told()
	p.active, p.next = d.numbered(kindInProgress, d.inProgress()), d.numbered(kindNext, d.next())
	p.weights = d.weights()
	return p, nil
}

// written takes sections that somebody else wrote: they must stand, and of what code
// found only what they do not name is added.
func (p *planner) written(w *Document, sources []piece) {
	var said strings.Builder
	for k := kindGoal; k <= kindContext; k++ {
		lines := *w.lines(k)
		for i, l := range lines {
			said.WriteString(l.Text + "\n")
			p.said = append(p.said, p.d.statement(k, l, i-len(lines)))
		}
	}
	if w.Given != "" {
		said.WriteString(w.Given)
		p.said = append(p.said, piece{kind: kindGiven, line: Line{Text: w.Given}, note: w.GivenBy})
	}
	if w.Earlier != "" {
		p.said = append(p.said, piece{kind: kindEarlier, line: Line{Text: w.Earlier}})
	}
	named := func(pc piece) bool {
		what := pc.line.Text
		if cut, _, ok := strings.Cut(strings.TrimPrefix(what, "`"), "`"); ok {
			what = cut
		}
		return strings.Contains(said.String(), what)
	}
	p.failing = slices.DeleteFunc(p.failing, named)
	p.next = p.d.numbered(kindNext, p.d.todos(ledger.TodoOpen, ledger.TodoActive))
	p.next = slices.DeleteFunc(p.next, named)
	if p.template.part(kindStory).kind == kindStory {
		p.sources = sources // the template has a place for them apart from what was written
	}
}

// sources offers the lines of files, commands and results, each once.
func (d *digest) sources(ctx context.Context) ([]piece, error) {
	type place struct{ out, msg int }
	at := make([]place, len(d.names.lines)) // of a line in out, from 1 on, and its message, by key
	out := make([]piece, 0, len(at))
	of := map[string][]int32{} // the keys of the lines of each source
	var passing []string       // checks that pass by now
	for _, c := range d.led.Commands {
		if c.Check != "" && !c.Failing() {
			passing = append(passing, c.Text)
		}
	}
	take := func(msg int, ref string, l factLine, factor float64) {
		if have := &at[l.key]; have.out > 0 { // said again, it is true again
			p := &out[have.out-1]
			p.line.Ref, p.order, p.worth = ref, order(msg, have.out-1), max(p.worth, factor)
			have.msg = msg
			return
		}
		at[l.key] = place{len(out) + 1, msg}
		if l.from != "" {
			of[l.from] = append(of[l.from], l.key)
			if l.from == codeSource && !d.profile.KeepCodeBlocks {
				factor *= codeAside
			}
		}
		p := piece{
			kind: kindContext, line: Line{Text: l.text, Ref: ref, From: l.from}, order: order(msg, len(out)),
			ids: l.ids, sure: l.sure, worth: factor * l.worth,
		}
		out = append(out, p)
	}
	if d.merged || d.foreign != "" {
		x := newExtractor(d.names, d.in.Cwd, d.in.Instructions)
		x.begin()
		add := func(l Line) {
			n := len(x.f.lines)
			x.add(factLine{from: l.From, text: l.Text})
			at = append(at, make([]place, len(d.names.lines)-len(at))...)
			for _, f := range x.f.lines[n:] {
				take(-1, l.Ref, f, chosenBefore)
			}
		}
		for _, l := range d.prev.Context {
			add(l)
		}
		for _, st := range text.Statements(text.OutsideFences(d.foreign)) {
			add(Line{Text: st})
		}
		d.known = append(d.known, x.f)
	}
	for i, m := range d.msgs {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if f := m.facts; f.gone != "" {
			for _, key := range of[f.gone] {
				if have := at[key]; have.msg < m.made && (f.goneAll || slices.Contains(f.old, key)) {
					out[have.out-1].worth *= outOfDate
				}
			}
		}
		factor := 1.0
		if m.op.Kind == ledger.OpShell && slices.ContainsFunc(passing, func(c string) bool { return strings.Contains(m.op.Command, c) }) {
			factor = 0 // what a check said when it failed is history once it passes
		}
		for _, l := range m.lines {
			take(i, m.ref, l, factor)
		}
	}
	return out, nil
}

// order is the place of a line in the document.
func order(msg, seq int) int { return max(msg, -1)*100_000 + min(seq, 1<<40) }

// builder takes pieces while they fit an estimate: the sum of what each costs
// alone. What the whole costs is measured afterwards.
type builder struct {
	p       *planner
	left    int64
	taken   []piece
	headed  map[string]bool // headings that are paid for
	parts   map[kind]bool   // those whose own heading is
	missing []float64       // for each identifier, how likely a reader does not have it
	build   int
	said    spoken
}

// tokens returns what a text costs that is asked for often.
func (p *planner) tokens(s string) int64 { return kept(p.costs, s, p.in.Counter.Text) }

// source returns what a piece is from, nil where it is from nothing.
func (b *builder) source(p *piece) *source {
	if p.source == nil && p.line.From != "" {
		p.source = kept(b.p.from, sourceKey(p.line), func(string) *source { return &source{} })
	}
	if s := p.source; s != nil && s.build != b.build {
		s.build, s.taken = b.build, 0
	}
	return p.source
}

// kept returns what find finds, which it is asked for once.
func kept[K comparable, V any](m map[K]V, k K, find func(K) V) V {
	v, ok := m[k]
	if !ok {
		v = find(k)
		m[k] = v
	}
	return v
}

// below returns what the piece costs as a line below its source.
func (b *builder) below(p *piece) int64 {
	if p.below == 0 {
		p.below = b.p.in.Counter.Text(nestedMark + p.line.Text + "\n")
	}
	return p.below
}

// head returns what the line of the source costs, where it is not there yet.
func (b *builder) head(p *piece) int64 {
	s := b.source(p)
	if s == nil || s.taken > 0 {
		return 0
	}
	if from := p.line.From; p.head == 0 {
		p.head = b.p.tokens(bullet + from + handle(Line{Text: from, Ref: p.line.Ref}) + "\n")
	}
	return p.head
}

// cost returns what a piece adds, with the headings that it brings with it.
func (b *builder) cost(p *piece) int64 {
	if p.alone == 0 {
		if p.line.From != "" {
			p.alone = b.below(p)
		} else {
			p.alone = b.p.in.Counter.Text(p.body())
		}
	}
	cost := p.alone + b.head(p)
	part := b.p.template.part(p.kind)
	if !b.headed[part.section] {
		cost += b.p.tokens("\n## " + part.section + "\n")
	}
	if part.heading != "" && !b.parts[part.kind] {
		cost += b.p.tokens("### " + part.heading + "\n")
	}
	return cost
}

// take adds a piece if it says something new, holds no tag that could end what
// the document stands in, and fits what is left, and what is left of the shares that it
// belongs to.
func (b *builder) take(p piece, shares ...*int64) bool {
	cost := b.cost(&p)
	if cost > b.left || slices.ContainsFunc(shares, func(left *int64) bool { return cost > *left }) {
		return false
	}
	if p.repeats() && (forbidden(p.line.Text) || b.said.has(p.line.Text)) {
		return false
	}
	b.pay(p, cost)
	for _, left := range shares {
		*left -= cost
	}
	return true
}

func (b *builder) pay(p piece, cost int64) {
	b.left -= cost
	b.taken = append(b.taken, p)
	if p.repeats() || p.kind == kindConstraints {
		b.said.add(p.line.Text)
	}
	part := b.p.template.part(p.kind)
	b.headed[part.section], b.parts[part.kind] = true, true
	have := func(ids []int32, sure float64) {
		for _, n := range ids {
			b.missing[n] *= 1 - sure
		}
	}
	have(p.ids, p.sure)
	if p.quote != nil {
		for _, s := range p.quote.texts() {
			have(b.p.d.idsIn(s), withWords)
		}
	}
	if s := b.source(&p); s != nil {
		s.taken++
	}
}

// takeAll adds those of the pieces that fit, and returns the others.
func (b *builder) takeAll(pieces []piece, shares ...*int64) (rest []piece) {
	for _, p := range pieces {
		if !b.take(p, shares...) {
			rest = append(rest, p)
		}
	}
	return rest
}

// build takes pieces by importance. What must stay and what is asked for first comes
// first, each within its share; everything else competes for what is left.
func (p *planner) build(budget int64) []piece {
	p.builds++
	b := &builder{
		p: p, left: budget, headed: map[string]bool{}, parts: map[kind]bool{}, build: p.builds,
		missing: slices.Repeat([]float64{1}, len(p.weights)),
	}
	part := func(percent int64) *int64 { return new(budget * percent / 100) }
	p.found, p.offered = 0, map[kind]int{}
	user := p.quoteBudget(budget)
	for _, m := range p.must {
		cost := b.cost(&m)
		b.pay(m, cost)
		user -= cost
	}
	for _, m := range p.said {
		b.pay(m, b.cost(&m))
	}
	// Of the budget that there is, not of what is tried for: the briefing takes no more.
	told, ofThat := p.d.profile.shares()
	briefing := new(min(budget, p.in.Budget) * told / 100)
	if p.in.QuoteBudget > 0 {
		*briefing = max(b.left, 0) * told / 100
	}
	story := new(*briefing * ofThat / 100)
	before := new(*briefing * beforeStory / 100)
	if p.in.Written == nil {
		b.takeAll(p.d.goal(budget*goalShare/100), part(2*goalShare), briefing, before)
	}
	b.take(piece{kind: kindNote, line: Line{Text: p.d.words.note}})
	var later []piece
	section := func(pieces []piece, percent int64, shares ...*int64) {
		p.found += len(pieces)
		later = append(later, b.takeAll(pieces, append(shares, part(percent))...)...)
	}
	section(p.failing, stateShare, briefing, before)
	p.quote(b, &user)
	section(p.rules, rulesShare) // the user's words, and below lines as they stood: neither is the briefing's
	section(p.next, stateShare, briefing, before)
	section(p.active, stateShare, briefing, before)
	section(p.done, doneShare, briefing, before)
	section(p.seen, doneShare)
	section(p.decided, stateShare, briefing, before)
	later = b.takeAll(later, briefing, before)
	if p.in.Written == nil {
		b.takeAll(p.d.earlier(budget*15/100, b), part(20))
	}
	for _, f := range slices.Concat(p.changed, p.deleted, p.read, p.shell) {
		p.offered[f.kind]++
	}
	files := b.takeAll(p.changed, part(filesShare))
	files = append(files, b.takeAll(p.deleted, part(readShare/4))...)
	files = append(files, b.takeAll(p.shell, part(readShare/2))...)
	read := b.takeAll(p.read, part(readShare))
	p.found += len(p.story) + len(p.sources)
	left := b.cover(p.story, story, briefing)
	if n := len(left); n > 0 && n == len(p.story) { // a small text tells one thing too
		left = b.takeAll(left[:1])
	}
	b.cover(p.sources)
	b.cover(left)
	b.takeAll(later)
	b.takeAll(append(files, read...))
	return b.taken
}

// quoteBudget returns what quotes may cost.
func (p *planner) quoteBudget(budget int64) int64 {
	if q := p.in.QuoteBudget; q > 0 {
		return min(q, budget-min(budget/4, leastForOthers))
	}
	return budget * p.userShare / 100
}

// cover takes pieces while there is room, again and again the one that gains most for what it costs, and returns
// the others.
func (b *builder) cover(pieces []piece, shares ...*int64) (rest []piece) {
	var q queue
	of := map[*source][]*piece{}
	for i := range pieces {
		p := &pieces[i]
		if v := b.value(p); v > 0 {
			q = append(q, ranked{p, v})
			of[p.source] = append(of[p.source], p)
		}
	}
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.sink(i)
	}
	chosen := map[*piece]bool{}
	for misses := 0; len(q) > 0 && misses < 60; {
		top := q[0]
		v := b.value(top.piece)
		switch {
		case chosen[top.piece] || v <= 0:
			q.dropFirst()
		case v < top.value*(1-1e-9):
			q[0].value = v
			q.sink(0)
		default:
			q.dropFirst()
			s := b.source(top.piece)
			opens := s != nil && s.taken == 0
			if !b.take(*top.piece, shares...) {
				misses++
				break
			}
			misses = 0
			chosen[top.piece] = true
			if !opens {
				break
			}
			for _, other := range of[s] { // its heading is paid for: the others cost less now
				if v := b.value(other); v > 0 && !chosen[other] {
					q.add(ranked{other, v})
				}
			}
		}
	}
	for i := range pieces {
		if !chosen[&pieces[i]] {
			rest = append(rest, pieces[i])
		}
	}
	return rest
}

// value is what a source gains for each token it costs.
func (b *builder) value(p *piece) float64 {
	s := b.source(p)
	gain := 0.0
	for _, n := range p.ids {
		gain += b.p.weights[n] * b.missing[n]
	}
	gain *= p.sure * p.worth
	switch {
	case s == nil:
	case p.kind != kindStory:
		gain *= math.Pow(sameSource, float64(s.taken))
	case s.taken == 0:
		gain *= firstOfTurn
	}
	return gain / float64(b.below(p)+1+b.head(p))
}

// queue is a heap of pieces by the value they had when they were last looked at; of equal
// values the earlier piece comes first. Values only fall, so the first that still has its
// value is the best. It is no container/heap, whose calls took a third of a summary's time.
type queue []ranked

type ranked struct {
	piece *piece
	value float64
}

func (a *ranked) before(b *ranked) bool {
	if a.value != b.value {
		return a.value > b.value
	}
	return a.piece.kind < b.piece.kind || a.piece.kind == b.piece.kind && a.piece.order < b.piece.order
}

// sink moves the entry at i below those that come before it.
func (q queue) sink(i int) {
	it := q[i]
	for child := 2*i + 1; child < len(q); child = 2*i + 1 {
		if child+1 < len(q) && q[child+1].before(&q[child]) {
			child++
		}
		if !q[child].before(&it) {
			break
		}
		q[i] = q[child]
		i = child
	}
	q[i] = it
}

func (q *queue) add(it ranked) {
	*q = append(*q, it)
	h, i := *q, len(*q)-1
	for ; i > 0 && it.before(&h[(i-1)/2]); i = (i - 1) / 2 {
		h[i] = h[(i-1)/2]
	}
	h[i] = it
}

func (q *queue) dropFirst() {
	h, last := *q, len(*q)-1
	h[0] = h[last]
	if *q = h[:last]; last > 0 {
		q.sink(0)
	}
}

// fit builds the document with an estimate of the budget, measures it and
// corrects the estimate until the document fits and leaves little.
func (p *planner) fit() Output {
	budget := p.in.Budget
	must := p.measure(p.must)
	most, to := budget/3, budget/3
	if p.in.QuoteBudget > 0 { // a compaction keeps the last request whole while there is room at all
		most, to = budget, budget/2
	}
	if must > most && p.in.ClipLast {
		p.clipLast(to)
	}
	if least := p.measure(slices.Concat(p.must, p.said)); least > budget {
		budget = least + p.in.Budget/4
	}
	var best []piece
	bestCost := int64(-1)
	target := budget
	p.userShare = userShare
	for range 4 {
		taken, cost := p.trim(p.build(target), budget)
		if cost > bestCost {
			best, bestCost = taken, cost
		}
		if p.userShare == userShare && cost < budget-budget/10 {
			p.userShare = userShareMost
			continue
		}
		// The pieces cost less together than alone, or more: by about as much next time.
		next := target + (budget - cost)
		if cost >= budget-budget/100 || next <= target {
			break
		}
		target = next
	}
	return p.output(best)
}

// measure returns what the document of the pieces costs.
func (p *planner) measure(pieces []piece) int64 {
	return p.in.Counter.Text(p.template.Render(p.assemble(pieces)))
}

// largest returns the largest number up to hi that fits, where lo does and what is less
// than one that fits does too.
func largest(lo, hi int, fits func(int) bool) int {
	return hi - sort.Search(hi-lo, func(less int) bool { return fits(hi - less) })
}

// trim drops the last of the pieces until they fit, and returns what the rest
// costs. What must stay comes first.
func (p *planner) trim(pieces []piece, budget int64) ([]piece, int64) {
	cost := p.measure(pieces)
	if cost <= budget {
		return pieces, cost
	}
	least := len(p.must) + len(p.said)
	n := largest(least, len(pieces)-1, func(n int) bool { return p.measure(pieces[:n]) <= budget })
	// A counter need not grow with the text: look again.
	for cost = p.measure(pieces[:n]); cost > budget && n > least; cost = p.measure(pieces[:n]) {
		n--
	}
	return pieces[:n], cost
}

// clipLast shortens the last message of the user to so many tokens.
func (p *planner) clipLast(to int64) {
	k := slices.IndexFunc(p.must, func(m piece) bool { return m.kind == kindQuotes })
	if k < 0 {
		return
	}
	whole := p.must[k]
	_, shown := whole.quote.Bytes()
	cut := func(n int) {
		q := p.shorten(whole, n)
		p.must[k].quote, p.must[k].alone = &q, 0
	}
	n := largest(0, shown, func(n int) bool {
		cut(n)
		return p.measure(p.must) <= max(to, 1)
	})
	cut(n)
	p.clipped = !p.must[k].quote.Whole()
	if n == 0 && p.measure(p.must) > p.in.Budget {
		// Not even the mark of a cut fits: say nothing rather than too much.
		p.must = slices.Delete(p.must, k, k+1)
	}
}

// output makes the document.
func (p *planner) output(pieces []piece) Output {
	doc := p.assemble(pieces).Canonical()
	out := Output{Document: doc, Text: p.template.Render(doc)}
	out.Tokens, out.Summarizer, out.Profile = p.in.Counter.Text(out.Text), Deterministic{}.Name(), p.d.profile
	c := &out.Coverage
	c.Items, c.UserMessages, c.LinesFound = len(p.d.msgs), len(p.d.users), p.found
	for _, t := range pieces {
		switch {
		case t.kind == kindQuotes && t.quote.Whole():
			c.Quoted++
		case t.kind == kindQuotes:
			c.Shortened++
		case t.kind <= kindContext:
			c.LinesKept++
		}
	}
	if p.d.merged {
		c.Previous = "merged"
	} else if p.d.foreign != "" {
		c.Previous = "text"
	}
	c.OverBudget = max(0, out.Tokens-p.in.Budget)
	c.LastClipped = p.clipped
	return out
}

// add puts the piece into the document.
func (p *piece) add(d *Document, k kind) {
	switch {
	case p.quote != nil:
		q := d.quotes(k)
		*q = append(*q, *p.quote)
	case p.path != "":
		d.files(k).add(p.path, p.note)
	case k == kindEarlier:
		d.Earlier = p.line.Text
	case k == kindNote:
		d.Note = p.line.Text
	case k == kindGiven:
		d.Given, d.GivenBy = p.line.Text, p.note
	default:
		l := d.lines(k)
		*l = append(*l, p.line)
	}
}

// body returns how the piece is written when it stands alone.
func (p *piece) body() string {
	var d Document
	p.add(&d, p.kind)
	var b strings.Builder
	d.write(&b, p.kind)
	return b.String()
}

// repeats reports whether the piece is one of those that sections may offer twice.
func (p *piece) repeats() bool { return p.kind >= kindDone && p.kind <= kindContext }

// assemble makes a document of pieces, in the order of the log.
func (p *planner) assemble(pieces []piece) Document {
	sorted := slices.Clone(pieces)
	slices.SortStableFunc(sorted, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.path, b.path), cmp.Compare(a.order, b.order))
	})
	var d Document
	for _, t := range sorted {
		t.add(&d, p.template.part(t.kind).kind)
	}
	for k, n := range p.offered {
		// A list of which nothing fits is left out, with its heading.
		if f := d.files(k); len(f.Paths) > 0 {
			f.More = n - len(f.Paths)
		}
	}
	d.Story, d.Context = group(d.Story), group(d.Context)
	return d
}

// group joins sentences of one message into one line, and puts lines with the
// same source together where the first of them stands.
func group(lines []Line) []Line {
	at := map[string]int{}
	var groups [][]Line
	sources := map[string]bool{}
	for _, l := range lines {
		sources[l.From] = true
	}
	for _, l := range lines {
		if l.From == "" {
			if !isCommand(l.Text) || !sources[clipName(l.Text, maxSource)] { // else its output stands under it
				groups = append(groups, []Line{l})
			}
			continue
		}
		from := sourceKey(l)
		k, ok := at[from]
		if !ok {
			k = len(groups)
			at[from] = k
			groups = append(groups, nil)
		}
		groups[k] = append(groups[k], l)
	}
	for _, g := range groups {
		// The handle of a group is that of its latest line.
		for i := range g {
			g[i].Ref = g[len(g)-1].Ref
		}
	}
	return slices.Concat(groups...)
}

// sourceKey is what lines stand together under: a file, a command, or a message where what it
// is a line of has no name of its own.
func sourceKey(l Line) string {
	switch l.From {
	case codeSource, pastedSource:
		return l.From + "\x00" + l.Ref
	}
	return l.From
}

// between separates two statements on one line: items of a list have no full stop.
func between(before string) string {
	if last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(before, "*_`)\"")); strings.ContainsRune(".!?:。！？"+text.Ellipsis, last) {
		return " "
	}
	return " · "
}
