package jsonl

import (
	"bytes"
	"errors"
	"io"
)

const (
	minChunk = 64 << 10
	maxChunk = 1 << 20
)

// backward reads the lines of a file from its end to its beginning.
type backward struct {
	r     io.ReaderAt
	pos   int64  // offset of buf in the file
	buf   []byte // what was read and not given out yet
	chunk int
	done  bool
}

// newBackward begins at end. A file that ends in a line break gives an empty
// line first.
func newBackward(r io.ReaderAt, end int64) *backward {
	return &backward{r: r, pos: end, chunk: minChunk, done: end == 0}
}

// prev returns the line before the last one given out, with its offset and
// without its line break; ok is false at the beginning of the file. The line
// is valid until the buffers it came from are dropped: it may be kept, but
// keeps a whole chunk alive.
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
		if b.pos == 0 {
			b.done = true
			return b.buf, 0, true, nil
		}
		searched = len(b.buf)
		if err := b.more(); err != nil {
			return nil, 0, false, err
		}
	}
}

// more puts the chunk before buf in front of it.
func (b *backward) more() error {
	n := max(b.chunk, len(b.buf)) // long lines: grow geometrically
	n = int(min(int64(n), b.pos))
	buf := make([]byte, n+len(b.buf))
	if err := readFull(b.r, buf[:n], b.pos-int64(n)); err != nil {
		return err
	}
	copy(buf[n:], b.buf)
	b.buf = buf
	b.pos -= int64(n)
	b.chunk = min(b.chunk*2, maxChunk)
	return nil
}

// forward calls fn with each line of the region [from, to) and its offset; a
// last line without line break is given with ended false.
func forward(r io.ReaderAt, from, to int64, fn func(line []byte, off int64, ended bool) error) error {
	buf := make([]byte, 0, minChunk)
	off := from // of buf
	for pos := from; ; {
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
		}
		n := int(min(int64(cap(buf)-len(buf)), to-pos))
		if err := readFull(r, buf[len(buf):len(buf)+n], pos); err != nil {
			return err
		}
		searched := len(buf)
		buf = buf[:len(buf)+n]
		pos += int64(n)
		rest := buf
		for {
			k := bytes.IndexByte(rest[searched:], '\n')
			if k < 0 {
				break
			}
			line := rest[: searched+k : searched+k]
			if err := fn(line, off, true); err != nil {
				return err
			}
			off += int64(len(line)) + 1
			rest = rest[searched+k+1:]
			searched = 0
		}
		if pos == to {
			if len(rest) > 0 {
				return fn(rest, off, false)
			}
			return nil
		}
		// Lines given out may be kept, so their bytes are not overwritten.
		buf = append(make([]byte, 0, max(min(maxChunk, 2*cap(buf)), 2*len(rest))), rest...)
	}
}

// readFull reads len(buf) bytes at off. That the file ends before them is an
// error: it was longer when it was opened.
func readFull(r io.ReaderAt, buf []byte, off int64) error {
	n, err := r.ReadAt(buf, off)
	switch {
	case n == len(buf):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return errChanged
	}
	return err
}
