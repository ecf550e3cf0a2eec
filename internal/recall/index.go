package recall

import (
	"context"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Options changes an Index. The zero value is ready for use.
type Options struct {
	// Whole returns the whole of a message of which the log has an excerpt, see
	// session.SpilledOf, or as much of its beginning as is to be searched.
	// When it fails, unless because the context is done, the excerpt is searched
	// and counted in Results.Partial. Default: the excerpt is searched.
	Whole func(ctx context.Context, m *message.Message) (*message.Message, error)
}

// Index finds entries of a session by words. It is for one goroutine at a time.
type Index struct {
	store session.Store
	opt   Options

	dict    *dict
	entries []entry
	byID    map[string]int32 // the latest entry with the id
	docs    []doc
	words   uint64 // in all documents that are alive
	alive   int
	partial int

	read int    // entries of the store that are in the index
	last string // id of the newest of them

	names    map[string]string   // one copy of each name
	calls    map[string][]string // the paths that calls are about, by id
	splitter splitter
}

// entry is the place of an entry in the session.
type entry struct {
	id     string
	parent string // id of the entry it hangs under
	turn   int32  // how many turns began on the path to it
	doc    int32  // its document, -1 for none
}

// doc is an entry that says something.
type doc struct {
	entry  int32
	words  uint32
	dead   bool // another entry with the same id came later
	copied bool // what was said stands elsewhere too: a summary
	role   message.Role
	tools  []string
	paths  []string
}

// New returns an index of a session. Nothing is read before the first Search or Update.
func New(store session.Store, opt Options) *Index {
	x := &Index{store: store, opt: opt}
	x.reset()
	return x
}

func (x *Index) reset() {
	*x = Index{
		store: x.store, opt: x.opt, dict: newDict(),
		byID: map[string]int32{}, names: map[string]string{}, calls: map[string][]string{},
	}
}

// Update reads what was appended to the store since the last time, and the first
// time everything. Where nothing was, it costs nothing. It can be called again
// after an error.
func (x *Index) Update(ctx context.Context) error {
	newest, err := x.store.Last(ctx)
	if err != nil {
		return err
	}
	if newest == nil || newest.ID == x.last && x.read > 0 {
		return ctx.Err()
	}
	for {
		again, err := x.update(ctx)
		if err != nil || !again {
			return err
		}
		x.reset() // the file was replaced, or mended
	}
}

func (x *Index) update(ctx context.Context) (again bool, err error) {
	known, n := x.read, 0
	for e, err := range x.store.All(ctx) {
		if err != nil {
			return false, err
		}
		n++
		switch {
		case n < known:
			continue
		case n == known:
			if e.ID != x.last {
				return true, nil
			}
			continue
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if err := x.add(ctx, e); err != nil {
			return false, err
		}
		x.read, x.last = n, strings.Clone(e.ID)
	}
	return n < known, nil
}

// add takes an entry into the index, whole or not at all.
func (x *Index) add(ctx context.Context, e *session.Entry) error {
	m := said(e)
	partial := false
	if m != nil && m.Role == message.RoleToolResult || m != nil && m.Role == message.RoleBashExecution {
		var err error
		if m, partial, err = x.whole(ctx, m); err != nil {
			return err
		}
	}
	at := int32(len(x.entries))
	rec := entry{id: strings.Clone(e.ID), doc: -1}
	if p, ok := x.byID[e.ParentID]; ok && e.ParentID != "" {
		rec.parent, rec.turn = x.entries[p].id, x.entries[p].turn
	} else {
		rec.parent = strings.Clone(e.ParentID)
	}
	if m != nil && m.StartsTurn() {
		rec.turn++
	}
	if old, ok := x.byID[e.ID]; ok && x.entries[old].doc >= 0 {
		d := &x.docs[x.entries[old].doc]
		if !d.dead {
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

// said returns what an entry says, or nil.
func said(e *session.Entry) *message.Message {
	switch e.Type {
	case session.TypeMessage, session.TypeCustomMessage, session.TypeCompaction, session.TypeBranchSummary:
		if items := session.Project([]*session.Entry{e}).Items; len(items) > 0 {
			return items[len(items)-1].Message
		}
	default:
	}
	return nil
}

func (x *Index) whole(ctx context.Context, m *message.Message) (whole *message.Message, partial bool, err error) {
	at, ok := session.SpilledOf(m)
	if !ok {
		return m, false, nil
	}
	if x.opt.Whole == nil {
		return m, true, nil
	}
	if whole, err = x.opt.Whole(ctx, m); err != nil || whole == nil {
		return m, true, ctx.Err()
	}
	return whole, int64(len(whole.JSON())) < at.Size, nil
}

func (x *Index) addDoc(at int32, m *message.Message, partial bool) {
	d := doc{entry: at, role: message.Role(x.name(string(m.Role)))}
	d.copied = m.Role == message.RoleCompactionSummary || m.Role == message.RoleBranchSummary
	number := uint32(len(x.docs))
	x.splitter.emit = func(term []byte, _, _ int, k kind) {
		d.words++
		x.dict.add(term, number, k == kindHash)
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

// name returns one copy of a name, which does not hold on to the text it is from.
func (x *Index) name(s string) string {
	if kept, ok := x.names[s]; ok {
		return kept
	}
	s = strings.Clone(s)
	x.names[s] = s
	return s
}

// pathNames are what tools call an argument that is a path.
var pathNames = map[string]bool{
	"path": true, "file_path": true, "filePath": true, "file": true, "filename": true,
	"absolute_path": true, "notebook_path": true, "dir": true, "directory": true, "dir_path": true,
}

// tag writes down which tools and paths a document is about.
func (x *Index) tag(d *doc, m *message.Message) {
	switch m.Role {
	case message.RoleAssistant:
		for _, c := range m.ToolCalls() {
			if name := x.name(c.Name); !slices.Contains(d.tools, name) {
				d.tools = append(d.tools, name)
			}
			var paths []string
			jsonx.Members(c.Arguments, func(key, val []byte) bool {
				if s, ok := jsonx.String(val); ok && pathNames[string(key)] && s != "" {
					paths = append(paths, x.name(slashed(s)))
				}
				return true
			})
			d.paths = append(d.paths, paths...)
			if paths != nil {
				x.calls[strings.Clone(c.ID)] = paths
			}
		}
	case message.RoleToolResult:
		d.tools = []string{x.name(m.ToolName)}
		d.paths = x.calls[m.ToolCallID]
	case message.RoleBashExecution:
		d.tools = []string{"bash"}
	default:
	}
}

func slashed(path string) string {
	return strings.TrimPrefix(strings.ReplaceAll(path, `\`, "/"), "./")
}

// Path returns the ids of the entries on the path to leaf, as session.Path has them, without
// reading the store: of what was there at the last Update.
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

// Size returns about how much memory the index takes, in bytes.
func (x *Index) Size() int {
	const perEntry, perDoc, perName = 96, 96, 48
	n := x.dict.size() + perEntry*cap(x.entries) + perDoc*cap(x.docs)
	for _, e := range x.entries {
		n += len(e.id)
	}
	for s := range x.names {
		n += perName + len(s)
	}
	return n
}

// Entries returns how many entries the index has read, and how many of them can be
// found by words.
func (x *Index) Entries() (read, found int) { return x.read, x.alive }
