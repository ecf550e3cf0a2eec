package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// The ranking is Okapi BM25 (https://en.wikipedia.org/wiki/Okapi_BM25) with the usual k1 and b
// and an idf that is never negative: ln(1 + (N-df+0.5)/(df+0.5)).
const (
	bm25K1 = 1.2
	bm25B  = 0.75

	copied      = 0.5 // the factor on a summary's score: what it repeats should come first
	maxVariants = 64  // the most hashes that the beginning of one stands for
)

// Query says what to find: that of package clew, which says what the fields mean. An Index wants whole ids in Since and
// Until, and does not look at Scope.
type Query struct {
	Text, Tool, Path, Since, Until, Scope string
	Roles                                 []message.Role
	Offset, Limit, Snippet                int
}

// Limits of a Query.
const (
	DefaultLimit = 10
	MaxLimit     = 100
	MaxSnippet   = 4000

	// Without a size, a few hits come with much text and the others with little: to ask again costs a reader more.
	leadHits    = 3
	leadSnippet = 2000
	leadHalf    = 300
	restSnippet = 200
	restHalf    = 60

	denseSnippet = 300 // in which the words of a query are to stand close together
	minSnippet   = 20
	maxHalf      = 160 // bytes of the excerpt of a call's result, or of a result's call
	maxHalves    = 4
	maxAlike     = 10 // ranked entries that are looked at for each hit
	maxNear      = 40 // entries that are looked at for how near the words stand

	maxNearWords = 100_000 // in an entry that is looked at so
	maxQuery     = 4096    // how much of a query is read, in bytes
)

// ErrNoQuery says that a query asks for nothing.
var ErrNoQuery = errors.New("nothing to look for")

// Results are a page of the hits of a query.
type Results struct {
	Paged
	Hits []Hit `json:"hits"`
	// All is how many have every word that any entry has, which come first, Missing are the words that none has.
	All     int      `json:"all"`
	Missing []string `json:"missing,omitempty"`
	// Roles and Tools say how many entries each would leave.
	Roles map[message.Role]int `json:"roles,omitempty"`
	Tools map[string]int       `json:"tools,omitempty"`
	// Partial entries could not be searched whole. Elsewhere are on other branches than the path that was searched.
	Partial   int `json:"partial,omitempty"`
	Elsewhere int `json:"elsewhere,omitempty"`
}

// Hit is an entry that was found.
type Hit struct {
	Entry    string       `json:"entry"`
	Role     message.Role `json:"role"`
	Tools    []string     `json:"tools,omitempty"` // the tools that it calls, or the tool that it is the result of
	Position int          `json:"position"`        // in the log, from 1
	Turn     int          `json:"turn"`            // of its path, from 1; 0 before the first
	Score    float64      `json:"score"`           // ranks those that have all words, and the rest
	// Snippet is the text around the best place, on one line, with an ellipsis where text is
	// missing. It begins at Offset of the Size characters of the text.
	Snippet string `json:"snippet"`
	Offset  int    `json:"offset"`
	Size    int    `json:"size"`
	// Pair are the results of its calls, or its call; Like are entries whose excerpt says nearly the same.
	Pair []Half   `json:"pair,omitempty"`
	Like []string `json:"like,omitempty"`
}

// Half is the other half of a call and its result.
type Half struct {
	Entry   string       `json:"entry"`
	Role    message.Role `json:"role"`
	Snippet string       `json:"snippet"`
}

// Rest are the lines after the excerpt: the other half, and what says nearly the same.
func (h *Hit) Rest() (lines []string) {
	for _, o := range h.Pair {
		lines = append(lines, fmt.Sprintf("→ #%s %s: %s", o.Entry, strings.TrimPrefix(strings.ToLower(string(o.Role)), "tool"), o.Snippet))
	}
	if len(h.Like) > 0 {
		const most = 5
		line := fmt.Sprintf("and %d like it: #%s", len(h.Like), strings.Join(h.Like[:min(most, len(h.Like))], " #"))
		if len(h.Like) > most {
			line += " " + text.Ellipsis
		}
		lines = append(lines, line)
	}
	return lines
}

// Words says how many have all words, and which words none has.
func (r *Results) Words() (s string) {
	all := "words"
	if len(r.Missing) > 0 {
		s, all = "; no entry has: "+strings.Join(r.Missing, ", "), "others"
	}
	if r.All < r.Total {
		s = fmt.Sprintf("; %d have all the %s, %d some", r.All, all, r.Total-r.All) + s
	}
	return s
}

// Narrow names ways to narrow a search that found more than is shown. ask writes a filter.
func (r *Results) Narrow(ask func(name, value string) string) string {
	if r.Next == 0 {
		return ""
	}
	var ways []string
	add := func(name, value string, n int) {
		if n < r.Total {
			ways = append(ways, fmt.Sprintf("%s (%d)", ask(name, value), n))
		}
	}
	for role, n := range r.Roles {
		add("role", string(role), n)
	}
	for tool, n := range r.Tools {
		add("tool", tool, n)
	}
	slices.Sort(ways)
	return "Fewer: " + strings.Join(append(ways[:min(len(ways), 8)], ask("path", "src/"), ask("since", "ID"), ask("left", ""), `"words in quotes"`), ", ")
}

// Search updates the index and returns the entries that have any of the query's words and all of its phrases: first
// those that have all words in one excerpt, then those that have all, best first; of equal hits the later one comes
// first. A hit that says nearly what another one says, or that is shown as the pair of one, has no place of its own.
// With only, the ids that it knows may be hits. The error is ErrNoQuery for a query that asks for nothing.
func (x *Index) Search(ctx context.Context, q Query, only func(id string) bool) (*Results, error) {
	p := parse(q.Text)
	if len(p.terms)+len(p.phrases) == 0 && q.Tool == "" && q.Path == "" && len(q.Roles) == 0 {
		return nil, &session.Error{Op: "search", Subject: q.Text, Err: ErrNoQuery, Hint: "give a word, a phrase in quotes, a role, a tool or a path"}
	}
	if err := x.Update(ctx); err != nil {
		return nil, err
	}
	open, err := x.open(q, only)
	if err != nil {
		return nil, err
	}
	found, wanted := x.rank(p, open)
	if found, err = x.withPhrases(ctx, found, p.phrases); err != nil {
		return nil, err
	}
	if err := x.nearFirst(ctx, p, found); err != nil {
		return nil, err
	}
	r := &Results{
		Paged: Paged{Total: len(found), Offset: max(q.Offset, 0)}, Hits: []Hit{}, Partial: x.partial,
		Roles: map[message.Role]int{}, Tools: map[string]int{},
	}
	for i, w := range p.words {
		if !wanted[i] {
			r.Missing = append(r.Missing, w.text)
		}
	}
	for _, f := range found {
		if f.class >= allWords {
			r.All++
		}
		r.Roles[x.docs[f.doc].role]++
		for _, tool := range x.docs[f.doc].tools {
			r.Tools[tool]++
		}
	}
	return r, x.page(ctx, r, found, p, q, only)
}

func (x *Index) page(ctx context.Context, r *Results, found []ranked, p parsed, q Query, only func(id string) bool) error {
	limit := min(cmp.Or(max(q.Limit, 0), DefaultLimit), MaxLimit)
	from := min(r.Offset, len(found))
	var seen []map[string]bool // the pairs of words of each hit
	shown := map[string]bool{}
	for i, f := range found[from:] {
		if len(r.Hits) == limit || i == maxAlike*limit {
			r.Next = from + i
			break
		}
		if shown[x.entries[x.docs[f.doc].entry].id] {
			continue
		}
		h, says, err := x.hit(ctx, f, p, q, only, len(r.Hits) < leadHits)
		if err != nil {
			return err
		}
		if f.class >= allWords {
			says[""] = true // what has fewer words is not the same
		}
		// A list of what the filters leave has all that they leave.
		same := func(o map[string]bool) bool { return len(p.words) > 0 && o[""] == says[""] && alike(says, o) }
		if k := slices.IndexFunc(seen, same); k >= 0 && r.Hits[k].Role == h.Role {
			r.Hits[k].Like = append(r.Hits[k].Like, h.Entry)
			continue
		}
		for _, half := range h.Pair {
			shown[half.Entry] = true
		}
		r.Hits, seen = append(r.Hits, h), append(seen, says)
	}
	return nil
}

// wordPairs returns the neighbouring words of an excerpt; of a single word, itself.
func wordPairs(s string) map[string]bool {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	pairs := map[string]bool{strings.Join(words[:min(1, len(words))], ""): true}
	for i := 1; i < len(words); i++ {
		pairs[words[i-1]+" "+words[i]] = true
	}
	return pairs
}

// alike reports whether two excerpts of similar length have three quarters of the shorter one in common.
func alike(a, b map[string]bool) bool {
	both := 0
	for pair := range a {
		if b[pair] {
			both++
		}
	}
	least := min(len(a), len(b))
	return 4*both >= 3*least && 2*least >= max(len(a), len(b))
}

// open returns which documents the filters let through.
func (x *Index) open(q Query, only func(id string) bool) ([]bool, error) {
	since, until := int32(0), int32(len(x.entries))
	for i, id := range []string{q.Since, q.Until} {
		n, ok := x.byID[id]
		switch {
		case ok && i == 0:
			since = n
		case ok:
			until = n
		case id != "":
			return nil, &session.Error{Op: "search", Subject: id, Err: session.ErrNotFound, Hint: "give the whole id of an entry"}
		}
	}
	path := slashed(q.Path)
	open := make([]bool, len(x.docs))
	for i := range x.docs {
		d := &x.docs[i]
		open[i] = !d.dead && d.entry >= since && d.entry <= until &&
			(len(q.Roles) == 0 || slices.Contains(q.Roles, d.role)) &&
			(q.Tool == "" || slices.ContainsFunc(d.tools, func(t string) bool { return strings.EqualFold(t, q.Tool) })) &&
			(path == "" || slices.ContainsFunc(d.paths, func(p string) bool { return strings.HasPrefix(p, path) })) &&
			(only == nil || only(x.entries[d.entry].id))
	}
	return open, nil
}

type ranked struct {
	doc   int32
	score float64
	class int    // someWords, allWords or nearWords
	text  string // where it was read already
}

// Those with a higher class come first.
const (
	someWords = iota
	allWords  // of those that any entry has
	nearWords // all in one excerpt
)

// rank returns the documents that have any term and all that they must have, best first, and which words any has.
func (x *Index) rank(p parsed, open []bool) (found []ranked, wanted []bool) {
	scores := make([]float64, len(x.docs))
	average := max(float64(x.words)/float64(max(x.alive, 1)), 1)
	for i, t := range p.terms {
		df := 0.5
		if list := x.terms[t.text]; list != nil {
			df = float64(len(*list))
		}
		p.terms[i].worth = math.Log(1 + float64(x.alive+1)/df)
		for _, v := range x.variants(t) {
			df := float64(len(*v))
			idf := math.Log(1 + (max(float64(x.alive)-df, 0)+0.5)/(df+0.5))
			for _, in := range *v {
				n, f := in>>8, float64(in&255)
				scores[n] += idf * f * (bm25K1 + 1) / (f + bm25K1*(1-bm25B+bm25B*float64(x.docs[n].words)/average))
			}
		}
	}
	wanted = make([]bool, len(p.words))
	has := make([]int, len(x.docs))    // how many of the wanted words a document has
	lacks := make([]bool, len(x.docs)) // a word that it must have
	pieces := make([]int, len(x.docs)) // how many pieces of a word it has, from the first on
	all := 0
	for k, w := range p.words {
		clear(pieces)
		whole := max(len(w.pieces), 1)
		for _, i := range w.whole {
			x.eachWith(p.terms[i], func(n uint32) { pieces[n] = whole })
		}
		for at, i := range w.pieces {
			x.eachWith(p.terms[i], func(n uint32) {
				if pieces[n] == at {
					pieces[n]++
				}
			})
		}
		for n, have := range pieces {
			lacks[n] = lacks[n] || w.must && have < whole
			if have == whole {
				has[n]++
				wanted[k] = wanted[k] || open[n]
			}
		}
		if wanted[k] {
			all++
		}
	}
	for i := range x.docs {
		if !open[i] || lacks[i] || len(p.terms) > 0 && scores[i] == 0 {
			continue
		}
		score := scores[i]
		if role := x.docs[i].role; role == message.RoleCompactionSummary || role == message.RoleBranchSummary {
			score *= copied
		}
		f := ranked{doc: int32(i), score: score}
		if has[i] == all {
			f.class = allWords
		}
		found = append(found, f)
	}
	slices.SortFunc(found, inOrder)
	return found, wanted
}

// eachWith calls fn with each document that has a term, or what it stands for.
func (x *Index) eachWith(t queryTerm, fn func(n uint32)) {
	for _, v := range x.variants(t) {
		for _, in := range *v {
			fn(in >> 8)
		}
	}
}

func inOrder(a, b ranked) int {
	return cmp.Or(cmp.Compare(b.class, a.class), cmp.Compare(b.score, a.score), cmp.Compare(b.doc, a.doc))
}

func (x *Index) nearFirst(ctx context.Context, p parsed, found []ranked) (err error) {
	for i := range found[:min(maxNear, len(found))] {
		f := &found[i]
		if f.class < allWords || len(p.words) < 2 {
			break
		}
		if x.docs[f.doc].words > maxNearWords {
			continue
		}
		if f.text, err = x.text(ctx, &x.docs[f.doc]); err != nil {
			return err
		}
		if _, _, near := p.bestPlace(f.text, denseSnippet); near {
			f.class = nearWords
		}
	}
	slices.SortFunc(found, inOrder)
	return nil
}

func (x *Index) withPhrases(ctx context.Context, found []ranked, phrases []string) ([]ranked, error) {
	if len(phrases) == 0 {
		return found, nil
	}
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

func (x *Index) text(ctx context.Context, d *doc) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	id := x.entries[d.entry].id
	e, err := x.store.Get(ctx, id)
	if err != nil {
		return "", err
	}
	m := Said(e)
	if m == nil {
		return "", &session.Error{Op: "search", Subject: id, Err: errors.New("the entry has changed since it was indexed"), Hint: "search again"}
	}
	if m, _, err = x.whole(ctx, m); err != nil {
		return "", err
	}
	return Text(m), nil
}

// hit returns the hit at an entry, and the neighbouring words of what the query found there.
func (x *Index) hit(ctx context.Context, f ranked, p parsed, q Query, only func(id string) bool, lead bool) (h Hit, says map[string]bool, err error) {
	d := &x.docs[f.doc]
	e := &x.entries[d.entry]
	h = Hit{
		Entry: e.id, Role: d.role, Tools: d.tools,
		Position: int(d.entry) + 1, Turn: int(e.turn), Score: f.score,
	}
	if f.text == "" {
		if f.text, err = x.text(ctx, d); err != nil {
			return h, nil, err
		}
	}
	size, half := restSnippet, restHalf
	switch {
	case q.Snippet > 0:
		size, half = max(min(q.Snippet, MaxSnippet), minSnippet), maxHalf
	case lead:
		size, half = leadSnippet, leadHalf
	}
	from, to, _ := p.bestPlace(f.text, min(size, denseSnippet))
	h.Snippet, h.Offset = excerpt(f.text, from, to, size)
	from, to = widen(f.text, from, to, min(size, restSnippet))
	says = wordPairs(text.Line(f.text[from:to]))
	h.Size = utf8.RuneCountInString(f.text)
	for _, n := range d.pair[:min(maxHalves, len(d.pair))] {
		other := &x.docs[n]
		if other.dead || only != nil && !only(x.entries[other.entry].id) {
			continue
		}
		s, err := x.text(ctx, other)
		if err != nil {
			return h, nil, err
		}
		part := text.Line(text.Tail(s, half)) // an output's end says how it came out
		if call := strings.Index(s, callMark); call >= 0 && other.role == message.RoleAssistant {
			part = text.Line(text.Head(s[call:], half)) // a call's beginning says what it was
		}
		if from, to, _ := p.bestPlace(s, half); from < to {
			part, _ = excerpt(s, from, to, half)
		}
		h.Pair = append(h.Pair, Half{x.entries[other.entry].id, other.role, part})
	}
	return h, says, nil
}
