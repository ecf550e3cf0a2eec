package blob

import (
	"bytes"
	"context"
	"io"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a Store that keeps content in memory, for tests and for sessions
// that are not stored. Its zero value is one without a quota.
type Memory struct {
	opt  MemoryOptions
	mu   sync.RWMutex
	used int64
	all  map[ID]memoryItem
}

type memoryItem struct {
	data   []byte // never changed
	stored time.Time
}

var _ Store = (*Memory)(nil)

// MemoryOptions changes what a Memory does.
type MemoryOptions struct {
	// Quota is how many bytes of content it may hold. Default: no limit. Put
	// fails with a *QuotaError when it would hold more.
	Quota int64
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// NewMemory returns an empty Memory.
func NewMemory(opt MemoryOptions) (*Memory, error) {
	if err := checkQuota(opt.Quota); err != nil {
		return nil, err
	}
	return &Memory{opt: opt}, nil
}

// Put implements Store.
func (m *Memory) Put(ctx context.Context, r io.Reader) (ID, error) {
	m.mu.RLock()
	used := m.used
	m.mu.RUnlock()
	fits := func(size int64) (bool, error) { return size <= most(m.opt.Quota)-used, nil }
	var buf bytes.Buffer
	in, err := take(ctx, &buf, r, fits, most(m.opt.Quota))
	if err != nil {
		return ID{}, fail("put", "", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.all[in.id]; ok && in.whole {
		old.stored = now(m.opt.Now)
		m.all[in.id] = old
		return in.id, nil
	}
	if in.written { // else it did not fit into what was free then
		used = m.used
	}
	if !in.written || in.size > most(m.opt.Quota)-used {
		return ID{}, fail("put", "", &QuotaError{Quota: m.opt.Quota, Used: used, Size: in.size, AtLeast: !in.whole})
	}
	if m.all == nil {
		m.all = map[ID]memoryItem{}
	}
	m.all[in.id] = memoryItem{bytes.Clone(buf.Bytes()), now(m.opt.Now)}
	m.used += in.size
	return in.id, nil
}

// Open implements Store.
func (m *Memory) Open(ctx context.Context, id ID) (io.ReadCloser, error) {
	item, err := m.get(ctx, "open", id)
	if err != nil {
		return nil, err
	}
	return newReader(ctx, id, &memoryReader{r: bytes.NewReader(item.data)}), nil
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
	m.used -= int64(len(m.all[id].data))
	delete(m.all, id)
	return nil
}

// List implements Store.
func (m *Memory) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		m.mu.RLock()
		ids := slices.SortedFunc(maps.Keys(m.all), func(a, b ID) int { return bytes.Compare(a[:], b[:]) })
		m.mu.RUnlock()
		for _, id := range ids {
			if err := ctx.Err(); err != nil {
				yield(Info{}, fail("list", "", err))
				return
			}
			m.mu.RLock()
			item, ok := m.all[id]
			m.mu.RUnlock()
			if ok && !yield(Info{id, int64(len(item.data)), item.stored}, nil) {
				return
			}
		}
	}
}

// A memoryReader can't be read after it was closed, like a file.
type memoryReader struct {
	r *bytes.Reader
}

func (m *memoryReader) Read(p []byte) (int, error) {
	if m.r == nil {
		return 0, errClosed
	}
	return m.r.Read(p)
}

func (m *memoryReader) Close() error {
	if m.r == nil {
		return errClosed
	}
	m.r = nil
	return nil
}
