// Package recall finds what was said in a session: by words, and by the handles with
// which summaries and notes name entries.
//
//	x := recall.New(store, nil)
//	found, err := x.Search(ctx, recall.Query{Text: "token expiry parseConfig"})
//	for _, h := range found.Hits {
//		fmt.Println(h.Entry, h.Turn, h.Snippet)
//	}
//	e, err := recall.Find(ctx, store, leaf, "[#1a2b3c4d]")
//
// An Index has one document for each entry that says something and ranks them by BM25; see Index.Search.
// docs/recall.md says what finds what. The index holds only words; the text of a hit is read from the store again.
package recall

import (
	"context"
	"slices"
	"strings"
	"unique"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Index finds entries of a session by words. It is for one goroutine at a time.
type Index struct {
	store session.Store
	full  Full

	terms   map[string]*postings
	hashes  []string // the terms that are hexadecimal
	entries []entry
	byID    map[string]int32 // the latest entry with the id
	docs    []doc
	words   uint64 // in all documents that are not dead
	alive   int    // how many those are
	partial int

	read int    // entries of the store that are in the index
	last string // id of the newest of them

	calls    map[string]call // by id
	splitter splitter
}

// Full returns the message of which the log has an excerpt (see session.SpilledOf), or as much
// of it as is to be searched. Where it fails the excerpt is searched, and counted in Results.Partial.
type Full func(ctx context.Context, m *message.Message) (*message.Message, error)

// postings are the documents that have a term, in ascending order: the number of each and, in
// the last byte, how often it has the term. 255 stands for more; it makes no difference to BM25.
type postings []uint32

type entry struct {
	id     string
	parent string // id of the entry it hangs under
	turn   int32  // how many turns began on the path to it
	doc    int32  // its document, -1 for none
}

// doc is an entry that says something.
type doc struct {
	entry int32
	words uint32
	dead  bool // another entry with the same id came later
	role  message.Role
	tools []string
	paths []string
	pair  []int32 // the results of its calls, or the call that it is the result of
}

// call is a call of a tool: the document that makes it and the paths that it is about.
type call struct {
	doc   int32
	paths []string
}

// New returns an index of a session, which reads nothing before the first Search. Without full, excerpts are searched.
func New(store session.Store, full Full) *Index {
	return &Index{store: store, full: full, terms: map[string]*postings{}, byID: map[string]int32{}, calls: map[string]call{}}
}

// Update reads what was appended since the last time, at first everything. It may be called again after an error.
func (x *Index) Update(ctx context.Context) error {
	newest, err := x.store.Last(ctx)
	if err != nil {
		return err
	}
	if newest == nil || newest.ID == x.last && x.read > 0 {
		return ctx.Err()
	}
	n := 0
	for e, err := range x.store.All(ctx) {
		if n++; err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			return err
		case n < x.read:
			continue
		case n == x.read && e.ID != x.last:
			return x.anew(ctx)
		case n == x.read:
			continue
		}
		if err := x.add(ctx, e); err != nil {
			return err
		}
		x.read, x.last = n, strings.Clone(e.ID)
	}
	if n < x.read {
		return x.anew(ctx)
	}
	return nil
}

// anew begins again, because the file was replaced or repaired.
func (x *Index) anew(ctx context.Context) error {
	*x = *New(x.store, x.full)
	return x.Update(ctx)
}

// add puts an entry into the index, unless it fails.
func (x *Index) add(ctx context.Context, e *session.Entry) error {
	m, partial, err := x.whole(ctx, Said(e))
	if err != nil {
		return err
	}
	at, rec := int32(len(x.entries)), entry{id: strings.Clone(e.ID), parent: strings.Clone(e.ParentID), doc: -1}
	if p, ok := x.byID[e.ParentID]; ok {
		rec.turn = x.entries[p].turn
	}
	if m != nil && m.StartsTurn() {
		rec.turn++
	}
	if old, ok := x.byID[e.ID]; ok && x.entries[old].doc >= 0 {
		if d := &x.docs[x.entries[old].doc]; !d.dead {
			d.dead = true
			x.alive--
			x.words -= uint64(d.words)
		}
	}
	if e.ID != "" {
		x.byID[rec.id] = at
	}
	if m != nil && e.ID != "" && !IsResult(m) { // without an id it could not be named
		rec.doc = int32(len(x.docs))
		x.addDoc(at, m, partial)
	}
	x.entries = append(x.entries, rec)
	return nil
}

// Said returns the message that an entry contributes by itself, or nil.
func Said(e *session.Entry) *message.Message {
	if items := session.Project([]*session.Entry{e}).Items; len(items) > 0 {
		return items[len(items)-1].Message
	}
	return nil
}

// whole returns the full message, or says that this is a part of it.
func (x *Index) whole(ctx context.Context, m *message.Message) (whole *message.Message, partial bool, err error) {
	if m == nil || m.Role != message.RoleToolResult && m.Role != message.RoleBashExecution {
		return m, false, nil
	}
	at, ok := session.SpilledOf(m)
	if !ok {
		return m, false, nil
	}
	if x.full == nil {
		return m, true, nil
	}
	if whole, err = x.full(ctx, m); err != nil || whole == nil {
		return m, true, ctx.Err()
	}
	return whole, int64(len(whole.JSON())) < at.Size, nil
}

func (x *Index) addDoc(at int32, m *message.Message, partial bool) {
	d := doc{entry: at, role: message.Role(unique.Make(string(m.Role)).Value())}
	number := uint32(len(x.docs))
	x.splitter.emit = func(term []byte, _, _ int, k kind) {
		d.words++
		x.addTerm(term, number, k == kindHash)
	}
	x.splitter.split(Text(m))
	x.tag(&d, m)
	x.docs = append(x.docs, d)
	x.words += uint64(d.words)
	x.alive++
	if partial {
		x.partial++
	}
}

// addTerm counts a term of a document. Documents come in ascending order.
func (x *Index) addTerm(text []byte, number uint32, isHash bool) {
	list := x.terms[string(text)]
	if list == nil {
		list = &postings{}
		x.terms[string(text)] = list
		if isHash {
			x.hashes = append(x.hashes, string(text))
		}
	}
	if n := len(*list) - 1; n < 0 || (*list)[n]>>8 != number {
		*list = append(*list, number<<8|1)
	} else if (*list)[n]&255 < 255 {
		(*list)[n]++
	}
}

// variants returns the terms that one of a query stands for: itself and, of a hash, longer and shorter forms.
func (x *Index) variants(t queryTerm) (all []*postings) {
	add := func(text string) {
		if list := x.terms[text]; list != nil && !slices.Contains(all, list) {
			all = append(all, list)
		}
	}
	add(t.text)
	if !t.hash {
		return all
	}
	slices.Sort(x.hashes)
	from, _ := slices.BinarySearch(x.hashes, t.text)
	for _, h := range x.hashes[from:min(from+maxVariants, len(x.hashes))] {
		if !strings.HasPrefix(h, t.text) {
			break
		}
		add(h)
	}
	for n := len(t.text) - 1; n >= minHash; n-- { // what abbreviates it
		add(t.text[:n])
	}
	return all
}

// pathNames are the names of arguments that are paths.
var pathNames = map[string]bool{
	"path": true, "file_path": true, "filePath": true, "file": true, "filename": true,
	"absolute_path": true, "notebook_path": true, "dir": true, "directory": true, "dir_path": true,
}

// tag notes the tools and paths of a document; unique keeps one copy of each name.
func (x *Index) tag(d *doc, m *message.Message) {
	switch m.Role {
	case message.RoleAssistant:
		for _, c := range m.ToolCalls() {
			if tool := unique.Make(c.Name).Value(); !slices.Contains(d.tools, tool) {
				d.tools = append(d.tools, tool)
			}
			var paths []string
			jsonx.Members(c.Arguments, func(key, val []byte) bool {
				if s, ok := jsonx.String(val); ok && pathNames[string(key)] && s != "" {
					paths = append(paths, unique.Make(slashed(s)).Value())
				}
				return true
			})
			d.paths = append(d.paths, paths...)
			x.calls[strings.Clone(c.ID)] = call{int32(len(x.docs)), paths}
		}
	case message.RoleToolResult:
		d.tools = []string{unique.Make(m.ToolName).Value()}
		if c, ok := x.calls[m.ToolCallID]; ok {
			d.paths, d.pair = c.paths, []int32{c.doc}
			x.docs[c.doc].pair = append(x.docs[c.doc].pair, int32(len(x.docs)))
		}
	case message.RoleBashExecution:
		d.tools = []string{"bash"}
	default:
	}
}

func slashed(path string) string { return strings.TrimPrefix(strings.ReplaceAll(path, `\`, "/"), "./") }

// Path returns the ids of the entries on the path to leaf, as session.Path does, but from what the last Update read.
func (x *Index) Path(leaf string) map[string]bool {
	on := map[string]bool{}
	for id := leaf; id != "" && !on[id]; {
		at, ok := x.byID[id]
		if !ok {
			break
		}
		on[id] = true
		id = x.entries[at].parent
	}
	return on
}

// Entries returns how many entries the index has read.
func (x *Index) Entries() int { return x.read }
