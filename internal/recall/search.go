package recall

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// The ranking is Okapi BM25 (https://en.wikipedia.org/wiki/Okapi_BM25) with an idf that
// is never negative:
//
//	score = sum over terms of idf · tf·(k1+1) / (tf + k1·(1-b+b·words/average))
//	idf   = ln(1 + (N-df+0.5)/(df+0.5))
//
// k1 and b have the usual values.
const (
	bm25K1 = 1.2
	bm25B  = 0.75

	// copied is the factor on a summary's score: what it repeats should come first.
	copied = 0.5

	// maxVariants is the most hashes that the beginning of one stands for.
	maxVariants = 64
)

// Query says what to look for. An entry must meet all fields to be a hit.
type Query struct {
	// Text is words and "phrases in quotes". Every phrase must stand in a hit, except
	// for case and the width of white space; a quote without its other half is an
	// ordinary character. The best match comes first. Without words and phrases, all
	// that meet the other fields are hits, newest first.
	Text string
	// Roles that hits may have. Default: all.
	Roles []message.Role
	// Tool is a tool that a hit calls or is the result of, in any case. A shell run of
	// the user counts as bash.
	Tool string
	// Path begins a path among the arguments of a hit's call, or of the call that a hit
	// is the result of.
	Path string
	// Since and Until are the ids of the first and the last entry, in the order of the
	// log, that may be hits.
	Since, Until string
	// Only reports whether an entry may be a hit. Default: all.
	Only func(id string) bool

	// Offset is how many hits to skip. With Results.Next it continues after the last
	// page, as long as nothing was appended.
	Offset int
	// Limit is how many hits to return. Default: 10; at most 100.
	Limit int
	// Snippet is the most bytes of text around the best place of a hit. Default: 240;
	// at most 4000.
	Snippet int
}

// Limits of a Query.
const (
	DefaultLimit   = 10
	MaxLimit       = 100
	DefaultSnippet = 240
	MaxSnippet     = 4000

	minSnippet = 20
	// maxQuery is how much of a query is read, in bytes.
	maxQuery = 4096
)

// ErrNoQuery says that a query asks for nothing.
var ErrNoQuery = errors.New("nothing to look for")

// Results are a page of the hits of a query.
type Results struct {
	Total  int   `json:"total"`          // hits on all pages
	Offset int   `json:"offset"`         // hits before this page
	Next   int   `json:"next,omitempty"` // Offset of the next page; 0 when this is the last
	Hits   []Hit `json:"hits"`
	// Partial is how many entries were not searched whole, because their full content
	// could not be read, or only in part.
	Partial int `json:"partial,omitempty"`
}

// Hit is an entry that was found.
type Hit struct {
	Entry string       `json:"entry"`
	Role  message.Role `json:"role"`
	// Tools are the tools that it calls, or the tool that it is the result of.
	Tools []string `json:"tools,omitempty"`
	// Position is its place in the log, from 1; Turn is the turn of its path that it
	// belongs to, from 1, or 0 before the first.
	Position int     `json:"position"`
	Turn     int     `json:"turn"`
	Score    float64 `json:"score"`
	// Snippet is the text around the best place, on one line, with an ellipsis where
	// text is missing.
	Snippet string `json:"snippet"`
	// Offset is where the snippet begins in the text of the entry, Size the length of
	// that text; both in characters.
	Offset int `json:"offset"`
	Size   int `json:"size"`
}

// Search updates the index and returns the entries that have any of the query's words and
// all of its phrases, best first; of equal hits the later one comes first. The error is
// ErrNoQuery for a query that asks for nothing.
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
	limit := min(cmp.Or(max(q.Limit, 0), DefaultLimit), MaxLimit)
	r := &Results{Total: len(found), Offset: max(q.Offset, 0), Hits: []Hit{}, Partial: x.partial}
	from := min(r.Offset, len(found))
	page := found[from:min(from+limit, len(found))]
	if end := from + len(page); end < len(found) {
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

// filter returns a function that checks a document against the query, without its words.
func (x *Index) filter(q Query) (func(*doc) bool, error) {
	at := func(id string, otherwise int) (int32, error) {
		if id == "" {
			return int32(otherwise), nil
		}
		n, ok := x.byID[id]
		if !ok {
			return 0, &session.Error{Op: "search", Subject: id, Err: session.ErrNotFound, Hint: "give the whole id of an entry"}
		}
		return n, nil
	}
	since, err := at(q.Since, 0)
	if err != nil {
		return nil, err
	}
	until, err := at(q.Until, len(x.entries))
	if err != nil {
		return nil, err
	}
	path := slashed(q.Path)
	return func(d *doc) bool {
		return !d.dead && d.entry >= since && d.entry <= until &&
			(len(q.Roles) == 0 || slices.Contains(q.Roles, d.role)) &&
			(q.Tool == "" || slices.ContainsFunc(d.tools, func(t string) bool { return strings.EqualFold(t, q.Tool) })) &&
			(path == "" || slices.ContainsFunc(d.paths, func(p string) bool { return strings.HasPrefix(p, path) })) &&
			(q.Only == nil || q.Only(x.entries[d.entry].id))
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
	must := 0                          // terms that a document must have
	has := make([]int, len(x.docs))    // how many of them it has
	latest := make([]int, len(x.docs)) // which of them it was found to have last, from 1
	average := max(float64(x.words)/float64(max(x.alive, 1)), 1)
	for i, t := range p.terms {
		if t.must {
			must++
		}
		for _, v := range x.variants(t) {
			df := float64(x.terms[v].df)
			idf := math.Log(1 + (max(float64(x.alive)-df, 0)+0.5)/(df+0.5))
			x.terms[v].each(func(n, tf uint32) {
				f := float64(tf)
				scores[n] += idf * f * (bm25K1 + 1) / (f + bm25K1*(1-bm25B+bm25B*float64(x.docs[n].words)/average))
				if t.must && latest[n] != i+1 {
					latest[n] = i + 1
					has[n]++
				}
			})
		}
	}
	var found []ranked
	for i := range x.docs {
		d := &x.docs[i]
		if len(p.terms) > 0 && scores[i] == 0 || has[i] < must || !may(d) {
			continue
		}
		score := scores[i]
		if d.role == message.RoleCompactionSummary || d.role == message.RoleBranchSummary {
			score *= copied
		}
		found = append(found, ranked{int32(i), score})
	}
	slices.SortFunc(found, func(a, c ranked) int {
		return cmp.Or(cmp.Compare(c.score, a.score), cmp.Compare(c.doc, a.doc))
	})
	return found
}

// withPhrases keeps the documents that have every phrase.
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

// text reads the text of a document from the store.
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
		return "", &session.Error{Op: "search", Subject: id, Err: errors.New("the entry has changed since it was indexed"), Hint: "search again"}
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
	size = min(cmp.Or(max(size, 0), DefaultSnippet), MaxSnippet)
	h.Snippet, h.Offset, h.Size = x.snippet(s, p, max(size, minSnippet))
	return h, nil
}
