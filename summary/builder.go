package summary

import (
	"slices"
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

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

// fileLists offers the files of the ledger, the last touched first.
func (d *digest) fileLists() (changed, read, shell []piece) {
	strong := map[string]bool{}
	n := len(d.led.Files)
	for i, f := range slices.Backward(d.led.Files) {
		strong[f.Path] = true
		p := piece{path: f.Path, order: n - i}
		switch f.State {
		case ledger.StateModified:
			p.kind = kindModified
		case ledger.StateCreated:
			p.kind = kindCreated
		case ledger.StateDeleted:
			p.kind = kindDeleted
		case ledger.StateRead:
			p.kind = kindRead
			read = append(read, p)
			continue
		default:
			continue
		}
		changed = append(changed, p)
	}
	for _, f := range slices.Backward(d.led.Weak) {
		if strong[f.Path] || f.To != "" {
			continue
		}
		k := kindShell
		switch {
		case strings.HasSuffix(f.Path, "/"):
			continue // a directory
		case f.State == ledger.StateDeleted:
			k = kindDeleted
		case f.State == ledger.StateRead:
			read = append(read, piece{kind: kindRead, path: f.Path})
			continue
		}
		shell = append(shell, piece{kind: k, path: f.Path})
	}
	return changed, read, shell
}

// minRef is the least length of a recall handle, in bytes.
const minRef = 8

// refs shortens entry ids to handles: the first minRef bytes, or as many more as
// set the id apart from the others of the input. Ids made from the time share
// their beginning.
type refs struct{ short map[string]string }

func newRefs(lists ...[]session.Item) refs {
	var ids []string
	for _, items := range lists {
		for _, it := range items {
			if it.Entry != nil && it.Entry.ID != "" {
				ids = append(ids, it.Entry.ID)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	r := refs{short: make(map[string]string, len(ids))}
	for i, id := range ids {
		n := minRef
		if i > 0 {
			n = max(n, shared(ids[i-1], id)+1)
		}
		if i+1 < len(ids) {
			n = max(n, shared(id, ids[i+1])+1)
		}
		r.short[id] = writableRef(id[:min(n, len(id))])
	}
	return r
}

func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// of returns the handle of an id. One that is no entry of the input stays as it
// is: it comes from an earlier summary.
func (r refs) of(id string) string {
	if s, ok := r.short[id]; ok {
		return s
	}
	return writableRef(id)
}

// sameEntry reports whether two handles may name one entry.
func sameEntry(a, b string) bool {
	return a != "" && b != "" && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

const maxStatement = 300 // runes of a statement in a section

// constraints offers the user's rules, oldest first: those of the ledger, and
// those that an earlier summary had besides. One that was taken back is marked,
// not dropped.
func (d *digest) constraints() []piece {
	var all []piece
	seen := map[string]int{}
	add := func(l Line) {
		key := strings.ToLower(l.Text)
		if k, ok := seen[key]; ok {
			all[k].line.Replaced = all[k].line.Replaced || l.Replaced
			return
		}
		seen[key] = len(all)
		all = append(all, piece{kind: kindConstraints, line: l, order: len(all)})
	}
	if d.prev != nil {
		for _, l := range d.prev.Constraints {
			add(l)
		}
	}
	for _, r := range d.led.Rules {
		add(Line{Text: r.Text, Ref: d.refs.of(r.Entry), Replaced: r.Replaced})
	}
	return all
}

// unquotedFirst orders statements by importance: first those that no quote
// holds, newest first.
func unquotedFirst(all []piece, quoted map[string]bool) []piece {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b piece) int {
		qa, qb := quoted[a.line.Ref], quoted[b.line.Ref]
		if qa != qb {
			if qa {
				return 1
			}
			return -1
		}
		if a.line.Replaced != b.line.Replaced {
			if a.line.Replaced {
				return 1
			}
			return -1
		}
		return b.order - a.order
	})
	return all
}

// clip brings a statement to the length of a line.
func clip(s string) string { return clipName(oneLine(s), maxStatement) }

// maxRequest is how much of a request stands in the Goal section, in runes. What
// is longer is quoted in full elsewhere, as far as there is room.
const maxRequest = 220

// goal offers the first request and the current one, for about so many tokens.
func (d *digest) goal(tokens int64) []piece {
	// Most runes cost a third of a token, those that are not Latin up to one.
	fit := min(int(max(tokens, 20)), maxRequest)
	first, ok := d.firstGoal()
	first.Text = clipName(first.Text, fit)
	var out []piece
	cur := d.currentUser()
	if cur >= 0 {
		q := d.users[cur].quote
		now := clipName(request(q), fit)
		if !ok || !sameEntry(q.Ref, first.Ref) && now != first.Text {
			l := Line{Text: now, Ref: q.Ref}
			if ok {
				l.Text = d.latest() + l.Text
			}
			out = append(out, piece{kind: kindGoal, line: l, order: 1})
		}
	}
	if ok {
		if len(out) > 0 {
			first.Text = d.words.first + first.Text
		}
		out = append(out, piece{kind: kindGoal, line: first})
	}
	return out
}

// latest returns what stands before the request of the last turn: it is the
// current one unless what is kept holds a later one.
func (d *digest) latest() string {
	for _, it := range d.in.Kept {
		if it.Message != nil && it.Message.UserWords() {
			return d.words.latest
		}
	}
	return d.words.current
}

// firstGoal returns the request that the session began with: as an earlier
// summary has it, as the ledger remembers it, or the first there is.
func (d *digest) firstGoal() (Line, bool) {
	if d.prev != nil && len(d.prev.Goal) > 0 && !isLatest(d.prev.Goal[0].Text) {
		l := d.prev.Goal[0]
		for _, more := range d.prev.Goal[1:] {
			// A model may have written several lines.
			if !isLatest(more.Text) {
				l.Text += " " + more.Text
			}
		}
		l.Text = withoutFirst(l.Text)
		return l, true
	}
	if d.foreign != "" {
		return Line{}, false // what came first stands in a text that is not ours
	}
	if len(d.led.Users) > 0 {
		u := d.led.Users[0]
		return Line{Text: request(Quote{Text: u.Text}), Ref: d.refs.of(u.Entry)}, true
	}
	if len(d.users) > 0 {
		q := d.users[0].quote
		return Line{Text: request(q), Ref: q.Ref}, true
	}
	return Line{}, false
}

// currentUser returns the index of the latest message of the user that says what
// to do. An "ok" or "continue" does not.
func (d *digest) currentUser() int {
	for i := len(d.users) - 1; i >= 0 && i > len(d.users)-8; i-- {
		if substantial(d.users[i].quote.Text) {
			return i
		}
	}
	return len(d.users) - 1
}

func substantial(s string) bool {
	letters := 0
	for _, r := range s {
		if text.Wide(r) {
			letters += 3
		} else if unicode.IsLetter(r) {
			letters++
		}
		if letters >= 16 {
			return true
		}
	}
	return false
}

// request returns a message as it stands in the Goal section.
func request(q Quote) string {
	return clipName(strings.Join(strings.Fields(oneLine(text.Plain(q.Text))), " "), maxRequest)
}
