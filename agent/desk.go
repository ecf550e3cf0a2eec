package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/session"
)

// Question asks the user whether a call may be run.
type Question struct {
	ID   string   `json:"id"`
	Tool ToolCall `json:"tool"`
	// Kind says what kind of thing it does, Why why it is asked.
	Kind tool.Kind `json:"kind"`
	Why  string    `json:"why"`
	// Paths are what it would touch, Command is what it would run, Diff what it would
	// change.
	Paths   []string `json:"paths,omitempty"`
	Outside bool     `json:"outside,omitempty"`
	Command string   `json:"command,omitempty"`
	Diff    string   `json:"diff,omitempty"`
	// Rules would allow it, and what is like it, from now on; Exact it alone. Exact is
	// empty where nothing more may be allowed, or nothing less.
	Rules []string `json:"rules,omitempty"`
	Exact []string `json:"exact,omitempty"`
}

// Reply answers a Question.
type Reply struct {
	// Allow lets the call run.
	Allow bool `json:"allow"`
	// Remember adds the question's Rules for the rest of the session.
	Remember bool `json:"remember,omitempty"`
	// Exact remembers the question's Exact in place of its Rules, where it has any.
	Exact bool `json:"exact,omitempty"`
	// Why tells the model why not, or what to do instead.
	Why string `json:"why,omitempty"`
}

// Remembered are the rules that a reply adds.
func (q Question) Remembered(r Reply) []string {
	if r.Exact && len(q.Exact) > 0 {
		return q.Exact
	}
	return q.Rules
}

// desk asks the user what the guard does not decide, and keeps what was granted.
type desk struct {
	guard   *permission.Guard
	journal *journal
	newID   func() string
	granted atomic.Bool // the user has changed what is allowed
	parent  *desk       // that asks in its place; nil: it asks itself

	mu   sync.Mutex
	open []*question
}

// question waits for a reply.
type question struct {
	Question
	reply    chan Reply
	answered bool
}

// about is what the user is asked about a call.
func (d *desk) about(c *call, why string) Question {
	q := Question{
		ID: d.newID(), Tool: c.shown(), Kind: c.effect.Kind, Why: why, Paths: c.effect.Paths, Outside: c.effect.Outside,
		Command: c.effect.Command, Diff: c.effect.Diff,
	}
	if q.Exact, q.Rules = d.guard.Propose(c.Name, c.effect); q.Rules == nil {
		q.Exact, q.Rules = nil, q.Exact
	}
	return q
}

// ask asks the user about a call. It returns "" when it may be run, else what the model is told.
func (d *desk) ask(ctx context.Context, c *call, why string) string {
	if d.parent != nil {
		return d.parent.ask(ctx, c, why)
	}
	q := &question{reply: make(chan Reply, 1), Question: d.about(c, why)}
	d.change(func() { d.open = append(d.open, q) })
	d.journal.events.send(Event{Kind: KindAsk, Question: &q.Question})
	defer func() {
		d.change(func() { d.open = slices.DeleteFunc(d.open, func(o *question) bool { return o == q }) })
		d.journal.events.send(Event{Kind: KindAsked, Question: &q.Question})
	}()
	var r Reply
	select {
	case r = <-q.reply:
	case <-ctx.Done():
		return "The turn was cancelled before the user answered."
	}
	switch {
	case !r.Allow && r.Why != "":
		return "The user did not allow this call, and says: " + r.Why
	case !r.Allow:
		return "The user did not allow this call. Do not try it another way; ask what to do instead, or go on without it."
	}
	// The mode may have changed while the question stood there.
	if now := d.guard.Decide(c.Name, c.effect); now.Answer == permission.Deny {
		return now.Reason
	}
	if r.Remember {
		for _, rule := range q.Remembered(r) {
			if err := d.guard.Add(rule); err != nil {
				d.journal.warn(err)
			}
		}
		d.keep(ctx)
	}
	return ""
}

// change changes which questions are open, and tells how many there are.
func (d *desk) change(fn func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fn()
	n := len(d.open)
	d.journal.status.change(func(s *State) { s.Asking = n })
}

// questions returns what waits for an answer, oldest first.
func (d *desk) questions() []Question {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]Question, len(d.open))
	for i, q := range d.open {
		out[i] = q.Question
	}
	return out
}

func (d *desk) answer(id string, r Reply) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, q := range d.open {
		if q.ID == id && !q.answered {
			q.answered = true
			q.reply <- r // it has room for one
			return nil
		}
	}
	return &Error{Op: "answer a question", Subject: id, Err: ErrNotAsked, Hint: "it was answered, or its turn has ended"}
}

// grants is the entry that keeps what the user has allowed; none where that is nothing.
func (d *desk) grants() ([]session.Draft, error) {
	if !d.granted.Load() {
		return nil, nil
	}
	data, err := json.Marshal(d.guard.State())
	return []session.Draft{session.NewCustom(customAgent, data)}, err
}

// keep writes down what the user has allowed.
func (d *desk) keep(ctx context.Context) {
	d.granted.Store(true)
	entry, err := d.grants()
	if err == nil {
		err = d.journal.record(ctx, entry...)
	}
	if err != nil {
		d.journal.warn(fmt.Errorf("the permission counts until the program ends, because it could not be saved: %w", err))
	}
}

// restore takes back what an entry says was allowed. Of a file that is not the user's own only the mode plan counts.
func (d *desk) restore(e *session.Entry, data json.RawMessage, trust bool) {
	d.granted.Store(true)
	var state permission.State
	err := json.Unmarshal(data, &state)
	if !trust {
		if state.Mode != permission.ModePlan {
			return
		}
		state.Allow = nil
	}
	if err == nil {
		err = d.guard.Restore(state)
	}
	if err != nil {
		d.journal.warn(&Error{Op: "read what was allowed", Subject: "entry " + e.ID, Err: err, Hint: "allow it again"})
	}
}

func (d *desk) setMode(ctx context.Context, m permission.Mode) error {
	if d.guard == nil {
		return &Error{Op: "set the mode", Err: fmt.Errorf("the agent has no tools"), Hint: "nothing needs to be allowed"}
	}
	if err := d.guard.SetMode(m); err != nil {
		return err
	}
	d.journal.status.change(func(s *State) { s.Mode = m })
	d.keep(ctx)
	return nil
}
