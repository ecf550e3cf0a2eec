package blob

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"slices"
	"sync"
	"time"
)

// Memory is a Store in memory, for tests and for sessions that are not stored. The zero value is ready for use.
type Memory struct {
	mu  sync.RWMutex
	all map[ID]memoryItem
}

type memoryItem struct {
	data   []byte // never changed
	stored time.Time
}

var _ Store = (*Memory)(nil)

// Put implements Store.
func (m *Memory) Put(ctx context.Context, r io.Reader) (ID, error) {
	var buf bytes.Buffer
	id, err := Copy(ctx, &buf, r)
	if err != nil {
		return ID{}, fail("put", "", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[ID]memoryItem{}
	}
	item, ok := m.all[id]
	if !ok {
		item.data = bytes.Clone(buf.Bytes())
	}
	item.stored = time.Now()
	m.all[id] = item
	return id, nil
}

// Open implements Store.
func (m *Memory) Open(ctx context.Context, id ID) (io.ReadCloser, error) {
	item, err := m.get(ctx, "open", id)
	if err != nil {
		return nil, err
	}
	return NewReader(ctx, id, io.NopCloser(bytes.NewReader(item.data))), nil
}

// Stat implements Store.
func (m *Memory) Stat(ctx context.Context, id ID) (Info, error) {
	item, err := m.get(ctx, "stat", id)
	if err != nil {
		return Info{}, err
	}
	return Info{id, int64(len(item.data)), item.stored}, nil
}

func (m *Memory) get(ctx context.Context, op string, id ID) (memoryItem, error) {
	if err := ctx.Err(); err != nil {
		return memoryItem{}, fail(op, id.String(), err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	item, ok := m.all[id]
	if !ok {
		return item, fail(op, id.String(), ErrNotFound)
	}
	return item, nil
}

// Delete implements Store.
func (m *Memory) Delete(ctx context.Context, id ID) error {
	if err := ctx.Err(); err != nil {
		return fail("delete", id.String(), err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, id)
	return nil
}

// List implements Store.
func (m *Memory) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		var all []Info
		m.mu.RLock()
		for id, item := range m.all {
			all = append(all, Info{id, int64(len(item.data)), item.stored})
		}
		m.mu.RUnlock()
		slices.SortFunc(all, func(a, b Info) int { return bytes.Compare(a.ID[:], b.ID[:]) })
		for _, info := range all {
			if err := ctx.Err(); err != nil {
				yield(Info{}, fail("list", "", err))
				return
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

const (
	chunk         = 64 << 10 // bytes written at a time
	maxEmptyReads = 100      // in a row: the reader is taken to be stuck
)

// Copy copies r to w as Store.Put takes it, and returns the address of what it gave. It is for those who make a Store.
func Copy(ctx context.Context, w io.Writer, r io.Reader) (id ID, err error) {
	if r == nil {
		return ID{}, fmt.Errorf("%w: there is no reader", ErrSource)
	}
	h, out, buf := sha256.New(), bufio.NewWriterSize(w, chunk), make([]byte, chunk)
	for empty := 0; ; {
		if err := ctx.Err(); err != nil {
			return ID{}, err
		}
		n, err := r.Read(buf)
		if n < 0 || n > len(buf) {
			return ID{}, fmt.Errorf("%w: the reader says that it read %d bytes into %d", ErrSource, n, len(buf))
		}
		h.Write(buf[:n])
		if _, err := out.Write(buf[:n]); err != nil {
			return ID{}, err
		}
		if empty++; n > 0 {
			empty = 0
		}
		switch {
		case err == io.EOF: // and no error that wraps it, as io.Reader has it
			return ID(h.Sum(nil)), out.Flush()
		case err != nil:
			return ID{}, fmt.Errorf("%w: %w", ErrSource, err)
		case empty >= maxEmptyReads:
			return ID{}, fmt.Errorf("%w: %w", ErrSource, io.ErrNoProgress)
		}
	}
}

// A reader checks what it reads: it returns ErrCorrupt instead of io.EOF when the content is not that of its address.
type reader struct {
	ctx  context.Context
	id   ID
	src  io.ReadCloser
	hash hash.Hash
	err  error // of every further Read
}

// NewReader returns what Store.Open returns, of the content that src gives.
func NewReader(ctx context.Context, id ID, src io.ReadCloser) io.ReadCloser {
	return &reader{ctx: ctx, id: id, src: src, hash: sha256.New()}
}

func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if err := r.ctx.Err(); err != nil {
		return 0, fail("read", r.id.String(), err) // not kept: it says nothing about the content
	}
	n, err := r.src.Read(p)
	r.hash.Write(p[:n])
	switch {
	case err == nil:
	case !errors.Is(err, io.EOF):
		r.err = fail("read", r.id.String(), err)
	case ID(r.hash.Sum(nil)) != r.id:
		r.err = fail("read", r.id.String(), fmt.Errorf("%w: it has the hash of %s", ErrCorrupt, ID(r.hash.Sum(nil))))
	default:
		r.err = io.EOF
	}
	return n, r.err
}

func (r *reader) Close() error {
	r.err = fs.ErrClosed
	return r.src.Close()
}
