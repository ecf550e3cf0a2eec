package recall

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// The ranking is Okapi BM25, as in https://en.wikipedia.org/wiki/Okapi_BM25, with the
// idf that is never negative:
//
//	score = sum over terms of idf · tf·(k1+1) / (tf + k1·(1-b+b·words/average))
//	idf   = ln(1 + (N-df+0.5)/(df+0.5))
//
// k1 and b are what is usual for text of all lengths.
const (
	bm25K1 = 1.2
	bm25B  = 0.75

	// copied is what a summary's score is multiplied with: what it says was said
	// before, and the words themselves come first.
	copied = 0.5

	// maxVariants is how many hashes the beginning of one stands for at most.
	maxVariants = 64
)

// Results are a page of the hits of a query.
type Results struct {
	Total  int   `json:"total"`          // hits on all pages
	Offset int   `json:"offset"`         // hits before this page
	Next   int   `json:"next,omitempty"` // Offset of the next page; 0 when this is the last
	Hits   []Hit `json:"hits"`
	// Partial is how many entries were not searched whole, because what is kept
	// beside the log could not be read, or only in part.
	Partial int `json:"partial,omitempty"`
}

// Hit is an entry that was found.
type Hit struct {
	Entry string       `json:"entry"`
	Role  message.Role `json:"role"`
	// Tools are the tools that it calls, or the one that it is the result of.
	Tools []string `json:"tools,omitempty"`
	// Position is where it stands in the log, from 1; Turn which turn of its path it
	// belongs to, from 1, or 0 before the first.
	Position int     `json:"position"`
	Turn     int     `json:"turn"`
	Score    float64 `json:"score"`
	// Snippet is the text around the best place, in one line. An ellipsis stands
	// where something is missing.
	Snippet string `json:"snippet"`
	// Offset is where the snippet begins in the text of the entry, Size how long
	// that is; both in characters.
	Offset int `json:"offset"`
	Size   int `json:"size"`
}

// Search brings the index up to date and returns the entries that a query finds:
// those that have any of its words and all of its phrases, best first. Of equal
// hits, the later one comes first. The error is ErrNoQuery when the query asks for
// nothing at all.
func (x *Index) Search(ctx context.Context, q Query) (*Results, error) {
	p := parse(q.Text)
	if len(p.terms)+len(p.phrases) == 0 && q.Tool == "" && q.Path == "" && len(q.Roles) == 0 {
		return nil, &session.Error{Op: "search", Subject: q.Text, Err: ErrNoQuery, Hint: "give a word, a phrase in quotes, a role, a tool or a path"}
	}
	if err := x.Update(ctx); err != nil {
		return nil, err
	}
	may, err := x.filter(q)
	if err != nil {
		return nil, err
	}
	found := x.rank(p, may)
	if len(p.phrases) > 0 {
		if found, err = x.withPhrases(ctx, found, p.phrases); err != nil {
			return nil, err
		}
	}
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(limit, MaxLimit)
	r := &Results{Total: len(found), Offset: max(q.Offset, 0), Hits: []Hit{}, Partial: x.partial}
	if r.Offset >= len(found) {
		return r, nil
	}
	page := found[r.Offset:min(r.Offset+limit, len(found))]
	if end := r.Offset + len(page); end < len(found) {
		r.Next = end
	}
	for _, f := range page {
		h, err := x.hit(ctx, f, p, q.Snippet)
		if err != nil {
			return nil, err
		}
		r.Hits = append(r.Hits, h)
	}
	return r, nil
}

// filter returns what a query says of documents beside their words.
func (x *Index) filter(q Query) (func(*doc) bool, error) {
	since, until := int32(0), int32(len(x.entries))
	for _, end := range []struct {
		id string
		at *int32
	}{{q.Since, &since}, {q.Until, &until}} {
		if end.id == "" {
			continue
		}
		at, ok := x.byID[end.id]
		if !ok {
			return nil, &session.Error{Op: "search", Subject: end.id, Err: session.ErrNotFound, Hint: "give the whole id of an entry"}
		}
		*end.at = at
	}
	path := slashed(q.Path)
	return func(d *doc) bool {
		switch {
		case d.dead, d.entry < since, d.entry > until:
			return false
		case len(q.Roles) > 0 && !slices.Contains(q.Roles, d.role):
			return false
		case q.Tool != "" && !slices.ContainsFunc(d.tools, func(t string) bool { return strings.EqualFold(t, q.Tool) }):
			return false
		case path != "" && !slices.ContainsFunc(d.paths, func(p string) bool { return strings.HasPrefix(p, path) }):
			return false
		}
		return q.Only == nil || q.Only(x.entries[d.entry].id)
	}, nil
}

type ranked struct {
	doc   int32
	score float64
}

// rank returns the documents that have any of the terms and all that they must
// have, best first.
func (x *Index) rank(p parsed, may func(*doc) bool) []ranked {
	scores := make([]float64, len(x.docs))
	must := 0
	var has []uint16 // of the terms it must have, per document
	for _, t := range p.terms {
		if t.must {
			must++
		}
	}
	if must > 0 {
		has = make([]uint16, len(x.docs))
	}
	average := 1.0
	if x.alive > 0 {
		average = max(float64(x.words)/float64(x.alive), 1)
	}
	for _, t := range p.terms {
		variants := x.variants(t)
		var seen map[uint32]bool // documents that have the term, where it stands for several
		if t.must && len(variants) > 1 {
			seen = map[uint32]bool{}
		}
		for _, v := range variants {
			df := float64(x.dict.terms[v].df)
			idf := math.Log(1 + (max(float64(x.alive)-df, 0)+0.5)/(df+0.5))
			x.dict.each(v, func(n, tf uint32) {
				d := &x.docs[n]
				f := float64(tf)
				scores[n] += idf * f * (bm25K1 + 1) / (f + bm25K1*(1-bm25B+bm25B*float64(d.words)/average))
				if t.must && !seen[n] {
					has[n]++
					if seen != nil {
						seen[n] = true
					}
				}
			})
		}
	}
	var found []ranked
	for i := range x.docs {
		d := &x.docs[i]
		if len(p.terms) > 0 && scores[i] == 0 || must > 0 && int(has[i]) < must || !may(d) {
			continue
		}
		score := scores[i]
		if d.copied {
			score *= copied
		}
		found = append(found, ranked{int32(i), score})
	}
	slices.SortFunc(found, func(a, c ranked) int {
		return cmp.Or(cmp.Compare(c.score, a.score), cmp.Compare(c.doc, a.doc))
	})
	return found
}

// variants returns the terms of the index that a term of a query stands for.
func (x *Index) variants(t queryTerm) []int {
	var all []int
	if v := x.dict.find([]byte(t.text)); v >= 0 {
		all = append(all, v)
	}
	if !t.hash {
		return all
	}
	for _, v := range x.dict.beginning([]byte(t.text), maxVariants) {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	for n := len(t.text) - 1; n >= minHash; n-- { // what abbreviates it
		if v := x.dict.find([]byte(t.text[:n])); v >= 0 {
			all = append(all, v)
		}
	}
	return all
}

// withPhrases keeps what has every phrase word for word.
func (x *Index) withPhrases(ctx context.Context, found []ranked, phrases []string) ([]ranked, error) {
	kept := found[:0]
	for _, f := range found {
		s, err := x.text(ctx, &x.docs[f.doc])
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(phrases, func(phrase string) bool { at, _ := findPhrase(s, phrase); return at < 0 }) {
			kept = append(kept, f)
		}
	}
	return kept, nil
}

// text reads what a document says from the store again.
func (x *Index) text(ctx context.Context, d *doc) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	id := x.entries[d.entry].id
	e, err := x.store.Get(ctx, id)
	if err != nil {
		return "", err
	}
	m := said(e)
	if m == nil {
		return "", &session.Error{Op: "search", Subject: id, Err: fmt.Errorf("the entry says something else than when it was indexed"), Hint: "search again"}
	}
	if m, _, err = x.whole(ctx, m); err != nil {
		return "", err
	}
	return Text(m), nil
}

func (x *Index) hit(ctx context.Context, f ranked, p parsed, size int) (Hit, error) {
	d := &x.docs[f.doc]
	e := &x.entries[d.entry]
	h := Hit{
		Entry: e.id, Role: d.role, Tools: d.tools,
		Position: int(d.entry) + 1, Turn: int(e.turn), Score: f.score,
	}
	s, err := x.text(ctx, d)
	if err != nil {
		return h, err
	}
	if size <= 0 {
		size = DefaultSnippet
	}
	h.Snippet, h.Offset, h.Size = x.snippet(s, p, min(max(size, minSnippet), MaxSnippet))
	return h, nil
}
