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

func (m *Memory) locked(ctx context.Context, fn func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fn()
}

// Last implements Store.
func (m *Memory) Last(ctx context.Context) (e *Entry, err error) {
	err = m.locked(ctx, func() error {
		if n := len(m.entries); n > 0 {
			e = m.entries[n-1]
		}
		return nil
	})
	return e, err
}

// Get implements Store.
func (m *Memory) Get(ctx context.Context, id string) (e *Entry, err error) {
	err = m.locked(ctx, func() error {
		if e = m.byID[id]; e == nil {
			return &Error{Op: "get entry", Subject: id, Err: ErrNotFound}
		}
		return nil
	})
	return e, err
}

// Parent implements Store.
func (m *Memory) Parent(ctx context.Context, e *Entry) (parent *Entry, err error) {
	err = m.locked(ctx, func() error { parent = m.byID[e.ParentID]; return nil })
	return parent, err
}

// All implements Store.
func (m *Memory) All(ctx context.Context) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		var entries []*Entry
		err := m.locked(ctx, func() error { entries = slices.Clone(m.entries); return nil })
		for _, e := range entries {
			if err = ctx.Err(); err != nil {
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

// Append implements Store.
func (m *Memory) Append(ctx context.Context, batch []*Entry, opt AppendOptions) error {
	return m.locked(ctx, func() error {
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
	})
}

// Sync implements Store.
func (m *Memory) Sync(ctx context.Context) error { return m.locked(ctx, func() error { return nil }) }

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
