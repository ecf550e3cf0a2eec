package summary

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"
	"strings"

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
	// worth is what it is worth beyond what it names: 1 is what a source of the same
	// size is worth.
	worth  float64
	factor float64 // of what it names; 0 counts as 1
	table  table   // the table that it is a row of
}

// The shares of a text that its parts may take at most while others want the room, in
// percent of the budget.
const (
	userShare     = 22
	briefingShare = 35
	storyShare    = 30 // of the briefing, kept for the story
	filesShare    = 12
	rulesShare    = 9
	stateShare    = 6 // each of decisions, in progress, failing, next
	doneShare     = 8
	goalShare     = 8
	readShare     = 10
)

// The rules of the choice.
const (
	sameSource   = .97 // each line of the same source that is there already
	firstOfTurn  = 2.5 // the first statement on a request
	sameTurn     = .92 // each statement on the same request, of what it is worth in itself
	chosenBefore = .7  // what stood in an earlier summary had its time
	outOfDate    = .5  // a later edit or reading took its place: the names stay
	maxRows      = 8   // of one table
	worthless    = .02 // a piece worth less than this share of a token of sources is left out
)

// planner decides what goes into the document.
type planner struct {
	in         *Input
	d          *digest
	template   *Template
	weights    []float64
	candidates []piece // story, decisions and sources
	must, rest []piece // quotes: pins and the last one, and the others
	costs      map[string]int64
	sourceIDs  map[string][]int32 // the identifiers in the name of each source
	offered    map[kind]int
	found      int
	clipped    bool
	price      float64 // what a token of sources is worth

	goal                                        func(tokens int64) []piece
	rules, decided, done, active, failing, next []piece
	changed, read, shell                        []piece
	quoteParts                                  map[int][]quotePart // by the order of the message
}

func newPlanner(ctx context.Context, in *Input, cache *Cache) (*planner, error) {
	p := &planner{in: in, template: in.Template, costs: map[string]int64{}, sourceIDs: map[string][]int32{}, quoteParts: map[int][]quotePart{}}
	if p.template == nil {
		p.template = Briefing
	}
	d := newDigest(in, cache)
	p.d = d
	p.must, p.rest = d.quotes()
	sources, err := d.sources(ctx)
	if err != nil {
		return nil, err
	}
	p.changed, p.read, p.shell = d.fileLists()
	p.weights = d.weights()
	p.failing = d.failing()
	if in.Written != nil {
		p.written(in.Written, sources)
		return p, nil
	}
	p.goal = d.goal
	p.candidates = slices.Concat(d.story(), sources)
	p.decided = d.decisions()
	p.rules, p.done, p.active, p.next = d.rules(), d.done(), d.inProgress(), d.next()
	return p, nil
}

// written takes sections that somebody else wrote: they must stand, and of what code
// found only what they do not name is added.
func (p *planner) written(w *Document, sources []piece) {
	var said strings.Builder
	for k := kindGoal; k <= kindContext; k++ {
		lines := w.lines(k)
		if lines == nil {
			continue
		}
		for i, l := range *lines {
			said.WriteString(l.Text + "\n")
			p.must = append(p.must, p.d.statement(k, l, i-len(*lines)))
		}
	}
	if w.Earlier != "" {
		p.must = append(p.must, piece{kind: kindEarlier, line: Line{Text: w.Earlier}})
	}
	named := func(pc piece) bool {
		what := pc.line.Text
		if cut, _, ok := strings.Cut(strings.TrimPrefix(what, "`"), "`"); ok {
			what = cut
		}
		return strings.Contains(said.String(), what)
	}
	p.failing = slices.DeleteFunc(p.failing, named)
	for _, t := range p.d.led.Todos {
		if t.Status == ledger.TodoOpen || t.Status == ledger.TodoActive {
			p.next = append(p.next, p.d.statement(kindNext, Line{Text: t.Text, Ref: p.d.refs.of(t.Entry)}, len(p.next)))
		}
	}
	p.next = slices.DeleteFunc(p.next, named)
	if p.template.shown(kindStory) == kindStory {
		p.candidates = sources // the template has a place for them apart from what was written
	}
}

// sources offers the lines of files, commands and results, each once.
func (d *digest) sources(ctx context.Context) ([]piece, error) {
	var out []piece
	at := map[int32]int{}      // of a line in out, by key
	made := map[int32]int{}    // the message of a line, by key
	of := map[string][]int32{} // the keys of the lines of each source
	var passing []string       // checks that pass by now
	for _, c := range d.led.Commands {
		if c.Check != "" && !c.Failing() {
			passing = append(passing, c.Text)
		}
	}
	take := func(msg int, ref string, l factLine, factor float64) {
		if k, ok := at[l.key]; ok { // said again, it is true again
			out[k].line.Ref, out[k].order, out[k].factor = ref, order(msg, k), max(out[k].factor, factor)
			made[l.key] = msg
			return
		}
		at[l.key], made[l.key] = len(out), msg
		if l.from != "" {
			of[l.from] = append(of[l.from], l.key)
			factor *= d.profile.lines
		}
		p := piece{
			kind: kindContext, line: Line{Text: l.text, Ref: ref, From: l.from}, order: order(msg, len(out)),
			ids: l.ids, sure: l.sure, factor: factor * l.worth,
		}
		if l.row != 0 {
			p.table = table{from: l.from, row: l.row}
			if l.from == "" || l.from == codeSource || l.from == pastedSource {
				p.table.at = msg + 1
			}
		}
		out = append(out, p)
	}
	if d.prev != nil || d.foreign != "" {
		x := extractor{f: &facts{}, names: d.names, cwd: d.in.Cwd, focus: wordMap(d.in.Instructions), place: map[int32]int{}}
		if d.prev != nil {
			for _, l := range d.prev.Context {
				n := len(x.f.lines)
				x.add(factLine{from: l.From, text: l.Text, worth: 1}, true)
				for _, f := range x.f.lines[n:] {
					take(-1, l.Ref, f, chosenBefore)
				}
			}
		}
		for _, st := range text.Statements(text.OutsideFences(d.foreign)) {
			x.add(factLine{text: st, worth: 1}, true)
		}
		for _, f := range x.f.lines[min(len(at), len(x.f.lines)):] {
			if _, ok := at[f.key]; !ok {
				take(-1, "", f, chosenBefore)
			}
		}
		d.known = append(d.known, x.f)
	}
	for i, m := range d.msgs {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if f := m.facts; f.gone != "" {
			for _, key := range of[f.gone] {
				if made[key] < m.made && (f.goneAll || slices.Contains(f.old, key)) {
					out[at[key]].factor *= outOfDate
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

// table names a table: that of a source, or of a message.
type table struct {
	from string
	at   int
	row  int32
}

// share is a part of the budget that some pieces may use.
type share struct{ left int64 }

// builder takes pieces while they fit an estimate: the sum of what each costs
// alone. What the whole costs is measured afterwards.
type builder struct {
	p       *planner
	left    int64
	taken   []piece
	headed  map[string]bool // headings that are paid for
	missing []float64       // for each identifier, how likely a reader does not have it
	from    map[string]int  // pieces taken of each source
	chosen  map[*piece]bool
	rows    map[table]int
	said    spoken
}

func (p *planner) newBuilder(budget int64) *builder {
	b := &builder{
		p: p, left: budget, headed: map[string]bool{}, from: map[string]int{}, rows: map[table]int{}, chosen: map[*piece]bool{},
		missing: make([]float64, len(p.weights)),
	}
	for i := range b.missing {
		b.missing[i] = 1
	}
	return b
}

func (p *planner) tokens(s string) int64 {
	c, ok := p.costs[s]
	if !ok {
		c = p.in.Counter.Text(s)
		p.costs[s] = c
	}
	return c
}

// named returns the identifiers in the name of a source.
func (p *planner) named(from string) []int32 {
	ids, ok := p.sourceIDs[from]
	if !ok {
		ids = p.d.idsIn(from)
		p.sourceIDs[from] = ids
	}
	return ids
}

// cost returns what a piece adds, and the headings that it brings with it.
func (b *builder) cost(p *piece) (cost int64, headings []string) {
	need := func(key, written string) {
		if written != "" && !b.headed[key] {
			cost += b.p.tokens(written)
			headings = append(headings, key)
		}
	}
	k := b.p.template.shown(p.kind)
	if from := p.line.From; from != "" {
		cost = b.p.tokens(nestedMark + p.line.Text + "\n")
		need(from+"\x00", bullet+from+handle(Line{Text: from, Ref: p.line.Ref})+"\n")
	} else {
		cost = b.p.tokens(p.body())
	}
	for _, s := range b.p.template.sections {
		for _, part := range s.parts {
			if part.kind != k {
				continue
			}
			need(s.heading, "\n## "+s.heading+"\n")
			if part.heading != "" {
				need(s.heading+"\x00"+part.heading, "### "+part.heading+"\n")
			}
		}
	}
	return cost, headings
}

// take adds a piece if it says something new, holds no tag that could end what
// the document stands in, and fits what is left, and the shares if there are any.
func (b *builder) take(p piece, shares ...*share) bool {
	cost, headings := b.cost(&p)
	if cost > b.left {
		return false
	}
	for _, s := range shares {
		if cost > s.left {
			return false
		}
	}
	if p.repeats() && (forbidden(p.line.Text) || b.said.has(p.line.Text)) {
		return false
	}
	b.pay(p, cost, headings)
	for _, s := range shares {
		s.left -= cost
	}
	return true
}

// force adds a piece whatever it costs.
func (b *builder) force(p piece) int64 {
	cost, headings := b.cost(&p)
	b.pay(p, cost, headings)
	return cost
}

func (b *builder) pay(p piece, cost int64, headings []string) {
	b.left -= cost
	b.taken = append(b.taken, p)
	if p.repeats() || p.kind == kindConstraints {
		b.said.add(p.line.Text)
	}
	for _, h := range headings {
		b.headed[h] = true
	}
	ids, sure := p.ids, p.sure
	if p.quote != nil {
		for _, s := range p.texts() {
			ids = append(ids, b.p.d.idsIn(s)...)
		}
		sure = withWords
	}
	for _, n := range ids {
		b.missing[n] *= 1 - sure
	}
	if from := p.line.From; from != "" && b.from[from] == 0 {
		for _, n := range b.p.named(from) {
			b.missing[n] *= 1 - withWords
		}
	}
	b.from[p.line.From]++
	if p.table.row != 0 {
		b.rows[p.table]++
	}
}

// takeAll adds those of the pieces that fit, and returns the others.
func (b *builder) takeAll(pieces []piece, shares ...*share) (rest []piece) {
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
	b := p.newBuilder(budget)
	part := func(percent int64) *share { return &share{left: budget * percent / 100} }
	p.found, p.offered = 0, map[kind]int{}
	quoted, most := p.quoteBudget(budget)
	user := &share{left: quoted}
	for _, m := range p.must {
		user.left -= b.force(m)
	}
	briefing := part(briefingShare)
	if p.in.QuoteBudget > 0 {
		briefing.left = max(b.left, 0) * briefingShare / 100
	}
	before := &share{left: briefing.left * (100 - storyShare) / 100}
	if p.goal != nil {
		b.takeAll(p.goal(budget*goalShare/100), part(2*goalShare), briefing, before)
	}
	b.take(piece{kind: kindNote, line: Line{Text: p.d.words.note}})
	var later []piece
	section := func(pieces []piece, percent int64) {
		p.found += len(pieces)
		later = append(later, b.takeAll(pieces, part(percent), briefing, before)...)
	}
	section(p.failing, stateShare)
	rest := p.quote(b, user)
	section(unquotedFirst(p.rules, quotedWhole(b.taken)), rulesShare)
	section(p.decided, stateShare)
	section(p.active, stateShare)
	section(p.next, stateShare)
	section(p.done, doneShare)
	if p.in.Written == nil {
		b.takeAll(p.d.earlier(budget*15/100, b), part(20))
	}
	for _, f := range slices.Concat(p.changed, p.read, p.shell) {
		p.offered[f.kind]++
	}
	files := b.files(p.changed, part(filesShare))
	files = append(files, b.files(p.shell, part(readShare/2))...)
	read := b.files(p.read, part(readShare))
	p.found += len(p.candidates)
	b.choose(p.candidates, briefing)
	b.takeAll(later)
	b.files(append(files, read...), nil)
	user.left += most - quoted
	p.quoteMore(b, user, rest)
	return b.taken
}

// files takes files, with the phrase on what changed where that fits.
func (b *builder) files(list []piece, s *share) (rest []piece) {
	for _, f := range list {
		shares := []*share{s}
		if s == nil {
			shares = nil
		}
		if b.take(f, shares...) {
			continue
		}
		short := f
		short.note = ""
		if f.note == "" || !b.take(short, shares...) {
			rest = append(rest, f)
		}
	}
	return rest
}

// quoteBudget returns what quotes may cost at first, and what they may cost
// when other things leave room.
func (p *planner) quoteBudget(budget int64) (now, most int64) {
	if q := p.in.QuoteBudget; q > 0 {
		q = min(q, budget-min(budget/4, leastForOthers))
		return q, q
	}
	return budget * userShare / 100, budget * 6 / 10
}

// choose fills what is left: again and again with the piece that gains most for what
// it costs.
func (b *builder) choose(pieces []piece, briefing *share) {
	q := &queue{b: b}
	b.p.price = b.pricePerToken(pieces)
	of := map[string][]*piece{}
	for i := range pieces {
		p := &pieces[i]
		if v := b.value(p); v > 0 {
			q.ranked = append(q.ranked, ranked{p, v})
			if p.line.From != "" {
				of[p.line.From] = append(of[p.line.From], p)
			}
		}
	}
	heap.Init(q)
	for misses := 0; len(q.ranked) > 0 && misses < 60; {
		top := q.ranked[0]
		if b.chosen[top.piece] {
			heap.Pop(q)
			continue
		}
		if top.value < worthless*b.p.price {
			return
		}
		if v := b.value(top.piece); v < top.value*(1-1e-9) {
			q.ranked[0].value = v
			heap.Fix(q, 0)
			continue
		}
		heap.Pop(q)
		var shares []*share
		if top.piece.kind != kindContext {
			shares = []*share{briefing}
		}
		opens := b.from[top.piece.line.From] == 0
		if b.take(*top.piece, shares...) {
			misses = 0
			b.chosen[top.piece] = true
			if opens { // its heading is paid for: the others of the source cost less now
				for _, other := range of[top.piece.line.From] {
					if v := b.value(other); v > 0 && !b.chosen[other] {
						heap.Push(q, ranked{other, v})
					}
				}
			}
		} else if top.piece.kind == kindContext {
			misses++
		}
	}
}

// pricePerToken is what a token of sources is worth: the value of the last line that
// would be taken if half of what is left were for lines alone.
func (b *builder) pricePerToken(pieces []piece) float64 {
	type line struct {
		value float64
		cost  int64
	}
	var lines []line
	for i := range pieces {
		if p := &pieces[i]; p.kind == kindContext {
			if v := b.value(p); v > 0 {
				lines = append(lines, line{v, b.p.tokens(nestedMark + p.line.Text + "\n")})
			}
		}
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(b.value, a.value) })
	room := b.left / 4 // lines gain less than alone, for they name the same
	for _, l := range lines {
		if room -= l.cost; room <= 0 {
			return l.value
		}
	}
	if len(lines) > 0 {
		return lines[len(lines)-1].value
	}
	return 1
}

// value is what a piece gains for each token it costs.
func (b *builder) value(p *piece) float64 {
	if p.table.row != 0 && b.rows[p.table] >= maxRows {
		return 0
	}
	var head []int32 // what the heading says, which comes with the first line of a source
	if from := p.line.From; from != "" && b.from[from] == 0 {
		head = b.p.named(from)
	}
	gain := 0.0
	for _, n := range p.ids {
		if !slices.Contains(head, n) {
			gain += b.p.weights[n] * b.missing[n]
		}
	}
	gain *= p.sure
	if p.kind == kindContext {
		gain *= p.factor
		if p.line.From != "" {
			for k := b.from[p.line.From]; k > 0 && gain > 0; k-- {
				gain *= sameSource
			}
		}
	}
	if gain == 0 && p.worth == 0 {
		return 0
	}
	cost := b.p.tokens(nestedMark+p.line.Text+"\n") + 1
	if from := p.line.From; from != "" && b.from[from] == 0 {
		cost += b.p.tokens(bullet + from + handle(Line{Text: from, Ref: p.line.Ref}) + "\n")
		for _, n := range head {
			gain += b.p.weights[n] * b.missing[n] * withWords
		}
	}
	worth := p.worth * b.p.price
	if p.kind == kindStory {
		if n := b.from[p.line.From]; n == 0 {
			worth *= firstOfTurn
		} else {
			worth *= math.Pow(sameTurn, float64(n))
		}
	}
	return gain/float64(cost) + worth
}

// queue orders pieces by the value they had when they were last looked at. Values only
// fall, so the first that still has its value is the best.
type queue struct {
	b      *builder
	ranked []ranked
}

type ranked struct {
	piece *piece
	value float64
}

// Len implements heap.Interface.
func (q *queue) Len() int { return len(q.ranked) }

// Less implements heap.Interface; of equal values the earlier piece comes first.
func (q *queue) Less(i, j int) bool {
	a, b := q.ranked[i], q.ranked[j]
	if a.value != b.value {
		return a.value > b.value
	}
	return cmp.Or(cmp.Compare(a.piece.kind, b.piece.kind), cmp.Compare(a.piece.order, b.piece.order)) < 0
}

// Swap implements heap.Interface.
func (q *queue) Swap(i, j int) { q.ranked[i], q.ranked[j] = q.ranked[j], q.ranked[i] }

// Push implements heap.Interface.
func (q *queue) Push(x any) { q.ranked = append(q.ranked, x.(ranked)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := q.ranked[len(q.ranked)-1]
	q.ranked = q.ranked[:len(q.ranked)-1]
	return last
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
		must = p.measure(p.must)
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

// trim drops the last of the pieces until they fit, and returns what the rest
// costs. What must stay comes first.
func (p *planner) trim(pieces []piece, budget int64) ([]piece, int64) {
	cost := p.measure(pieces)
	if cost <= budget {
		return pieces, cost
	}
	lo, hi := len(p.must), len(pieces) // lo pieces are taken to fit, hi do not
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if p.measure(pieces[:mid]) <= budget {
			lo = mid
		} else {
			hi = mid
		}
	}
	// A counter need not grow with the text: look again.
	for cost = p.measure(pieces[:lo]); cost > budget && lo > len(p.must); cost = p.measure(pieces[:lo]) {
		lo--
	}
	return pieces[:lo], cost
}

// clipLast shortens the last message of the user to so many tokens.
func (p *planner) clipLast(to int64) {
	k := slices.IndexFunc(p.must, func(m piece) bool { return m.kind == kindQuotes })
	if k < 0 {
		return
	}
	whole, last := *p.must[k].quote, p.must[k].order
	_, hi := whole.Bytes()
	lo := 0
	for lo < hi {
		mid := (lo + hi + 1) / 2
		q := p.shorten(piece{quote: &whole, order: last}, mid)
		p.must[k].quote = &q
		if p.measure(p.must) <= max(to, 1) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	q := p.shorten(piece{quote: &whole, order: last}, lo)
	p.must[k].quote = &q
	p.clipped = !q.Whole()
	if p.measure(p.must) > p.in.Budget && lo == 0 {
		// Not even the mark of a cut fits: say nothing rather than too much.
		p.must = slices.Delete(p.must, k, k+1)
	}
}

// output makes the document.
func (p *planner) output(pieces []piece) Output {
	doc := p.assemble(pieces).Canonical()
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
	default:
		l := d.lines(k)
		*l = append(*l, p.line)
	}
}

// texts returns what the piece says.
func (p *piece) texts() []string {
	if p.quote != nil {
		out := []string{p.quote.Text}
		for _, g := range p.quote.Gaps {
			out = append(out, g.Text)
		}
		return out
	}
	return []string{p.line.Text, p.line.From, p.path}
}

// body returns how the piece is written when it stands alone.
func (p *piece) body() string {
	var d Document
	p.add(&d, p.kind)
	var b strings.Builder
	d.write(&b, p.kind)
	return b.String()
}

// repeats reports whether the piece is one of those that sections may offer
// twice.
func (p *piece) repeats() bool {
	switch p.kind {
	case kindDone, kindInProgress, kindBlocked, kindDecisions, kindNext, kindStory, kindContext:
		return true
	default:
		return false
	}
}

// assemble makes a document of pieces, in the order of the log.
func (p *planner) assemble(pieces []piece) Document {
	sorted := slices.Clone(pieces)
	slices.SortStableFunc(sorted, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.order, b.order))
	})
	var d Document
	for i := range sorted {
		t := &sorted[i]
		t.add(&d, p.template.shown(t.kind))
	}
	for k, n := range p.offered {
		if f := d.files(k); f != nil {
			f.sort()
			// A list of which nothing fits is left out, with its heading.
			if len(f.Paths) > 0 {
				f.More = n - len(f.Paths)
			}
		}
	}
	d.Story, d.Context = group(d.Story), group(d.Context)
	return d
}

// group joins sentences of one message into one line, and puts lines with the
// same source together where the first of them stands.
func group(lines []Line) []Line {
	var out []Line
	at := map[string]int{}
	var groups [][]Line
	sources := map[string]bool{}
	for _, l := range lines {
		sources[l.From] = true
	}
	for _, l := range lines {
		if l.From == "" {
			if isCommand(l.Text) && sources[clipName(l.Text, maxSource)] {
				continue // its output stands under it
			}
			groups = append(groups, []Line{l})
			continue
		}
		source := l.From
		if source == codeSource || source == pastedSource {
			source += "\x00" + l.Ref
		}
		k, ok := at[source]
		if !ok {
			k = len(groups)
			at[source] = k
			groups = append(groups, nil)
		}
		groups[k] = append(groups[k], l)
	}
	for _, g := range groups {
		// The handle of a group is that of its latest line.
		for i := range g {
			g[i].Ref = g[len(g)-1].Ref
		}
		out = append(out, g...)
	}
	return out
}

// between separates two statements on one line: items of a list have no full stop.
func between(before string) string {
	for _, end := range []string{".", "!", "?", ":", "。", "！", "？", text.Ellipsis} {
		if strings.HasSuffix(strings.TrimRight(before, "*_`)\""), end) {
			return " "
		}
	}
	return " · "
}
