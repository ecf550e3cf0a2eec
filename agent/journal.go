package agent

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// status is the State, and tells of its changes.
type status struct {
	mu     sync.Mutex
	now    atomic.Pointer[State]
	events *events
}

func (s *status) get() State { return *s.now.Load() }

// change changes the state and tells of it.
func (s *status) change(fn func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.now.Load()
	next := *old
	fn(&next)
	if !reflect.DeepEqual(&next, old) {
		s.now.Store(&next)
		s.events.send(Event{Kind: KindState, State: &next})
	}
}

// as does something that the state shows.
func (s *status) as(doing Doing, fn func() error) error {
	before := s.get().Doing
	s.change(func(s *State) { s.Doing = doing })
	defer s.change(func(s *State) { s.Doing = before })
	return fn()
}

// journal writes into the session, and tells of what was written.
type journal struct {
	s      *clew.Session
	clock  func() time.Time
	events *events
	status *status

	warned sync.Map // what warnOnce has told
	// open says that a call may have no result, because that could not be written. It belongs to the operation under way.
	open bool
}

// warn tells the user of something that went wrong beside the point.
func (j *journal) warn(errs ...error) {
	for _, err := range errs {
		if !errors.Is(err, clew.ErrUnknownModel) { // State.WindowFrom says so
			j.events.send(Event{Kind: KindWarning, Text: err.Error()})
		}
	}
}

// warnOnce is warn for what would be told at each pass or prompt.
func (j *journal) warnOnce(errs ...error) {
	for _, err := range errs {
		if _, told := j.warned.LoadOrStore(err.Error(), true); !told {
			j.warn(err)
		}
	}
}

// append writes a message and tells of it. It is not cancelled half way: what was
// answered has been paid for.
func (j *journal) append(ctx context.Context, m *message.Message) (string, error) {
	ctx = context.WithoutCancel(ctx)
	ids, err := j.s.Append(ctx, m)
	if err != nil {
		return "", err
	}
	if m.Role == message.RoleAssistant {
		j.count(func(t *Totals) { t.answer(m) })
	}
	if m.Role == message.RoleToolResult || m.Role == message.RoleBashExecution {
		// The log may have less of it, and without what a hook has taken out.
		if e, err := j.s.Log().Store().Get(ctx, ids[0]); err == nil {
			if logged, err := e.Message(); err == nil {
				m = logged
			}
		}
	}
	j.tell(ids[0], m)
	return ids[0], nil
}

// note appends a message of the agent's own, which is not the user's word.
func (j *journal) note(ctx context.Context, text string) error {
	m := message.User(text, j.clock())
	m.Origin = message.OriginInjected
	_, err := j.append(ctx, m)
	return err
}

// tell tells of a message that was written.
func (j *journal) tell(id string, m *message.Message) {
	j.events.send(Event{Kind: KindEntry, Entry: &Entry{ID: id, Message: m}})
	j.standsAt()
}

// standsAt brings the leaf of the state up to date.
func (j *journal) standsAt() { j.status.change(func(s *State) { s.Leaf = j.s.Leaf() }) }

// record writes entries that the model does not see.
func (j *journal) record(ctx context.Context, d ...session.Draft) error {
	_, err := j.s.Record(context.WithoutCancel(ctx), d...)
	j.standsAt()
	return err
}

// appendOne writes an entry and tells of it where the model sees it.
func (j *journal) appendOne(ctx context.Context, d session.Draft) (string, error) {
	ctx = context.WithoutCancel(ctx)
	ids, err := j.s.Record(ctx, d)
	if err != nil {
		return "", err
	}
	j.standsAt()
	if e, err := j.s.Log().Store().Get(ctx, ids[0]); err == nil {
		if m, ok := e.CustomMessage(); ok {
			j.tell(ids[0], m)
		}
	}
	return ids[0], nil
}

// spent writes down what a call of a model has cost that has no message in the log; model is
// empty for one of a summarizer.
func (j *journal) spent(ctx context.Context, what string, m session.Model, u *message.Usage) {
	if u == nil {
		return
	}
	if err := j.record(ctx, session.NewUsage(what, m, *u)); err != nil {
		j.warn(err)
	}
	j.count(func(t *Totals) { t.add(nameOf(m), u) })
}

// closeCalls gives every call that has no result one that says so, and tells of them.
func (j *journal) closeCalls(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	n, err := j.s.CloseOpenCalls(ctx)
	if j.open = err != nil; j.open {
		return err
	}
	var results []Entry
	err = session.Walk(ctx, j.s.Log().Store(), j.s.Leaf(), func(e *session.Entry) bool {
		if m, err := e.Message(); err == nil && len(results) < n {
			results = append(results, Entry{ID: e.ID, Message: m})
		}
		return len(results) == n
	})
	for _, r := range slices.Backward(results) {
		j.tell(r.ID, r.Message)
	}
	return err
}

// closeLost is closeCalls where an earlier one has failed.
func (j *journal) closeLost(ctx context.Context) error {
	if !j.open {
		return nil
	}
	return j.closeCalls(ctx)
}
