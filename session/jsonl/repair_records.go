package jsonl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

func (rp *repairer) collect(ctx context.Context) error {
	recs := rp.x.records()
	inLine, err := midLine(rp.x.r, rp.x.start) // the header's line goes on
	if err != nil {
		return err
	}
	blank := 0
	err = scan(ctx, rp.x.r, rp.x.start, rp.f.end, func(l *scanned) error {
		n := 0 // records on the line
		if inLine && l.n == 1 && rp.made == nil {
			n = 1
		} else if l.ended && len(l.pieces) == 0 {
			blank++
		}
		for i := range l.pieces {
			off := l.off + int64(l.pieces[i].off)
			if len(recs) == 0 || recs[0].off != off {
				rp.leaveOut(&l.pieces[i], off)
				continue
			}
			if n++; n == 2 {
				rp.fix("joined-records", off, 0, recs[0].ID, "put the records that stood on one line on lines of their own")
			}
			rp.place[recs[0]] = len(rp.recs)
			rp.recs = append(rp.recs, fixed{r: recs[0], off: off, id: recs[0].ID, parent: -1})
			recs = recs[1:]
		}
		return nil
	})
	if blank > 0 {
		rp.fixAt("blank-lines", 0, 0, "", "left out blank lines: %d", blank)
	}
	return err
}

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

func (rp *repairer) identify() error {
	for i := range rp.recs {
		n := &rp.recs[i]
		if n.r == nil {
			n.id = rp.newID(n.off)
			rp.fix("no-id", n.off, 0, n.id, "gave it this id; it had none")
			continue
		}
		twin := rp.x.byID[n.r.ID]
		if twin == n.r {
			continue
		}
		e, err := rp.x.load(n.r, false)
		later, lerr := rp.x.load(twin, false)
		if err = errors.Join(err, lerr); err != nil {
			return err
		}
		if n.drop = bytes.Equal(e.Raw(), later.Raw()); n.drop {
			rp.fix("duplicate-id", n.off, n.r.size, n.r.ID, "left it out: the same record stands in the file again")
			continue
		}
		n.id = rp.newID(n.off)
		rp.fix("duplicate-id", n.off, 0, n.id, "gave it this id, because a later record has the id %s", n.r.ID)
	}
	return nil
}

// newID makes an id from the place of a record, so that a second repair of the same file gives the same copy.
func (rp *repairer) newID(off int64) string {
	for n := 0; ; n++ {
		id := derivedID(rp.f.header.ID+"\n"+strconv.FormatInt(off, 10), n)
		if !rp.given[id] && rp.x.byID[id] == nil {
			rp.given[id] = true
			return id
		}
	}
}

func (rp *repairer) attach() {
	for i := range rp.recs {
		n := &rp.recs[i]
		if n.drop {
			continue
		}
		id := jsonx.StringAt(n.raw, "parentId")
		if n.r != nil {
			id = n.r.ParentID
		}
		parent := rp.x.byID[id]
		n.keep = parent != nil || n.r != nil && id == ""
		if !n.keep && n.r != nil {
			parent = rp.x.mend(n.r)
		}
		if parent != nil {
			n.parent = rp.place[parent]
		}
		switch {
		case n.keep:
		case n.r == nil && i > 0:
			n.parent = i - 1
			for n.parent >= 0 && rp.recs[n.parent].drop {
				n.parent--
			}
		case n.parent >= 0:
			rp.fix("missing-parent", n.off, 0, n.id, "hung it under %s; its parent %s is nowhere in the file", rp.recs[n.parent].id, id)
		default:
			rp.fix("missing-parent", n.off, 0, n.id, "made it a root; its parent %s is nowhere in the file", id)
		}
	}
}

// cutCycles makes a root of one record in each cycle: on the path to the leaf the
// one that reading begins the path at, elsewhere the first in the file.
func (rp *repairer) cutCycles() {
	seen := make([]int, len(rp.recs)) // by which walk, from 1
	for walk := range len(rp.recs) + 1 {
		i, root := walk-1, -1
		if walk == 0 {
			i = rp.leaf()
		}
		for i >= 0 && seen[i] == 0 {
			seen[i] = walk + 1
			root, i = i, rp.recs[i].parent
		}
		if i < 0 || seen[i] != walk+1 {
			continue
		}
		if walk > 0 {
			root = i
			for p := rp.recs[i].parent; p != i; p = rp.recs[p].parent {
				root = min(root, p)
			}
		}
		n := &rp.recs[root]
		n.parent, n.keep = -1, false
		rp.fix("cycle", n.off, 0, n.id, "made it a root, because it hung under itself")
	}
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

// keptEntries makes compactions say what reading makes of them: a first kept entry off the path keeps nothing.
func (rp *repairer) keptEntries() error {
	from, to := rp.spans()
	for i := range rp.recs {
		n := &rp.recs[i]
		if n.r == nil || n.drop || n.r.Type != session.TypeCompaction {
			continue
		}
		e, err := rp.x.load(n.r, false)
		if err != nil {
			return err
		}
		c, _ := e.Compaction()
		first := c.FirstKeptEntryID
		own := first == n.r.ID && n.id != n.r.ID // its id is another one in the copy
		if r := rp.x.byID[first]; r != nil && !own && from[rp.place[r]] <= from[i] && to[i] <= to[rp.place[r]] {
			continue
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

// spans walks the trees, which have no cycles any more, and says of each record at which step
// it came to it and at which it had seen all below: a record is on the path to another if its
// span has the other's in it.
func (rp *repairer) spans() (from, to []int) {
	n := len(rp.recs)
	from, to = make([]int, n), make([]int, n)
	child, sibling := make([]int, n+1), make([]int, n) // the first below, the next beside; child[n] is the first root
	for i := range child {
		child[i] = -1
	}
	for i := range n {
		parent := rp.recs[i].parent
		if parent < 0 {
			parent = n
		}
		child[parent], sibling[i] = i, child[parent]
	}
	at, step := child[n], 0
	for at >= 0 {
		step++
		from[at] = step
		if child[at] >= 0 {
			at = child[at]
			continue
		}
		for to[at] = step; sibling[at] < 0; to[at] = step {
			if at = rp.recs[at].parent; at < 0 {
				return from, to
			}
		}
		at = sibling[at]
	}
	return from, to
}

// write writes the copy.
func (rp *repairer) write(ctx context.Context, w *bufio.Writer) error {
	if err := writeLine(w, rp.f.header.JSON()); err != nil {
		return err
	}
	inPass, last := 0, -1
	put := func(i int) error {
		raw := rp.recs[i].raw
		if r := rp.recs[i].r; r != nil {
			e, err := rp.x.load(r, false)
			if err != nil {
				return err
			}
			inPass = max(inPass-1, 0)
			if lines, ok := e.Group(); ok {
				inPass = lines
			}
			raw = e.Raw()
		}
		last = i
		rp.written++
		return writeLine(w, rp.rewrite(i, raw))
	}
	// Records that had no id were no part of a pass; they wait until it ends.
	var waiting []int
	for i := range rp.recs {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch n := &rp.recs[i]; {
		case n.drop:
		case n.r == nil:
			waiting = append(waiting, i)
		default:
			if err := put(i); err != nil {
				return err
			}
		}
		if inPass > 0 && i < len(rp.recs)-1 {
			continue
		}
		for _, k := range waiting {
			if err := put(k); err != nil {
				return err
			}
		}
		waiting = waiting[:0]
	}
	return rp.writeLeaf(w, last)
}

// writeLeaf makes the last record of the copy stand where the last one of the original did.
func (rp *repairer) writeLeaf(w *bufio.Writer, last int) error {
	leaf := rp.leaf()
	if leaf < 0 || last == leaf {
		return nil
	}
	at := jsonx.StringAt(rp.recs[last].raw, "timestamp")
	raw := fmt.Appendf(nil, `{"type":"custom","id":%s,"parentId":%s,"timestamp":%s,"customType":%s,"data":{"from":%s,"reason":"repair"}}`,
		jsonx.Quote(rp.leafID), jsonx.Quote(rp.recs[leaf].id), jsonx.Quote(at), jsonx.Quote(session.CustomLeaf), jsonx.Quote(rp.recs[last].id))
	rp.written++
	rp.fix("no-id", rp.recs[last].off, 0, rp.recs[leaf].id, "added a record that makes this entry the leaf, as it was read")
	return writeLine(w, raw)
}

// rewrite returns the record as it stands in the copy. What is sound in it is not changed.
func (rp *repairer) rewrite(i int, raw []byte) []byte {
	n := &rp.recs[i]
	if n.r == nil || n.id != n.r.ID {
		raw = jsonx.Set(raw, "id", jsonx.Quote(n.id))
	}
	if !n.keep {
		parent := []byte("null")
		if n.parent >= 0 {
			parent = jsonx.Quote(rp.recs[n.parent].id)
		}
		raw = jsonx.Set(raw, "parentId", parent)
	}
	if n.kept != "" {
		raw = jsonx.Set(raw, "firstKeptEntryId", jsonx.Quote(n.kept))
	}
	switch session.Type(jsonx.StringAt(raw, "type")) {
	case session.TypeMessage:
		return rp.rewriteMessage(n, raw)
	case session.TypeCustomMessage:
		if content, bad := soundContent(jsonx.Get(raw, "content"), message.RoleCustom); bad {
			rp.fix("bad-content", n.off, 0, n.id, "wrote its content as it was read")
			return jsonx.Set(raw, "content", content)
		}
	default:
	}
	return raw
}

func (rp *repairer) rewriteMessage(n *fixed, raw []byte) []byte {
	msg := jsonx.Get(raw, "message")
	m, err := message.Parse(msg)
	if err != nil {
		rp.fix("bad-message", n.off, 0, n.id, "made it an entry that no model sees, with what it held, because it is no message")
		return asCustom(raw)
	}
	if !session.Replaceable(m.Role) {
		return raw
	}
	content, bad := soundContent(jsonx.Get(msg, "content"), m.Role)
	if bad {
		rp.fix("bad-content", n.off, 0, n.id, "wrote its content as it was read")
	}
	if mended, ok := soundArguments(content); ok && m.Role == message.RoleAssistant {
		rp.fix("bad-arguments", n.off, 0, n.id, "wrote an empty object for the arguments of a call that had none")
		content, bad = mended, true
	}
	if !bad {
		return raw
	}
	return jsonx.Set(raw, "message", jsonx.Set(msg, "content", content))
}

// asCustom makes a custom entry of a message entry whose message can't be read. It keeps what it said in its data.
func asCustom(raw []byte) []byte {
	var o jsonx.Object
	o.Str("type", string(session.TypeCustom))
	data := []byte("null")
	jsonx.Members(raw, func(key, val []byte) bool {
		switch string(key) {
		case "type":
		case "message":
			data = val
		default:
			o.Raw(string(key), val)
		}
		return true
	})
	o.Str("customType", "unreadable-message")
	o.Raw("data", data)
	return o.Bytes()
}

// soundContent returns content of the kind that readers expect, and whether it was of another one.
func soundContent(content []byte, r message.Role) (sound []byte, changed bool) {
	blocks := r == message.RoleAssistant || r == message.RoleToolResult
	switch {
	case jsonx.IsArray(content), jsonx.IsString(content) && !blocks:
		return content, false
	case jsonx.IsString(content):
		return slices.Concat([]byte(`[{"type":"text","text":`), content, []byte("}]")), true
	}
	return []byte("[]"), true
}

// soundArguments returns content in which every call has arguments, and whether one had none.
func soundArguments(content []byte) (sound []byte, changed bool) {
	var blocks [][]byte
	jsonx.Elements(content, func(block []byte) bool {
		if jsonx.StringAt(block, "type") == string(message.BlockToolCall) && jsonx.IsNull(jsonx.Get(block, "arguments")) {
			block, changed = jsonx.Set(block, "arguments", []byte("{}")), true
		}
		blocks = append(blocks, block)
		return true
	})
	return jsonx.Array(blocks), changed
}
