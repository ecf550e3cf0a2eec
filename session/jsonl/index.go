package jsonl

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sort"
	"weak"

	"github.com/clew-dev/clew/session"
)

// rec is what is remembered of a record: where it is, not what it says.
type rec struct {
	session.Shape
	off   int64
	size  int64
	entry *session.Entry // what was asked for, up to maxKept bytes of it
	weak  weak.Pointer[session.Entry]
}

const (
	maxKept     = 32 << 20 // bytes of entries kept at hand; others are read again unless somebody still holds them
	maxProblems = 10_000   // that an index lists; the others are counted
)

// index knows the records of a file from some offset to its end. It grows towards the beginning as older records
// are asked for, and towards the end as records are appended.
type index struct {
	r     io.ReaderAt
	start int64 // where the first record after the header begins

	back *backward
	// The record that the last step has read from a sound line, and its entry, which is good until the next step.
	lastRec   *rec
	lastEntry *session.Entry
	older     []*rec // from the end as it was at opening, backwards
	newer     []*rec // since then, in file order
	byID      map[string]*rec
	kept      int64 // bytes of the entries in rec.entry

	// Stretches of the file that are no record: where they begin, and what they were as far as that can be read.
	// Records whose parent is nowhere lost it there.
	bad      []int64               // in file order only while sorted is set
	sorted   bool                  // bad is
	lost     map[string]lostRecord // by id
	attached map[string]string     // ids of records whose parent was lost, and where they hang now

	problems []session.Problem
	more     int // problems beyond maxProblems
}

func newIndex(r io.ReaderAt, start, end int64) *index {
	return &index{
		r: r, start: start,
		back: newBackward(r, start, end),
		byID: map[string]*rec{}, lost: map[string]lostRecord{}, attached: map[string]string{},
	}
}

// step reads one more line backwards; false at the beginning.
func (x *index) step() (bool, error) {
	x.lastRec, x.lastEntry = nil, nil // their memory is used again now
	line, off, ok, err := x.back.prev()
	if err != nil || !ok {
		return false, err
	}
	// A line that the end of the index cuts off ended there when it was opened.
	recs, e := x.line(line, off, nil, false)
	x.older = append(x.older, recs...)
	if e != nil {
		x.lastRec, x.lastEntry = recs[0], e
	}
	return true, nil
}

// line takes in a line, which lies behind all that is indexed if newest is set,
// else before, with its pieces where they are known. It returns the records on it,
// the last first unless newest is set, and the entry where the line is one sound record, as most are.
func (x *index) line(line []byte, off int64, pieces []piece, newest bool) ([]*rec, *session.Entry) {
	if e := soundRecord(line); e != nil {
		at := bytes.IndexByte(line, '{') // behind white space
		return []*rec{x.add(e, off+int64(at), newest)}, e
	}
	if pieces == nil {
		pieces = cutLine(line, true)
	}
	if len(pieces) > 1 {
		x.report(session.NewProblem("joined-records", off, "", "%d records, or parts of records, on one line", len(pieces)))
	}
	if !newest {
		slices.Reverse(pieces)
	}
	var recs []*rec
	for i := range pieces {
		if r := x.take(&pieces[i], off, newest); r != nil {
			recs = append(recs, r)
		}
	}
	return recs, nil
}

func soundRecord(line []byte) *session.Entry {
	if e, err := session.ParseEntry(line); err == nil && e.ID != "" && e.Type != "session" {
		return e
	}
	return nil
}

// take judges a piece of a line: a record to index, or a problem.
func (x *index) take(p *piece, lineOff int64, newest bool) *rec {
	off := lineOff + int64(p.off)
	if e := soundRecord(p.data); e != nil && p.kind == pieceRecord {
		return x.add(e, off, newest)
	}
	switch {
	case p.kind == pieceBad:
		l := salvage(p.data, off)
		x.bad, x.sorted = append(x.bad, off), false
		if _, known := x.lost[l.id]; l.id != "" && (newest || !known) {
			x.lost[l.id] = l
		}
		x.report(session.NewProblem("bad-line", off, "", "%d bytes that are no record: %v", len(p.data), p.err))
	case p.kind == pieceStray:
		x.report(session.NewProblem("stray-value", off, "", "a JSON value that is no record: %s", excerpt(p.data)))
	case p.typ == "session":
		x.report(session.NewProblem("second-header", off, "", "another session header in the middle of the file"))
	default:
		x.report(session.NewProblem("no-id", off, "", "a record of type %q without an id", p.typ))
	}
	return nil
}

func (x *index) add(e *session.Entry, off int64, newest bool) *rec {
	r := &rec{Shape: e.Shape(), off: off, size: int64(len(e.Raw()))}
	if x.byID[r.ID] != nil {
		x.report(session.NewProblem("duplicate-id", off, r.ID, "the id %s stands in more than one record", r.ID))
		if !newest {
			return r // a later record has the id; this one only keeps its place
		}
	}
	x.byID[r.ID] = r
	return r
}

func (x *index) report(p session.Problem) {
	if len(x.problems) == maxProblems {
		x.more++
		return
	}
	x.problems = append(x.problems, p)
}

// find returns the record with id, reading back as far as needed, or nil.
func (x *index) find(ctx context.Context, id string) (*rec, error) {
	for n := 0; ; n++ {
		if r := x.byID[id]; r != nil {
			return r, nil
		}
		if n%256 == 255 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if ok, err := x.step(); err != nil || !ok {
			return nil, err
		}
	}
}

func (x *index) all(ctx context.Context) error {
	_, err := x.find(ctx, "") // no record has this id
	return err
}

// nth returns the record that stands n places before the newest, or nil.
func (x *index) nth(n int) (*rec, error) {
	if n < len(x.newer) {
		return x.newer[len(x.newer)-1-n], nil
	}
	n -= len(x.newer)
	for len(x.older) <= n {
		if ok, err := x.step(); err != nil || !ok {
			return nil, err
		}
	}
	return x.older[n], nil
}

// load returns the entry of a record, reading its bytes if need be. keep says that it will be asked for again.
func (x *index) load(r *rec, keep bool) (*session.Entry, error) {
	if r.entry != nil {
		return r.entry, nil
	}
	if e := r.weak.Value(); e != nil {
		return e, nil
	}
	e, err := x.read(r)
	if err != nil {
		return nil, err
	}
	if parent, ok := x.attached[r.ID]; ok && x.byID[r.ID] == r && x.byID[r.ParentID] == nil {
		e = e.Attached(parent)
	}
	if keep {
		x.keep(r, e)
	}
	return e, nil
}

// read reads the bytes of a record. They were parsed when it was indexed, so they are not parsed again.
func (x *index) read(r *rec) (*session.Entry, error) {
	if x.lastRec == r {
		return x.lastEntry.Clone(), nil
	}
	raw := make([]byte, r.size)
	if err := readFull(x.r, raw, r.off); err != nil {
		return nil, err
	}
	if raw[0] == '{' && raw[r.size-1] == '}' && bytes.Contains(raw, []byte(`"`+r.ID+`"`)) {
		return r.Entry(raw), nil
	}
	e, err := session.ParseEntry(raw) // an id that is spelled with escapes, or other bytes
	if err != nil || e.ID != r.ID {
		return nil, errChanged
	}
	return e, nil
}

func (x *index) keep(r *rec, e *session.Entry) {
	r.weak = weak.Make(e)
	if x.kept+r.size <= maxKept {
		x.kept += r.size
		r.entry = e
	}
}

var errChanged = errors.New("the file was changed while it was open; open it again")

// parentOf returns the record that r hangs under, nil for a root. A parent that is nowhere was lost; see mend.
func (x *index) parentOf(ctx context.Context, r *rec) (*rec, error) {
	if r.ParentID == "" {
		return nil, nil
	}
	if to, ok := x.attached[r.ID]; ok && x.byID[r.ParentID] == nil {
		return x.byID[to], nil
	}
	p, err := x.find(ctx, r.ParentID)
	if p != nil || err != nil {
		return p, err
	}
	// The whole file is indexed now.
	p = x.mend(r)
	to := ""
	problem := session.NewProblem("missing-parent", r.off, r.ID, "its parent %s is nowhere in the file", r.ParentID)
	if p != nil {
		to = p.ID
		problem.Meaning = "it is read as hanging under " + to + ", where its lost parent hung or stood; pi loses all before it"
	}
	x.attached[r.ID] = to
	x.report(problem)
	r.weak = weak.Pointer[session.Entry]{}
	if e := r.entry; e != nil {
		r.entry = e.Attached(to)
		r.weak = weak.Make(r.entry)
	}
	return p, nil
}

// mend finds the record that stands in for r's lost parent: where the damaged line still says its own parent, that
// one, else the last record before the line. When no line says that it was the parent, the nearest damage took it.
func (x *index) mend(r *rec) *rec {
	at, found := int64(0), false
	seen := map[string]bool{}
	for id := r.ParentID; !seen[id]; {
		l, ok := x.lost[id]
		if !ok {
			break
		}
		if at, found = l.off, true; !l.placed {
			break
		}
		if l.parent == "" {
			return nil
		}
		if p := x.byID[l.parent]; p != nil && p != r {
			return p
		}
		seen[id] = true
		id = l.parent // lost as well
	}
	if !found {
		if !x.sorted {
			slices.Sort(x.bad)
			x.sorted = true
		}
		n, _ := slices.BinarySearch(x.bad, r.off)
		if n == 0 {
			return nil
		}
		at = x.bad[n-1]
	}
	return x.lastBefore(at)
}

// lastBefore returns the last record before off that its id stands for, or nil.
func (x *index) lastBefore(off int64) *rec {
	known := len(x.newer) + len(x.older)
	n := sort.Search(known, func(n int) bool { r, _ := x.nth(n); return r.off < off })
	for ; n < known; n++ {
		if r, _ := x.nth(n); x.byID[r.ID] == r {
			return r
		}
	}
	return nil
}

func (x *index) records() []*rec {
	recs := slices.Concat(x.older, x.newer)
	slices.Reverse(recs[:len(x.older)])
	return recs
}

// grow indexes the region from..to behind all that is indexed, and returns how many bytes at its end are torn.
func (x *index) grow(from, to int64) (torn int64, err error) {
	err = forward(x.r, from, to, func(line []byte, off int64, ended bool) error {
		pieces := cutLine(line, ended)
		if n := len(pieces); !ended && n > 0 && pieces[n-1].kind == pieceBad {
			torn = to - off - int64(pieces[n-1].off)
			pieces = pieces[:n-1]
		}
		recs, _ := x.line(line, off, pieces, true)
		x.newer = append(x.newer, recs...)
		return nil
	})
	return torn, err
}
