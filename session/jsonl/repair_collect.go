package jsonl

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/session"
)

// collect lists the records, and what stands between them.
func (rp *repairer) collect() error {
	at, sameLine := rp.x.start, false
	if mid, err := midLine(rp.x.r, at); err != nil {
		return err
	} else if mid {
		sameLine = true
	}
	joined := false // the line has been told of already
	for r := range rp.x.records() {
		lines, err := rp.between(at, r.off)
		if err != nil {
			return err
		}
		switch {
		case lines > 0:
			joined = false
		case sameLine && !joined:
			joined = true
			rp.fix("joined-records", r.off, 0, r.id, "put the records that stood on one line on lines of their own")
		}
		rp.place[r] = len(rp.recs)
		rp.recs = append(rp.recs, fixed{r: r, off: r.off, id: r.id, parent: -1})
		at, sameLine = r.off+r.size, true
	}
	_, err := rp.between(at, rp.f.end)
	return err
}

// between looks at what is no record: it is left out of the copy, but for records
// that lack nothing but an id. It returns how many lines end there.
func (rp *repairer) between(from, to int64) (lines int, err error) {
	blank := -1 // the end of a line is no blank line
	if mid, merr := midLine(rp.x.r, from); merr != nil {
		return 0, merr
	} else if !mid {
		blank = 0
	}
	err = forward(rp.x.r, from, to, func(line []byte, off int64, ended bool) error {
		pieces := cutLine(line, ended)
		if ended {
			lines++
			if len(pieces) == 0 {
				blank++
			}
		}
		for i := range pieces {
			rp.leaveOut(&pieces[i], off+int64(pieces[i].off))
		}
		return nil
	})
	rp.blank += max(blank, 0)
	return lines, err
}

// leaveOut judges a piece that is not in the index.
func (rp *repairer) leaveOut(p *piece, off int64) {
	n := int64(len(p.data))
	switch {
	case p.kind == pieceBad:
		rp.fix("bad-line", off, n, "", "left out %d bytes that are no record: %s", n, excerpt(p.data))
	case p.kind == pieceStray:
		rp.fix("stray-value", off, n, "", "left out a JSON value that is no record: %s", excerpt(p.data))
	case p.typ == "session":
		rp.fix("second-header", off, n, "", "left out another header: %s", excerpt(p.data))
	case p.id == "" && p.typ != "":
		rp.recs = append(rp.recs, fixed{off: off, raw: bytes.Clone(p.data), parent: -1})
	default:
		rp.fix("no-id", off, n, "", "left out a record without a type and an id: %s", excerpt(p.data))
	}
}

// identify gives every record an id of its own.
func (rp *repairer) identify() error {
	for id := range rp.x.byID {
		rp.ids[id] = true
	}
	for i := range rp.recs {
		n := &rp.recs[i]
		switch {
		case n.r == nil:
			n.id = rp.newID(n.off)
			rp.fix("no-id", n.off, 0, n.id, "gave it this id; it had none")
		case rp.x.byID[n.r.id] != n.r:
			twin := rp.x.byID[n.r.id]
			same, err := rp.sameRecord(n.r, twin)
			if err != nil {
				return err
			}
			if same {
				n.drop = true
				rp.fix("duplicate-id", n.off, n.r.size, n.r.id, "left it out: the same record stands in the file again")
				continue
			}
			n.id = rp.newID(n.off)
			rp.fix("duplicate-id", n.off, 0, n.id, "gave it this id, because a later record has the id %s", n.r.id)
		}
	}
	return nil
}

// newID makes an id from the place of a record, so that a second repair of the
// same file gives the same copy.
func (rp *repairer) newID(off int64) string {
	for n := 0; ; n++ {
		id := derivedID(rp.f.header.ID+"\n"+strconv.FormatInt(off, 10), n)
		if !rp.ids[id] {
			rp.ids[id] = true
			return id
		}
	}
}

func (rp *repairer) sameRecord(a, b *rec) (bool, error) {
	if a.size != b.size {
		return false, nil
	}
	first, second := make([]byte, a.size), make([]byte, b.size)
	err := errors.Join(readFull(rp.x.r, first, a.off), readFull(rp.x.r, second, b.off))
	return bytes.Equal(first, second), err
}

// attach finds the parent of every record, as reading does.
func (rp *repairer) attach(ctx context.Context) error {
	for i := range rp.recs {
		n := &rp.recs[i]
		if n.drop {
			continue
		}
		parent, known, err := rp.parentOf(ctx, i)
		if err != nil {
			return err
		}
		n.keep = known
		if parent != nil {
			n.parent = rp.place[parent]
		}
		if known {
			continue
		}
		lost := ""
		if n.r != nil {
			lost = n.r.parent
		}
		switch {
		case n.r == nil && n.parent < 0 && i > 0:
			n.parent = rp.alive(i - 1)
		case n.parent >= 0:
			rp.fix("missing-parent", n.off, 0, n.id, "hung it under %s; its parent %s is nowhere in the file", rp.recs[n.parent].id, lost)
		default:
			rp.fix("missing-parent", n.off, 0, n.id, "made it a root; its parent %s is nowhere in the file", lost)
		}
	}
	return nil
}

// alive returns the last record at or before i that is in the copy, or -1.
func (rp *repairer) alive(i int) int {
	for i >= 0 && rp.recs[i].drop {
		i--
	}
	return i
}

// parentOf returns the record that the i-th hangs under; known says that it is
// the one that the record names.
func (rp *repairer) parentOf(ctx context.Context, i int) (parent *rec, known bool, err error) {
	n := &rp.recs[i]
	switch {
	case n.r == nil:
		id, _ := jsonx.String(jsonx.Get(n.raw, "parentId"))
		p := rp.x.byID[id]
		return p, p != nil, nil
	case n.r.parent == "":
		return nil, true, nil
	case rp.x.byID[n.r.parent] != nil:
		return rp.x.byID[n.r.parent], true, nil
	case rp.x.byID[n.r.id] == n.r:
		parent, err = rp.x.parentOf(ctx, n.r)
		return parent, false, err
	}
	return rp.x.mend(n.r), false, nil
}

// cutCycles makes a root of one record in each cycle: on the path to the leaf the
// one that reading begins the path at, elsewhere the first in the file.
func (rp *repairer) cutCycles() {
	state := make([]int, len(rp.recs)) // the walk that came by, 0 for none
	for walk, start := range slices.Concat([]int{rp.leaf()}, rp.order()) {
		if start < 0 || state[start] != 0 {
			continue
		}
		i := start
		for i >= 0 && state[i] == 0 {
			state[i] = walk + 1
			if p := rp.recs[i].parent; walk == 0 && p >= 0 && state[p] == 1 {
				rp.root(i)
				break
			}
			i = rp.recs[i].parent
		}
		if walk == 0 || i < 0 || state[i] != walk+1 {
			continue
		}
		first := i
		for p := rp.recs[i].parent; p != i; p = rp.recs[p].parent {
			first = min(first, p)
		}
		rp.root(first)
	}
}

func (rp *repairer) root(i int) {
	n := &rp.recs[i]
	n.parent, n.keep = -1, false
	rp.fix("cycle", n.off, 0, n.id, "made it a root, because it hung under itself")
}

// order lists the records of the copy.
func (rp *repairer) order() []int {
	all := make([]int, 0, len(rp.recs))
	for i := range rp.recs {
		if !rp.recs[i].drop {
			all = append(all, i)
		}
	}
	return all
}

// leaf returns the newest record that had an id: the leaf, as reading has it.
func (rp *repairer) leaf() int {
	for i := len(rp.recs) - 1; i >= 0; i-- {
		if rp.recs[i].r != nil && !rp.recs[i].drop {
			return i
		}
	}
	return -1
}

// keptEntries makes compactions say what reading makes of them: one whose first
// kept entry is not on its path keeps nothing.
func (rp *repairer) keptEntries() error {
	var compactions []int
	for i := range rp.recs {
		if n := &rp.recs[i]; n.r != nil && !n.drop && n.r.typ == session.TypeCompaction {
			compactions = append(compactions, i)
		}
	}
	if len(compactions) == 0 {
		return nil
	}
	in, out := rp.spans()
	for _, i := range compactions {
		n := &rp.recs[i]
		e, err := rp.x.load(n.r, false)
		if err != nil {
			return err
		}
		c, _ := e.Compaction()
		first := c.FirstKeptEntryID
		own := first == n.r.id && n.id != n.r.id // its id is another one in the copy
		if r := rp.x.byID[first]; r != nil && !own {
			if p := rp.place[r]; in[p] <= in[i] && out[i] <= out[p] {
				continue
			}
		}
		n.kept = n.id
		switch {
		case own:
		case first == "":
			rp.fix("first-kept", n.off, 0, n.id, "made it say that it keeps nothing, as it was read")
		default:
			rp.fix("first-kept", n.off, 0, n.id, "made it say that it keeps nothing, as it was read: %s is not on its path", first)
		}
	}
	return nil
}

// spans returns when a walk of the tree comes to each record and leaves it, so
// that what is on a path can be told without walking it.
func (rp *repairer) spans() (in, out []int) {
	children := make([][]int, len(rp.recs))
	in, out = make([]int, len(rp.recs)), make([]int, len(rp.recs))
	var stack []int
	for i := range slices.Backward(rp.recs) {
		switch p := rp.recs[i].parent; {
		case rp.recs[i].drop:
		case p >= 0:
			children[p] = append(children[p], i)
		default:
			stack = append(stack, i)
		}
	}
	clock := 0
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		if i < 0 {
			stack = stack[:len(stack)-1]
			out[^i] = clock
			continue
		}
		clock++
		in[i] = clock
		stack[len(stack)-1] = ^i
		stack = append(stack, children[i]...)
	}
	return in, out
}
