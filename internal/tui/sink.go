package tui

import (
	"sync"

	"github.com/clew-dev/clew/agent"
)

// Sink takes the events of an agent and keeps them until the terminal has time for them.
// It may be used from several goroutines.
type Sink struct {
	mu    sync.Mutex
	wait  []agent.Event
	ready chan struct{} // has a value while something waits
}

// NewSink returns an empty sink.
func NewSink() *Sink { return &Sink{ready: make(chan struct{}, 1)} }

// Send takes an event. It never waits.
func (s *Sink) Send(e agent.Event) {
	s.mu.Lock()
	if !s.joined(e) {
		s.wait = append(s.wait, e)
	}
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// joined adds an event to the one before it, where that says the same with less. The
// lock is held.
func (s *Sink) joined(e agent.Event) bool {
	if len(s.wait) == 0 {
		return false
	}
	last := &s.wait[len(s.wait)-1]
	switch {
	case e.Kind != last.Kind:
		return false
	case e.Kind == agent.KindState:
		*last = e
		return true
	case e.Kind == agent.KindDelta && e.Part == last.Part && e.Block == last.Block,
		e.Kind == agent.KindToolOutput && e.Tool.ID == last.Tool.ID:
		last.Text += e.Text
		return true
	}
	return false
}

// take returns what waits, in order.
func (s *Sink) take() []agent.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.wait
	s.wait = nil
	select {
	case <-s.ready:
	default:
	}
	return out
}
