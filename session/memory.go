package session

import (
	"context"
	"iter"
	"slices"
	"sync"
)

// Memory is a Store without a file.
type Memory struct {
	mu      sync.Mutex
	header  Header
	entries []*Entry
	byID    map[string]*Entry
	closed  bool
}

// NewMemory returns an empty store, or one that holds entries already.
func NewMemory(h Header, entries ...*Entry) *Memory {
	m := &Memory{header: h, byID: map[string]*Entry{}}
	for _, e := range entries {
		m.entries = append(m.entries, e)
		m.byID[e.ID] = e
	}
	return m
}

// Header implements Store.
func (m *Memory) Header() Header { return m.header }

// Last implements Store.
func (m *Memory) Last(ctx context.Context) (*Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	if len(m.entries) == 0 {
		return nil, nil
	}
	return m.entries[len(m.entries)-1], nil
}

// Get implements Store.
func (m *Memory) Get(ctx context.Context, id string) (*Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	if e := m.byID[id]; e != nil {
		return e, nil
	}
	return nil, &Error{Op: "get entry", Subject: id, Err: ErrNotFound}
}

// Parent implements Store.
func (m *Memory) Parent(ctx context.Context, e *Entry) (*Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	return m.byID[e.ParentID], nil
}

// All implements Store.
func (m *Memory) All(ctx context.Context) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		m.mu.Lock()
		entries, err := slices.Clone(m.entries), m.usable(ctx)
		m.mu.Unlock()
		for _, e := range entries {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				break
			}
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// usable says why the store can't be used.
func (m *Memory) usable(ctx context.Context) error {
	if m.closed {
		return ErrClosed
	}
	return ctx.Err()
}

// Append implements Store.
func (m *Memory) Append(ctx context.Context, batch []*Entry, opt AppendOptions) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	if n := len(m.entries); opt.IfLast != "" && (n == 0 || m.entries[n-1].ID != opt.IfLast) {
		return ErrConflict
	}
	seen := make(map[string]bool, len(batch))
	for _, e := range batch {
		if err := CheckAppend(e); err != nil {
			return err
		}
		if seen[e.ID] || m.byID[e.ID] != nil {
			return &Error{Op: "append entry", Subject: e.ID, Err: ErrDuplicateID}
		}
		seen[e.ID] = true
	}
	for _, e := range batch {
		m.entries = append(m.entries, e)
		m.byID[e.ID] = e
	}
	return nil
}

// Sync implements Store.
func (m *Memory) Sync(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usable(ctx)
}

// Refresh implements Store.
func (m *Memory) Refresh(ctx context.Context) (int, error) { return 0, m.Sync(ctx) }

// Problems implements Store.
func (m *Memory) Problems() []Problem { return nil }

// Close implements Store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

var _ Store = (*Memory)(nil)
