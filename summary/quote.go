package summary

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
)

const (
	// leastForOthers is what quotes leave to the rest of the document at least,
	// in tokens, or a quarter of a smaller budget.
	leastForOthers = 1000
	// leastQuote is what a quote may cost at least before it is shortened, in
	// tokens, or an eighth of a smaller budget.
	leastQuote = 100
)

// quotes offers the messages that are quoted: those that must be, which are pins and the
// last message, and the others: the first, those with a rule in them, then the newest.
// What is no sentence to anybody is not quoted.
func (d *digest) quotes() (must, rest []piece) {
	for i, q := range d.in.Pins {
		q.Ref, q.Text = d.refs.of(q.Ref), redact.Text(q.Text)
		must = append(must, piece{kind: kindPins, quote: &q, order: i})
	}
	var all []piece
	for i, u := range d.users {
		if q := u; i == len(d.users)-1 || isRequest(q.Text) && letters(q.Text, 2, letterOrDigit) > 3 {
			all = append(all, piece{kind: kindQuotes, quote: &q, order: i})
		}
	}
	if n := len(all); n > 0 {
		must, rest = append(must, all[n-1]), all[:min(1, n-1)]
		var rules, others []piece
		for _, q := range slices.Backward(all[len(rest) : n-1]) {
			if obliges.MatchString(q.quote.Text) {
				rules = append(rules, q)
			} else {
				others = append(others, q)
			}
		}
		rest = slices.Concat(rest, rules, others)
	}
	return must, rest
}

// quote takes the user's messages: all of them whole if the share allows, else
// all of them, the long ones shortened to one length; else as many as possible,
// the first and then the newest.
func (p *planner) quote(b *builder, left *int64) {
	each := p.quoteLimit(b, *left)
	for _, m := range p.rest {
		limit := each
		if each < math.MaxInt64/2 && obliges.MatchString(m.quote.Text) {
			limit *= 2 // half a rule is none
		}
		limit = min(limit, *left, b.left)
		whole := b.cost(&m) <= limit
		short, ok := m, whole
		if !whole {
			short, ok = p.shortened(b, m, limit)
		}
		if ok {
			b.take(short, left)
		}
	}
}

// quoteLimit returns how much each message may cost, so that together they cost
// what there is: the short ones less, the long ones all the same.
func (p *planner) quoteLimit(b *builder, left int64) int64 {
	costs := make([]int64, len(p.rest))
	for i := range p.rest {
		costs[i] = b.cost(&p.rest[i])
	}
	slices.Sort(costs)
	for i, c := range costs {
		if each := left / int64(len(costs)-i); c > each {
			return max(each, min(leastQuote, p.in.Budget/8))
		}
		left -= c
	}
	return math.MaxInt64
}

// shortened returns a quote that costs at most limit, where that says enough.
func (p *planner) shortened(b *builder, m piece, limit int64) (piece, bool) {
	whole, shown := m.quote.Bytes()
	if limit < min(leastQuote, p.in.Budget/8) {
		return m, false
	}
	n := int(min(int64(shown), int64(shown)*limit/b.cost(&m)))
	for range 4 {
		q := p.shorten(m, n)
		short := m
		short.quote, short.alone = &q, 0
		if _, left := q.Bytes(); left*4 < n*3 && left < whole/2 {
			return m, false
		}
		c := b.cost(&short)
		if c <= limit {
			return short, true
		}
		n = int(int64(n)*limit/c) - 20
	}
	return m, false
}

// shorten returns a quote with at most about n bytes of text: of sentences that
// bind later work as many as fit, then of the others, from the beginning and the
// end inwards, last of what is pasted. One sentence alone that is too long keeps its
// beginning and its end.
func (p *planner) shorten(m piece, n int) Quote {
	q := *m.quote
	whole, shown := q.Bytes()
	if shown <= n {
		return q
	}
	parts := slices.Clone(kept(p.quoteParts, m.order, func(int) []quotePart { return quoteParts(q) }))
	left := n
	for worth := partRule; worth >= partPasted && left > 0; worth-- {
		for i := range parts {
			k := i / 2
			if i%2 == 1 {
				k = len(parts) - 1 - k
			}
			if part := &parts[k]; part.worth == worth && len(part.text) <= left {
				part.taken = true
				left -= len(part.text)
			}
		}
	}
	out := joinParts(q, parts)
	if got, kept := out.Bytes(); kept < n/2 || got != whole {
		if ends, ok := cutEnds(q, n); ok {
			return ends
		}
	}
	return out
}

// joinParts makes a quote of the parts that are taken.
func joinParts(q Quote, parts []quotePart) Quote {
	q.Text, q.Gaps = "", nil
	gap := 0
	for _, p := range append(parts, quotePart{taken: true}) {
		if !p.taken {
			if gap == 0 {
				gap += trimLast(&q)
			}
			gap += p.omitted + len(p.text)
			continue
		}
		if gap > 0 {
			q.Gaps = append(q.Gaps, Gap{Omitted: gap})
			gap = 0
		}
		*q.last() += p.text
	}
	return q
}

// trimLast takes away the white space at the end of a quote, and returns how much.
func trimLast(q *Quote) int {
	last := q.last()
	n := len(*last)
	*last = strings.TrimRight(*last, " \t\r\n")
	return n - len(*last)
}

// cutEnds keeps the beginning and the end of a quote.
func cutEnds(q Quote, n int) (Quote, bool) {
	whole, _ := q.Bytes()
	end := *q.last()
	head, tail := text.Head(q.Text, n/2), text.Tail(end, n/2)
	// Not inside a word: the beginning of a name is the name of another thing.
	if k := strings.LastIndexAny(head, " \t\n"); k > 0 && len(head) < len(q.Text) {
		head = head[:k+1]
	}
	if k := strings.IndexAny(tail, " \t\n"); k >= 0 && len(tail) < len(end) {
		tail = tail[k:]
	}
	if len(head)+len(tail) >= whole {
		return q, false
	}
	q.Text, q.Gaps = head, []Gap{{Omitted: whole - len(head) - len(tail), Text: tail}}
	return q, true
}

// quotePart is a stretch of a message: a sentence with the space after it, a line
// of something pasted, or what an earlier summary left out.
type quotePart struct {
	text    string
	omitted int // bytes, of what is not at hand
	worth   int
	taken   bool
}

// The worth of a part.
const (
	partPasted   = iota // code, tables, output
	partSentence        // anything else
	partRule            // a sentence that binds later work
)

// quoteParts splits a quote. Together the parts are the quote.
func quoteParts(q Quote) []quotePart {
	out := textParts(q.Text)
	for _, g := range q.Gaps {
		out = append(out, quotePart{omitted: g.Omitted, worth: partPasted - 1})
		out = append(out, textParts(g.Text)...)
	}
	return out
}

func textParts(s string) []quotePart {
	var out []quotePart
	fence, list := "", false // list: in an item of a list, where an indented line goes on with it
	for line := range strings.SplitAfterSeq(s, "\n") {
		t := strings.TrimSpace(line)
		if t != "" {
			list = text.ListMark(line) != "" || list && line[0] == ' '
		}
		mark := ""
		if strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
			mark = t[:3]
		}
		switch {
		case fence != "":
			out[len(out)-1].text += line
			if mark == fence {
				fence = ""
			}
		case mark != "":
			out = append(out, quotePart{text: line, worth: partPasted})
			fence = mark
		case t == "" && len(out) > 0:
			out[len(out)-1].text += line
		case pasted(line, list):
			out = append(out, quotePart{text: line, worth: partPasted})
		default:
			out = append(out, sentenceParts(line)...)
		}
	}
	for i := range out[:max(len(out)-1, 0)] { // "run exactly this command:" says nothing without the command
		if next := &out[i+1]; out[i].worth == partRule && leadsOver(strings.TrimSpace(out[i].text)) && next.worth == partPasted && len(next.text) <= shortPasted {
			next.worth = partRule
		}
	}
	return out
}

// shortPasted is how long code may be that is kept with the sentence above it, in bytes.
const shortPasted = 300

// pasted reports whether a line is more likely copied from somewhere than typed.
func pasted(line string, list bool) bool {
	t := strings.TrimSpace(line)
	return t == "" || text.TableRow(t) || strings.ContainsAny(line[:1], " \t") && !list || unreadable(t) && len(t) > 40
}

// obliges matches the words that bind, wherever they stand: a message that is cut keeps
// the sentences with them first.
var obliges = text.NewWording(`must|never|do not|don['’]t|always|only|instead|make sure`,
	`必须|不要|不能|只|一定|请用|してはいけない|必ず|반드시|하지 마|하지마`)

// sentenceParts splits a line into its sentences, each with what follows it.
func sentenceParts(line string) []quotePart {
	var out []quotePart
	rest := line
	for _, s := range text.Sentences(line) {
		k := strings.Index(rest, s)
		if k < 0 {
			break
		}
		end := len(rest) - len(strings.TrimLeft(rest[k+len(s):], " \t"))
		worth := partSentence
		if ledger.Binding(s) || obliges.MatchString(s) {
			worth = partRule
		}
		out = append(out, quotePart{text: rest[:end], worth: worth})
		rest = rest[end:]
	}
	if len(out) == 0 && rest != "" {
		return []quotePart{{text: rest, worth: partSentence}}
	} else if rest != "" {
		out[len(out)-1].text += rest
	}
	return out
}

func letterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
