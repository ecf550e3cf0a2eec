package jsonl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"weak"

	"github.com/clew-dev/clew/session"
)

// rec is what is remembered of a record: where it is, not what it says.
type rec struct {
	off    int64
	size   int64
	typ    session.Type
	id     string
	parent string
	entry  *session.Entry // what was asked for, up to maxKept bytes of it
	weak   weak.Pointer[session.Entry]
}

// maxKept is how many bytes of entries an index keeps at hand. Beyond that,
// entries are read again unless somebody else still holds them.
const maxKept = 32 << 20

// maxProblems is how many problems an index lists; the others are counted.
const maxProblems = 10_000

// index knows the records of a file from some offset to its end. It grows
// towards the beginning as older records are asked for, and towards the end as
// records are appended.
type index struct {
	r     io.ReaderAt
	start int64 // where the first record after the header begins

	back     *backward
	lastRead lastRead
	older    []*rec // from the end as it was at opening, backwards
	newer    []*rec // since then, in file order
	byID     map[string]*rec
	kept     int64 // bytes of the entries in rec.entry

	// Stretches of the file that are no record: where they begin, and what they
	// were as far as that can be read. Records whose parent is nowhere lost it
	// there.
	badOlder []int64               // backwards
	badNewer []int64               // in file order
	lost     map[string]lostRecord // by id
	attached map[string]string     // ids of records whose parent was lost, and where they hang now

	problems []session.Problem
	more     int // problems beyond maxProblems
}

// lastRead is the record that the last step has read, when the line was sound. The
// entry is good until the next step.
type lastRead struct {
	rec   *rec
	entry *session.Entry
}

func newIndex(r io.ReaderAt, start, end int64) *index {
	return &index{
		r: r, start: start,
		back: newBackward(r, end),
		byID: map[string]*rec{}, lost: map[string]lostRecord{}, attached: map[string]string{},
	}
}

// complete reports whether the index reaches back to the header.
func (x *index) complete() bool { return x.back.done }

// step reads one more line backwards; false at the beginning.
func (x *index) step() (bool, error) {
	if x.complete() {
		return false, nil
	}
	x.lastRead = lastRead{} // its memory is used again now
	line, off, ok, err := x.back.prev()
	if err != nil || !ok {
		return false, err
	}
	if off < x.start { // the header's line
		x.back.done = true
		if off+int64(len(line)) <= x.start {
			return false, nil
		}
		line, off = line[x.start-off:], x.start
	}
	// Mostly a line is one sound record, and mostly its entry is asked for next.
	if e, err := session.ParseEntry(line); err == nil && e.ID != "" && e.Type != "session" {
		at := bytes.IndexByte(line, '{') // behind white space
		r := x.add(&rec{
			off: off + int64(at), size: int64(len(e.Raw())),
			typ: typeName(string(e.Type)), id: strings.Clone(e.ID), parent: strings.Clone(e.ParentID),
		}, false)
		x.older = append(x.older, r)
		x.lastRead = lastRead{r, e}
		return true, nil
	}
	// A line that the end of the index cuts off ended there when it was opened.
	pieces := cutLine(line, true)
	if len(pieces) > 1 {
		x.report(problemJoined(off, len(pieces)))
	}
	for i := range slices.Backward(pieces) {
		if r := x.take(&pieces[i], off, false); r != nil {
			x.older = append(x.older, r)
		}
	}
	return true, nil
}

// take judges a piece: a record to index, or a problem. newest says that the
// piece lies behind all that is indexed; else it lies before.
func (x *index) take(p *piece, lineOff int64, newest bool) *rec {
	off := lineOff + int64(p.off)
	switch {
	case p.kind == pieceBad:
		l := salvage(p.data, off)
		if newest {
			x.badNewer = append(x.badNewer, off)
		} else {
			x.badOlder = append(x.badOlder, off)
		}
		if _, known := x.lost[l.id]; l.id != "" && (newest || !known) {
			x.lost[l.id] = l
		}
		x.report(problemBadLine(off, p))
		return nil
	case p.kind == pieceStray:
		x.report(problemStray(off, p))
		return nil
	case p.typ == "session":
		x.report(problemSecondHeader(off))
		return nil
	case p.id == "":
		x.report(problemNoID(off, p))
		return nil
	}
	return x.add(&rec{
		off: off, size: int64(len(p.data)), typ: typeName(p.typ), id: strings.Clone(p.id), parent: strings.Clone(p.parent),
	}, newest)
}

// add makes a record known by its id.
func (x *index) add(r *rec, newest bool) *rec {
	if x.byID[r.id] != nil {
		x.report(problemDuplicate(r.off, r.id))
		if !newest {
			return r // a later record has the id; this one only keeps its place
		}
	}
	x.byID[r.id] = r
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
		if n%256 == 255 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		if ok, err := x.step(); err != nil || !ok {
			return nil, err
		}
	}
}

// all reads what is left of the file.
func (x *index) all(ctx context.Context) error {
	_, err := x.find(ctx, "") // no record has this id
	return err
}

// newest returns the last record of the file, or nil.
func (x *index) newest() (*rec, error) { return x.nth(0) }

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

// load returns the entry of a record, reading its bytes if need be. keep says
// that it will be asked for again.
func (x *index) load(r *rec, keep bool) (*session.Entry, error) {
	if r.entry != nil {
		return r.entry, nil
	}
	if e := r.weak.Value(); e != nil {
		return e, nil
	}
	e, err := x.parse(r)
	if err != nil {
		return nil, err
	}
	if parent, ok := x.attached[r.id]; ok && x.byID[r.id] == r && x.byID[r.parent] == nil {
		e = e.Attached(parent)
	}
	if keep {
		x.keep(r, e)
	}
	return e, nil
}

func (x *index) parse(r *rec) (*session.Entry, error) {
	if x.lastRead.rec == r {
		return x.lastRead.entry.Clone(), nil
	}
	raw := make([]byte, r.size)
	if err := readFull(x.r, raw, r.off); err != nil {
		return nil, err
	}
	e, err := session.ParseEntry(raw)
	if err != nil || e.ID != r.id {
		return nil, errChanged
	}
	return e, nil
}

// keep remembers the entry of a record.
func (x *index) keep(r *rec, e *session.Entry) {
	r.weak = weak.Make(e)
	if x.kept+r.size <= maxKept {
		x.kept += r.size
		r.entry = e
	}
}

var errChanged = errors.New("the file was changed while it was open; open it again")

// parentOf returns the record that r hangs under, nil for a root. A parent that
// is nowhere was lost to damage; see mend.
func (x *index) parentOf(ctx context.Context, r *rec) (*rec, error) {
	if r.parent == "" {
		return nil, nil
	}
	if to, ok := x.attached[r.id]; ok && x.byID[r.parent] == nil {
		return x.byID[to], nil
	}
	p, err := x.find(ctx, r.parent)
	if p != nil || err != nil {
		return p, err
	}
	// The whole file is indexed now.
	p = x.mend(r)
	to := ""
	if p != nil {
		to = p.id
	}
	x.attached[r.id] = to
	x.report(problemMissingParent(r, to))
	if e := r.entry; e != nil {
		r.entry = e.Attached(to)
	}
	r.weak = weak.Pointer[session.Entry]{}
	if r.entry != nil {
		r.weak = weak.Make(r.entry)
	}
	return p, nil
}

// mend finds the record that stands in for r's lost parent: where the damaged
// line still says its own parent, that one, else the last record before the
// line. When no line says that it was the parent, the nearest damage took it.
func (x *index) mend(r *rec) *rec {
	at, found := int64(0), false
	seen := map[string]bool{}
	for id := r.parent; !seen[id]; {
		l, ok := x.lost[id]
		if !ok {
			break
		}
		at, found = l.off, true
		if !l.placed {
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
		if at, found = x.badBefore(r.off); !found {
			return nil
		}
	}
	return x.lastBefore(at)
}

// badBefore returns where the last stretch before off begins that is no record.
func (x *index) badBefore(off int64) (at int64, ok bool) {
	if n, _ := slices.BinarySearch(x.badNewer, off); n > 0 {
		return x.badNewer[n-1], true
	}
	n, _ := slices.BinarySearchFunc(x.badOlder, off, func(at, off int64) int { return cmp.Compare(off, at) })
	for ; n < len(x.badOlder); n++ {
		if x.badOlder[n] < off {
			return x.badOlder[n], true
		}
	}
	return 0, false
}

// lastBefore returns the last record before off that its id stands for, or nil.
func (x *index) lastBefore(off int64) *rec {
	n, _ := slices.BinarySearchFunc(x.newer, off, func(r *rec, off int64) int { return cmp.Compare(r.off, off) })
	for _, r := range slices.Backward(x.newer[:n]) {
		if x.byID[r.id] == r {
			return r
		}
	}
	n, _ = slices.BinarySearchFunc(x.older, off, func(r *rec, off int64) int { return cmp.Compare(off, r.off) })
	for _, r := range x.older[n:] {
		if r.off < off && x.byID[r.id] == r {
			return r
		}
	}
	return nil
}

// records yields what is indexed, in file order.
func (x *index) records() iter.Seq[*rec] {
	return func(yield func(*rec) bool) {
		for _, r := range slices.Backward(x.older) {
			if !yield(r) {
				return
			}
		}
		for _, r := range x.newer {
			if !yield(r) {
				return
			}
		}
	}
}

// grow indexes the region from..to, which lies behind all that is indexed. It
// returns how many bytes at its end are the beginning of a record.
func (x *index) grow(from, to int64) (torn int64, err error) {
	err = forwardOnce(x.r, from, to, func(line []byte, off int64, ended bool) error {
		pieces := cutLine(line, ended)
		if n := len(pieces); !ended && n > 0 && pieces[n-1].kind == pieceBad {
			torn = to - off - int64(pieces[n-1].off)
			pieces = pieces[:n-1]
		}
		if len(pieces) > 1 {
			x.report(problemJoined(off, len(pieces)))
		}
		for i := range pieces {
			if r := x.take(&pieces[i], off, true); r != nil {
				x.newer = append(x.newer, r)
			}
		}
		return nil
	})
	return torn, err
}
