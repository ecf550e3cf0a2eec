package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/session"
)

// mailbox has what was sent until it is in the log. Its file has it until the log is on the disk, too: so nothing else
// has to wait for the disk in the middle of a turn.
type mailbox struct {
	journal *journal

	mu      sync.Mutex // may be held while something is written
	q       *queue
	closed  bool
	waiting atomic.Int64 // how many are to be delivered
}

// open takes up what an earlier run has left. What that had delivered, and had no time
// to take out of the queue, is known by its id.
func (m *mailbox) open(ctx context.Context, file string) (err error) {
	if m.q, err = openQueue(file); err != nil {
		return err
	}
	for _, it := range slices.Clone(m.q.items) {
		switch _, err := m.journal.s.Log().Store().Get(ctx, it.ID); {
		case err == nil:
			m.q.delivered(it.ID)
		case !errors.Is(err, clew.ErrNotFound):
			return err
		}
	}
	m.waiting.Store(int64(len(m.q.items)))
	return m.sync(ctx)
}

// add accepts something. When it returns, it is on the disk.
func (m *mailbox) add(it Queued) error {
	return m.change(func(q *queue) error {
		if m.closed {
			return &Error{Op: "send", Err: ErrClosed}
		}
		return q.add(it)
	})
}

// take removes messages by their ids and returns them; all without ids.
func (m *mailbox) take(ids ...string) (out []Queued, err error) {
	err = m.change(func(q *queue) (err error) {
		if m.closed {
			return &Error{Op: "take back", Err: ErrClosed} // the queue is that of the next run
		}
		out, err = q.take(ids...)
		return err
	})
	return out, err
}

// change lets fn add to the queue or take out of it, and tells of that.
func (m *mailbox) change(fn func(q *queue) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.q.items)
	err := fn(m.q)
	if items := slices.Clone(m.q.items); len(items) != before {
		m.waiting.Store(int64(len(items)))
		m.journal.status.change(func(s *State) { s.Queue = len(items) })
		m.journal.events.send(Event{Kind: KindQueue, Queue: items})
	}
	return err
}

// list returns what is to be delivered, in order.
func (m *mailbox) list() []Queued {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.q.items)
}

// deliver appends the messages whose turn has come, and returns how many there were.
func (m *mailbox) deliver(ctx context.Context, inTurn bool) (int, error) {
	n := 0
	for {
		did := false
		err := m.change(func(q *queue) error {
			now := q.deliverable(inTurn)
			if len(now) == 0 || ctx.Err() != nil {
				return nil
			}
			it, msg := now[0], now[0].message()
			// From here on it is not given up: it would be in the log and in the queue.
			if err := m.journal.s.AppendAs(context.WithoutCancel(ctx), it.ID, msg); err != nil && !errors.Is(err, session.ErrDuplicateID) {
				return err
			}
			did = true
			m.journal.tell(it.ID, msg)
			q.delivered(it.ID)
			return nil
		})
		if err != nil || !did {
			return n, err
		}
		n++
	}
}

// sync makes the log durable, and forgets what was delivered.
func (m *mailbox) sync(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.journal.s.Sync(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	if err := m.q.settle(); err != nil {
		m.journal.warnOnce(err)
	}
	return nil
}

// close accepts nothing any more; what is being accepted is on the disk when it returns.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
}
