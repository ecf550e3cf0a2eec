package summary

import (
	"slices"

	"github.com/clew-dev/clew/internal/text"
)

const (
	defaultQuotes = 20_000 // tokens
	// leastForOthers is what quotes leave to the rest of the document at least,
	// in tokens, or a quarter of a smaller budget.
	leastForOthers = 1000
	// shortQuote is how much of a message that does not fit is quoted, in bytes,
	// half from its beginning and half from its end.
	shortQuote = 600
)

// quotePlan says which messages of the user are quoted.
type quotePlan struct {
	must  []piece // the last one, and pins
	whole []piece // the first, then newest first
	short []piece // beginning and end of those that may not fit whole
}

func (d *digest) quotes() quotePlan {
	var plan quotePlan
	for i, q := range d.in.Pins {
		q.Ref = d.refs.of(q.Ref)
		plan.must = append(plan.must, piece{kind: kindPins, quote: &q, order: i})
	}
	n := len(d.users)
	if n == 0 {
		return plan
	}
	at := func(i int) piece {
		q := d.users[i].quote
		return piece{kind: kindQuotes, quote: &q, order: i}
	}
	plan.must = append(plan.must, at(n-1))
	order := make([]int, 0, n)
	if n > 1 {
		order = append(order, 0)
	}
	for i := n - 2; i > 0; i-- {
		order = append(order, i)
	}
	for _, i := range order {
		plan.whole = append(plan.whole, at(i))
		if q := d.users[i].quote; len(q.Text)+len(q.Tail) > shortQuote*4/3 {
			s := shorten(q, shortQuote)
			plan.short = append(plan.short, piece{kind: kindQuotes, quote: &s, order: i})
		}
	}
	return plan
}

// shorten returns a quote with at most about n bytes of text, from its beginning
// and its end.
func shorten(q Quote, n int) Quote {
	whole := len(q.Text) + q.Omitted + len(q.Tail)
	if len(q.Text)+len(q.Tail) <= n {
		return q
	}
	end := q.Tail
	if q.Whole() {
		end = q.Text
	}
	q.Text = text.Head(q.Text, n/2)
	q.Tail = text.Tail(end, n/2)
	q.Omitted = whole - len(q.Text) - len(q.Tail)
	return q
}

// quotedWhole returns the handles of the messages that the pieces quote whole.
func quotedWhole(pieces []piece) map[string]bool {
	m := map[string]bool{}
	for _, p := range pieces {
		if p.kind == kindQuotes && p.quote.Whole() && p.quote.Ref != "" {
			m[p.quote.Ref] = true
		}
	}
	return m
}

// hasQuote reports whether the pieces quote the message at order already.
func hasQuote(pieces []piece, order int) bool {
	return slices.ContainsFunc(pieces, func(p piece) bool { return p.kind == kindQuotes && p.order == order })
}
