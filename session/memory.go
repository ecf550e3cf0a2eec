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
func (m *Memory) Last(context.Context) (*Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.entries) == 0 {
		return nil, nil
	}
	return m.entries[len(m.entries)-1], nil
}

// Get implements Store.
func (m *Memory) Get(_ context.Context, id string) (*Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.byID[id]; e != nil {
		return e, nil
	}
	return nil, &Error{Op: "get entry", Subject: id, Err: ErrNotFound}
}

// Parent implements Store.
func (m *Memory) Parent(_ context.Context, e *Entry) (*Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byID[e.ParentID], nil
}

// All implements Store.
func (m *Memory) All(context.Context) iter.Seq2[*Entry, error] {
	m.mu.Lock()
	entries := slices.Clone(m.entries)
	m.mu.Unlock()
	return func(yield func(*Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Append implements Store.
func (m *Memory) Append(ctx context.Context, batch []*Entry, opt AppendOptions) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.closed {
		return ErrClosed
	}
	if n := len(m.entries); opt.IfLast != "" && (n == 0 || m.entries[n-1].ID != opt.IfLast) {
		return ErrConflict
	}
	for i, e := range batch {
		if m.byID[e.ID] != nil || slices.ContainsFunc(batch[:i], func(o *Entry) bool { return o.ID == e.ID }) {
			return &Error{Op: "append entry", Subject: e.ID, Err: ErrDuplicateID}
		}
	}
	for _, e := range batch {
		m.entries = append(m.entries, e)
		m.byID[e.ID] = e
	}
	return nil
}

// Sync implements Store.
func (m *Memory) Sync(context.Context) error { return nil }

// Refresh implements Store.
func (m *Memory) Refresh(context.Context) (int, error) { return 0, nil }

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
