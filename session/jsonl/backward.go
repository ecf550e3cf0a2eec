package jsonl

import (
	"bytes"
	"errors"
	"io"
)

const (
	minChunk = 64 << 10
	maxChunk = 256 << 10
)

// backward reads the lines of a file from its end to its beginning.
type backward struct {
	r     io.ReaderAt
	pos   int64  // offset of buf in the file
	buf   []byte // what was read and not given out yet
	mem   []byte // buf is a part of it
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
// is valid until the next call.
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

// more puts the chunk before buf in front of it, at the end of mem.
func (b *backward) more() error {
	rest := len(b.buf)
	n := int(min(int64(max(b.chunk, rest)), b.pos)) // long lines: grow geometrically
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

// forward calls fn with each line of the region [from, to) and its offset; a
// last line without line break is given with ended false. Lines may be kept.
func forward(r io.ReaderAt, from, to int64, fn func(line []byte, off int64, ended bool) error) error {
	return forwardIn(r, from, to, false, fn)
}

// forwardOnce is forward for an fn that keeps nothing of a line.
func forwardOnce(r io.ReaderAt, from, to int64, fn func(line []byte, off int64, ended bool) error) error {
	return forwardIn(r, from, to, true, fn)
}

func forwardIn(r io.ReaderAt, from, to int64, again bool, fn func(line []byte, off int64, ended bool) error) error {
	mem := make([]byte, min(minChunk, to-from))
	rest := 0   // bytes at the beginning of mem that belong to an unfinished line
	off := from // of mem
	for pos := from; ; {
		if rest == len(mem) {
			mem = append(mem, make([]byte, max(len(mem), 1))...) // long lines: grow geometrically
		}
		n := int(min(int64(len(mem)-rest), to-pos))
		if err := readFull(r, mem[rest:rest+n], pos); err != nil {
			return err
		}
		pos += int64(n)
		buf, searched := mem[:rest+n], rest
		for {
			k := bytes.IndexByte(buf[searched:], '\n')
			if k < 0 {
				break
			}
			line := buf[: searched+k : searched+k]
			if err := fn(line, off, true); err != nil {
				return err
			}
			off += int64(len(line)) + 1
			buf = buf[searched+k+1:]
			searched = 0
		}
		if pos == to {
			if len(buf) > 0 {
				return fn(buf, off, false)
			}
			return nil
		}
		rest = len(buf)
		if again && len(mem) >= maxChunk && len(mem) <= 8*maxChunk {
			copy(mem, buf)
			continue
		}
		size := int64(max(min(maxChunk, 2*len(mem)), 2*rest))
		next := make([]byte, min(size, int64(rest)+to-pos))
		copy(next, buf)
		mem = next
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
