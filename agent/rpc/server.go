package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/text"
)

// Version is that of the protocol. It grows when something is changed that a client may
// rely on; new methods, members and events may come without that.
const Version = 1

// maxRequests is how many requests may be under way.
const maxRequests = 256

// Server answers requests, and tells of events. It is used for one client.
type Server struct {
	host Host

	mu     sync.Mutex // of all that follows
	out    io.Writer
	begun  bool
	wait   []agent.Event // until the first line is written
	kinds  []agent.Kind  // that the client wants; nil for all
	seq    int64         // of the last event
	told   chan struct{} // closed at the next one
	failed error         // writing did
	fail   context.CancelCauseFunc

	under atomic.Int64 // requests under way
	wg    sync.WaitGroup
	lane  chan func() // what is done in the order in which it came
}

// NewServer returns a server that writes to out.
func NewServer(out io.Writer) *Server { return &Server{out: out, told: make(chan struct{})} }

// Event tells the client of an event. Those that come before Serve wait for it.
func (s *Server) Event(e agent.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.wait = append(s.wait, e)
		return
	}
	s.event(e)
}

// event writes an event. The lock is held.
func (s *Server) event(e agent.Event) {
	s.seq = e.Seq
	close(s.told)
	s.told = make(chan struct{})
	if s.kinds == nil || slices.Contains(s.kinds, e.Kind) {
		s.write(struct {
			Event agent.Event `json:"event"`
		}{e})
	}
}

// write writes a line. The lock is held.
func (s *Server) write(v any) {
	if s.failed != nil {
		return
	}
	data, err := json.Marshal(v)
	if err == nil {
		_, err = s.out.Write(append(data, '\n'))
	}
	if err != nil {
		s.failed = fmt.Errorf("nothing more can be written to the client: %w", err)
		s.fail(s.failed)
	}
}

// Serve answers the requests that in has, each in a goroutine of its own, but for
// messages, which are sent in the order in which they came. It returns when in ends, after
// "close", when ctx ends or when nothing more can be written; then requests under way
// are cancelled and answered. The host is the caller's to close; Event may go on to be
// called. A reader that blocks is left to itself.
func (s *Server) Serve(ctx context.Context, h Host, in io.Reader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.begin(h, cancel)
	s.wg.Go(func() {
		for do := range s.lane {
			do()
		}
	})
	err := s.read(ctx, in)
	close(s.lane)
	cancel(nil)
	s.wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	return err
}

// begin writes the first line.
func (s *Server) begin(h Host, fail context.CancelCauseFunc) {
	s.host, s.lane = h, make(chan func(), maxRequests)
	first := map[string]Hello{"hello": {Version, h.Dir(), h.Agent().State(), Methods()}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
	s.write(first)
	for _, e := range s.wait {
		s.event(e)
	}
	s.begun, s.wait = true, nil
}

type line struct {
	data []byte
	err  error
}

// read takes requests until there are no more.
func (s *Server) read(ctx context.Context, in io.Reader) error {
	lines := make(chan line)
	go func() {
		r := newLineReader(in)
		for {
			var l line
			l.data, l.err = r.next()
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
			if l.err != nil && !errors.Is(l.err, errLong) {
				return
			}
		}
	}()
	for {
		var l line
		select {
		case l = <-lines:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		switch {
		case errors.Is(l.err, io.EOF):
			return nil
		case errors.Is(l.err, errLong), errors.Is(l.err, errTorn):
			s.answer(nil, nil, &Error{CodeBadLine, l.err.Error(), "end each request with a line feed"})
			if errors.Is(l.err, errTorn) {
				return nil
			}
		case l.err != nil:
			return fmt.Errorf("the client's requests can't be read: %w", l.err)
		default:
			if s.take(ctx, l.data) {
				return nil
			}
		}
	}
}

// take begins to answer a request. It reports whether it was the last.
func (s *Server) take(ctx context.Context, data []byte) (last bool) {
	r, bad := parseRequest(data)
	if bad != nil {
		s.answer(r.ID, nil, bad)
		return false
	}
	m, ok := methods()[r.Method]
	switch {
	case r.Method == "close":
		_, err := decode[none](r.Params)
		s.answer(r.ID, none{}, err)
		return err == nil
	case !ok:
		hint := "there are " + fmt.Sprint(Methods())
		if near := text.Nearest(r.Method, Methods()); near != "" {
			hint = "did you mean " + near + "?"
		}
		s.answer(r.ID, nil, &Error{CodeUnknownMethod, fmt.Sprintf("there is no method %q", r.Method), hint})
		return false
	case s.under.Add(1) > maxRequests:
		s.under.Add(-1)
		s.answer(r.ID, nil, &Error{CodeTooMany, fmt.Sprintf("%d requests are under way", maxRequests), "wait for answers"})
		return false
	}
	do := func() {
		defer s.under.Add(-1)
		result, err := s.run(ctx, m, r.Params)
		if !m.inOrder {
			s.catchUp(ctx)
		}
		s.answer(r.ID, result, err)
	}
	if m.inOrder {
		s.lane <- do // it has room for all that may be under way
	} else {
		s.wg.Go(do)
	}
	return false
}

// catchUp waits until the client was told of all that has happened: an answer comes after
// the events of what it answers.
func (s *Server) catchUp(ctx context.Context) {
	want := s.host.Agent().Seq()
	late := time.NewTimer(time.Second) // the session may have been changed for another one
	defer late.Stop()
	for {
		s.mu.Lock()
		there, next := s.seq >= want, s.told
		s.mu.Unlock()
		if there {
			return
		}
		select {
		case <-next:
		case <-late.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// run runs a method. A panic is an answer that failed.
func (s *Server) run(ctx context.Context, m method, params json.RawMessage) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it failed in a way that should not be: %v", p)
		}
	}()
	return m.run(ctx, s, params)
}

// answer writes an answer.
func (s *Server) answer(id json.RawMessage, result any, err error) {
	a := answer{ID: id, Result: result}
	if id == nil {
		a.ID = json.RawMessage("null")
	}
	if err != nil {
		a.Result, a.Error = nil, errorOf(err)
	} else if a.Result == nil {
		a.Result = none{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(a)
}
