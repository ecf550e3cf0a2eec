package agent

import (
	"sync"
	"time"
)

// pump passes events on, in order, without letting the agent wait. While the receiver is
// behind, pieces of the same block are joined, so that what waits stays small.
type pump struct {
	to    func(Event)
	clock func() time.Time
	done  chan struct{}

	mu     sync.Mutex
	more   *sync.Cond
	seq    int64
	wait   []Event
	closed bool
}

func newPump(to func(Event), clock func() time.Time) *pump {
	p := &pump{to: to, clock: clock, done: make(chan struct{})}
	p.more = sync.NewCond(&p.mu)
	if to == nil {
		close(p.done)
		return p
	}
	go p.run()
	return p
}

// send takes an event. After close it counts for nothing.
func (p *pump) send(e Event) {
	if p.to == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && !p.joined(e) {
		p.add(e)
	}
}

// add puts an event behind those that wait. The lock is held.
func (p *pump) add(e Event) {
	p.seq++
	e.Seq, e.Time = p.seq, p.clock()
	p.wait = append(p.wait, e)
	p.more.Signal()
}

// maxJoined is how long the text of an event may be to which another is joined, in bytes:
// the text is copied each time.
const maxJoined = 16 << 10

// joined adds an event to the one before it, where that says the same with less. The
// lock is held.
func (p *pump) joined(e Event) bool {
	if len(p.wait) == 0 {
		return false
	}
	last := &p.wait[len(p.wait)-1]
	switch {
	case e.Kind != last.Kind:
		return false
	case e.Kind == KindState:
		last.State = e.State
		return true
	case len(last.Text) > maxJoined:
		return false
	case e.Kind == KindDelta && e.Part == last.Part && e.Block == last.Block,
		e.Kind == KindToolOutput && e.Tool.ID == last.Tool.ID:
		last.Text += e.Text
		return true
	}
	return false
}

// close passes on what waits and the last event, if it is not nil, and returns when that
// is done.
func (p *pump) close(last *Event) {
	p.mu.Lock()
	if last != nil {
		p.add(*last)
	}
	p.closed = true
	p.more.Signal()
	p.mu.Unlock()
	<-p.done
}

func (p *pump) run() {
	defer close(p.done)
	for {
		p.mu.Lock()
		for len(p.wait) == 0 && !p.closed {
			p.more.Wait()
		}
		batch := p.wait
		p.wait = nil
		p.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, e := range batch {
			p.to(e)
		}
	}
}
