package agent

import (
	"maps"
	"sync"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// totals adds up what the session has cost. What was spent before the program was
// started is read beside everything else.
type totals struct {
	mu  sync.Mutex
	now Totals
}

// startTotals reads what the log says has been spent.
func (a *Agent) startTotals() {
	if a.s.Leaf() == "" {
		return
	}
	last := a.s.Leaf()
	a.wg.Go(func() {
		var sum Totals
		name := ""
		for e, err := range a.s.Log().Store().All(a.base) {
			if err != nil {
				if a.base.Err() == nil {
					a.warn(err)
				}
				return
			}
			if n, ok := e.SessionName(); ok {
				name = n
			}
			sum.entry(e)
			if e.ID == last {
				break // what comes later is counted as it comes
			}
		}
		a.totals.mu.Lock()
		a.totals.now.merge(sum)
		now := a.totals.now.clone()
		a.totals.mu.Unlock()
		a.change(func(s *State) {
			s.Totals = now
			if s.Name == "" {
				s.Name = name
			}
		})
	})
}

// entry adds what an entry has cost.
func (t *Totals) entry(e *session.Entry) {
	if _, ok := e.Pass(); ok {
		t.Passes++
	}
	if e.Type == session.TypeMessage {
		m, err := e.Message()
		if err != nil || m.Role != message.RoleAssistant || m.Usage == nil {
			return
		}
		t.add(m.Provider+"/"+m.Model, m.Usage)
		return
	}
	if u := e.UsageReport(); u != nil {
		t.add("", u)
	}
}

// add adds a call of a model; name "" for one that the log does not name.
func (t *Totals) add(name string, u *message.Usage) {
	t.merge(Totals{Requests: 1, Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Cost: u.Cost})
	if name == "" {
		return
	}
	if t.ByModel == nil {
		t.ByModel = map[string]ModelTotals{}
	}
	m := t.ByModel[name]
	m.add(ModelTotals{1, u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Cost})
	t.ByModel[name] = m
}

func (t *Totals) merge(o Totals) {
	t.Requests += o.Requests
	t.Input += o.Input
	t.Output += o.Output
	t.CacheRead += o.CacheRead
	t.CacheWrite += o.CacheWrite
	t.Cost += o.Cost
	t.Passes += o.Passes
	for name, m := range o.ByModel {
		if t.ByModel == nil {
			t.ByModel = map[string]ModelTotals{}
		}
		sum := t.ByModel[name]
		sum.add(m)
		t.ByModel[name] = sum
	}
}

func (m *ModelTotals) add(o ModelTotals) {
	m.Requests += o.Requests
	m.Input += o.Input
	m.Output += o.Output
	m.CacheRead += o.CacheRead
	m.CacheWrite += o.CacheWrite
	m.Cost += o.Cost
}

func (t *Totals) clone() Totals {
	c := *t
	c.ByModel = maps.Clone(t.ByModel)
	return c
}

// countUsage adds a call of a model; name "" for one of a summarizer.
func (a *Agent) countUsage(name string, u *message.Usage) {
	a.tally(func(t *Totals) { t.add(name, u) })
}

func (a *Agent) tally(fn func(*Totals)) {
	a.totals.mu.Lock()
	fn(&a.totals.now)
	now := a.totals.now.clone()
	a.totals.mu.Unlock()
	a.change(func(s *State) { s.Totals = now })
}
