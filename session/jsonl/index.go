package jsonl

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/clew-dev/clew/session"
)

// rec is what is remembered of a record: where it is, not what it says.
type rec struct {
	off    int64
	size   int64
	typ    session.Type
	id     string
	parent string
	entry  *session.Entry // nil until asked for
}

// damage is a stretch of the file that could not be read as records. A record
// whose parent is nowhere probably lost it here.
type damage struct {
	off  int64
	size int64
}

// index knows the records of a file from some offset to its end. It grows
// towards the beginning as older records are asked for, and towards the end as
// records are appended.
type index struct {
	r     io.ReaderAt
	start int64 // where the first record after the header begins

	back     *backward
	older    []*rec // from the end as it was at opening, backwards
	newer    []*rec // since then, in file order
	byID     map[string]*rec
	damage   []damage // ascending
	problems []session.Problem
	attached map[string]string // ids of entries whose parent was mended, and to what
}

func newIndex(r io.ReaderAt, start, end int64) *index {
	return &index{
		r: r, start: start,
		back: newBackward(r, end),
		byID: map[string]*rec{}, attached: map[string]string{},
	}
}

// complete reports whether the index reaches back to the header.
func (x *index) complete() bool { return x.back.done }

// step reads one more line backwards; false at the beginning.
func (x *index) step() (bool, error) {
	if x.complete() {
		return false, nil
	}
	line, off, ok, err := x.back.prev()
	if err != nil || !ok {
		return false, err
	}
	if off < x.start { // the header's line
		if off+int64(len(line)) <= x.start {
			x.back.done = true
			return false, nil
		}
		line, off, x.back.done = line[x.start-off:], x.start, true
	}
	pieces := cutLine(line)
	if len(pieces) > 1 {
		x.problems = append(x.problems, problemJoined(off, len(pieces)))
	}
	for i := len(pieces) - 1; i >= 0; i-- {
		p := &pieces[i]
		if r := x.take(p, off, false); r != nil {
			x.older = append(x.older, r)
			if i == 0 && len(pieces) == 1 {
				x.back.last = lastLine{r, line}
			}
		}
	}
	return true, nil
}

// take judges a piece: a record to index, or a problem.
func (x *index) take(p *piece, lineOff int64, newest bool) *rec {
	off := lineOff + int64(p.off)
	switch {
	case p.kind == pieceBad:
		d := damage{off, int64(len(p.data))}
		at, _ := slices.BinarySearchFunc(x.damage, off, func(d damage, off int64) int { return int(d.off - off) })
		x.damage = slices.Insert(x.damage, at, d)
		x.problems = append(x.problems, problemBadLine(off, p))
		return nil
	case p.kind == pieceStray:
		x.problems = append(x.problems, problemStray(off, p))
		return nil
	case p.typ == "session":
		x.problems = append(x.problems, problemSecondHeader(off))
		return nil
	case p.id == "":
		x.problems = append(x.problems, problemNoID(off, p))
		return nil
	}
	r := &rec{off: off, size: int64(len(p.data)), typ: p.typ, id: string([]byte(p.id)), parent: string([]byte(p.parent))}
	if x.byID[r.id] != nil {
		x.problems = append(x.problems, problemDuplicate(off, r.id))
		if !newest {
			return r // a later record has the id; this one only keeps its place
		}
	}
	x.byID[r.id] = r
	return r
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
func (x *index) newest() (*rec, error) {
	if n := len(x.newer); n > 0 {
		return x.newer[n-1], nil
	}
	for len(x.older) == 0 {
		if ok, err := x.step(); err != nil || !ok {
			return nil, err
		}
	}
	return x.older[0], nil
}

// load returns the entry of a record, reading its bytes if need be.
func (x *index) load(r *rec, keep bool) (*session.Entry, error) {
	if r.entry != nil {
		return r.entry, nil
	}
	var raw []byte
	if x.back.last.rec == r { // just read: its bytes are still here
		raw = bytes.Clone(bytes.TrimSpace(x.back.last.line))
	} else {
		raw = make([]byte, r.size)
		if _, err := x.r.ReadAt(raw, r.off); err != nil && !(errors.Is(err, io.EOF)) {
			return nil, err
		}
	}
	e, err := session.ParseEntry(raw)
	if err != nil || e.ID != r.id {
		return nil, errChanged
	}
	if parent, ok := x.attached[r.id]; ok && e.ParentID != parent {
		e = e.Attached(parent)
	}
	if keep {
		r.entry = e
	}
	return e, nil
}

var errChanged = errors.New("the file was changed while it was open; open it again")

// parentOf returns the record that r hangs under, nil for a root. A parent that
// is nowhere was lost to damage: the record then hangs under the last sound
// record before that damage.
func (x *index) parentOf(ctx context.Context, r *rec) (*rec, error) {
	parent := r.parent
	if to, ok := x.attached[r.id]; ok {
		parent = to
	}
	if parent == "" {
		return nil, nil
	}
	p, err := x.find(ctx, parent)
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
	x.problems = append(x.problems, problemMissingParent(r, to))
	if r.entry != nil {
		r.entry = r.entry.Attached(to)
	}
	return p, nil
}

// mend finds the record that stands in for r's lost parent: the last one before
// the damage that spells the parent's id, or before the nearest damage.
func (x *index) mend(r *rec) *rec {
	k := -1
	needle := []byte(`"` + r.parent + `"`)
	for i, d := range x.damage {
		if d.off >= r.off {
			break
		}
		k = i
	}
	if k < 0 {
		return nil
	}
	for i := k; i >= 0; i-- {
		buf := make([]byte, min(x.damage[i].size, 4096)) // an id stands near the front
		if n, _ := x.r.ReadAt(buf, x.damage[i].off); bytes.Contains(buf[:n], needle) {
			k = i
			break
		}
	}
	at := x.damage[k].off
	var last *rec
	for r := range x.records() {
		if r.off > at {
			break
		}
		if x.byID[r.id] == r {
			last = r
		}
	}
	return last
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
// returns the records in it and the length of an unfinished last line.
func (x *index) grow(from, to int64) (n int, torn int64, err error) {
	err = forward(x.r, from, to, func(line []byte, off int64, ended bool) error {
		pieces := cutLine(line)
		if !ended && len(pieces) > 0 && pieces[len(pieces)-1].kind == pieceBad {
			torn = to - off
			return nil
		}
		if len(pieces) > 1 {
			x.problems = append(x.problems, problemJoined(off, len(pieces)))
		}
		for i := range pieces {
			if r := x.take(&pieces[i], off, true); r != nil {
				x.newer = append(x.newer, r)
				n++
			}
		}
		return nil
	})
	return n, torn, err
}
