package jsonl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/session"
)

const (
	minChunk = 64 << 10
	maxChunk = 256 << 10
)

type backward struct {
	r     io.ReaderAt
	start int64  // of the region
	pos   int64  // offset of buf in the file
	buf   []byte // what was read and not given out yet
	mem   []byte // buf is a part of it
	chunk int
	done  bool
}

// newBackward reads the region [start, end). One that ends in a line break gives an empty line first.
func newBackward(r io.ReaderAt, start, end int64) *backward {
	return &backward{r: r, start: start, pos: end, chunk: minChunk, done: end <= start}
}

// prev returns the line before the last one given out, with its offset and without its line break; ok is false at
// the beginning of the region. The line is valid until the next call.
func (b *backward) prev() (line []byte, off int64, ok bool, err error) {
	if b.done {
		return nil, 0, false, nil
	}
	searched := 0 // bytes at the end of buf that hold no line break
	for {
		if k := bytes.LastIndexByte(b.buf[:len(b.buf)-searched], '\n'); k >= 0 {
			line, off = b.buf[k+1:], b.pos+int64(k)+1
			b.buf = b.buf[:k]
			return line, off, true, nil
		}
		if b.pos == b.start {
			b.done = true
			return b.buf, b.pos, true, nil
		}
		searched = len(b.buf)
		if err := b.more(); err != nil {
			return nil, 0, false, err
		}
	}
}

// more puts the chunk before buf in front of it, at the end of mem.
func (b *backward) more() error {
	rest := len(b.buf)
	n := int(min(int64(max(b.chunk, rest)), b.pos-b.start)) // long lines: grow geometrically
	mem := b.mem
	if need := n + rest; need > len(mem) || len(mem) > 8*maxChunk && need <= 2*maxChunk {
		mem = make([]byte, need)
	}
	copy(mem[len(mem)-rest:], b.buf)
	if err := readFull(b.r, mem[len(mem)-rest-n:len(mem)-rest], b.pos-int64(n)); err != nil {
		return err
	}
	b.mem, b.buf = mem, mem[len(mem)-rest-n:]
	b.pos -= int64(n)
	b.chunk = min(b.chunk*2, maxChunk)
	return nil
}

// forward calls fn with each line of the region [from, to) and its offset; a last line without line break is given
// with ended false. A line is valid until fn returns.
func forward(r io.ReaderAt, from, to int64, fn func(line []byte, off int64, ended bool) error) error {
	br := bufio.NewReaderSize(io.NewSectionReader(r, from, to-from), int(min(maxChunk, max(to-from, 16))))
	var long []byte // a line that is longer than the buffer
	for off := from; off < to; {
		line, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			for long = append(long[:0], line...); errors.Is(err, bufio.ErrBufferFull); long = append(long, line...) {
				line, err = br.ReadSlice('\n')
			}
			line = long
		}
		ended := err == nil
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case !ended && off+int64(len(line)) < to:
			return errChanged
		}
		n := int64(len(line))
		if ended {
			line = line[: n-1 : n-1]
		}
		if err := fn(line, off, ended); err != nil {
			return err
		}
		off += n
	}
	return nil
}

type scanned struct {
	n      int   // the number of the line, from 1
	off    int64 // where it begins in the file
	data   []byte
	ended  bool    // a line break follows
	bom    bool    // it begins with a byte order mark, which is in no piece
	pieces []piece // their offsets are in data
}

// scan is the one walk over a file from its beginning to its end: it takes each
// line of the region [from, to) apart. Nothing of a line may be kept.
func scan(ctx context.Context, r io.ReaderAt, from, to int64, fn func(l *scanned) error) error {
	l := scanned{}
	return forward(r, from, to, func(line []byte, off int64, ended bool) error {
		if l.n%256 == 255 && ctx.Err() != nil {
			return ctx.Err()
		}
		l.n, l.off, l.data, l.ended = l.n+1, off, line, ended
		skip := 0
		if l.bom = off == 0 && bytes.HasPrefix(line, bom); l.bom {
			skip = len(bom)
		}
		l.pieces = cutLine(line[skip:], ended)
		for i := range l.pieces {
			l.pieces[i].off += skip
		}
		return fn(&l)
	})
}

// readFull reads len(buf) bytes at off. That the file ends before them is an error: it was longer when it was opened.
func readFull(r io.ReaderAt, buf []byte, off int64) error {
	switch n, err := r.ReadAt(buf, off); {
	case n == len(buf):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return errChanged
	default:
		return err
	}
}

// A line should hold one record. Some hold two, or the torn rest of one before another; cutLine takes them apart.

type pieceKind int

const (
	pieceRecord pieceKind = iota // a JSON object
	pieceStray                   // a JSON value that is no object
	pieceBad                     // bytes that are no JSON value
)

// piece is a part of a line. Its texts alias the line.
type piece struct {
	kind  pieceKind
	data  []byte
	off   int          // in the line
	err   error        // pieceBad: what stops it from being JSON
	typ   session.Type // of a record, as are the two after it
	id    string
	stamp string // the time it was written
}

// cutLine splits a line into its pieces, in order. A sound line gives one record, a blank one nothing. Where the
// line breaks off, all up to the next record on it is one bad piece. ended says that a line break follows.
func cutLine(line []byte, ended bool) []piece {
	var pieces []piece
	for i := jsonx.Space(line, 0); i < len(line); {
		p, end := readPiece(line, i)
		if p.kind == pieceBad {
			end = nextRecord(line, i+1, ended, p.err)
			p.data = bytes.TrimRight(line[i:end], " \t\r")
		}
		pieces = append(pieces, p)
		i = jsonx.Space(line, end)
	}
	return pieces
}

// readPiece reads the JSON value at line[i], and end is just behind it. A bad piece has no data yet.
func readPiece(line []byte, i int) (p piece, end int) {
	p = piece{kind: pieceStray, off: i}
	end, p.err = jsonx.ScanMembers(line, i, func(key, val []byte) {
		switch string(key) {
		case "type":
			typ, _ := jsonx.String(val)
			p.typ = session.Type(typ)
		case "id":
			p.id, _ = jsonx.String(val)
		case "timestamp":
			p.stamp, _ = jsonx.String(val)
		}
	})
	switch {
	case p.err != nil:
		return piece{kind: pieceBad, off: i, err: p.err}, end
	case line[i] == '{':
		p.kind = pieceRecord
	}
	p.data = line[i:end:end]
	return p, end
}

var recordStart = []byte(`{"type":"`)

// nextRecord finds the record that follows bytes which are no JSON: the next place at or after from where one can be
// read to its end. stop says where and why the bytes before are none.
//
// Blocks of a message's content begin like records. So a record must have a time besides its type, and be followed
// by the end of the line or another value. Where the bytes before it are still JSON up to it, it may be a part of
// them: then it counts only at the end of a line with a line break, which what a program appends to an unfinished
// line has, and an unfinished record has not.
func nextRecord(line []byte, from int, ended bool, stop error) int {
	last := len(bytes.TrimRight(line, " \t\r"))
	reach := len(line) // up to here the bytes were JSON
	if se, ok := errors.AsType[*jsonx.SyntaxError](stop); ok {
		reach = se.Offset
	}
	for range 256 {
		k := bytes.Index(line[min(from, len(line)):], recordStart)
		if k < 0 {
			break
		}
		from += k
		if p, end := readPiece(line, from); p.kind == pieceRecord && p.typ != "" && p.stamp != "" {
			inside := from+len(`{"`) < reach
			next := jsonx.Space(line, end)
			if next >= last && (ended || !inside) || next < last && line[next] == '{' && !inside {
				return from
			}
		}
		from++
	}
	return len(line)
}

type lostRecord struct {
	off    int64 // where the bytes begin
	id     string
	parent string
	placed bool // the parent, or that there is none, can still be read
}

func salvage(data []byte, off int64) lostRecord {
	l := lostRecord{off: off}
	take := func(key, val []byte) {
		switch string(key) {
		case "id":
			l.id, _ = jsonx.String(val)
		case "parentId":
			l.parent, _ = jsonx.String(val)
			l.placed = true
		}
	}
	_, _ = jsonx.ScanMembers(data, 0, take)
	if l.id == "" {
		// Some records of pi carry these members at their end.
		if k := bytes.LastIndex(data, []byte(`,"id":"`)); k >= 0 {
			end := append([]byte{'{'}, data[k+1:]...)
			_, _ = jsonx.ScanMembers(end, 0, take)
		}
	}
	// The texts alias the line.
	l.id, l.parent = strings.Clone(l.id), strings.Clone(l.parent)
	return l
}

var bom = []byte("\xef\xbb\xbf")
