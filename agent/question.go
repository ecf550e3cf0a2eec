package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/clew-dev/clew/agent/permission"
	"github.com/clew-dev/clew/agent/tool"
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
	// Rules would allow it, and what is like it, from now on.
	Rules []string `json:"rules,omitempty"`
}

// Reply answers a Question.
type Reply struct {
	// Allow lets the call run.
	Allow bool `json:"allow"`
	// Remember adds the question's Rules for the rest of the session.
	Remember bool `json:"remember,omitempty"`
	// Why tells the model why not, or what to do instead.
	Why string `json:"why,omitempty"`
}

// question waits for a reply.
type question struct {
	Question
	reply    chan Reply
	answered bool
}

// permitted asks the user about a call. It returns "" when it may be run, else what the
// model is told.
func (a *Agent) permitted(ctx context.Context, c *call, d permission.Decision) string {
	q := &question{reply: make(chan Reply, 1), Question: Question{
		ID: a.cfg.NewID(), Tool: ToolCall{ID: c.ID, Name: c.Name, Line: c.effect.Line, Arguments: c.Arguments},
		Kind: c.effect.Kind, Why: d.Reason, Paths: c.effect.Paths, Outside: c.effect.Outside, Command: c.effect.Command,
		Diff: c.effect.Diff, Rules: a.cfg.Guard.Propose(c.Name, c.effect),
	}}
	a.mu.Lock()
	a.questions = append(a.questions, q)
	n := len(a.questions)
	a.mu.Unlock()
	a.change(func(s *State) { s.Asking = n })
	a.pump.send(Event{Kind: KindAsk, Question: &q.Question})
	defer func() {
		a.mu.Lock()
		a.questions = slices.DeleteFunc(a.questions, func(o *question) bool { return o == q })
		n := len(a.questions)
		a.mu.Unlock()
		a.change(func(s *State) { s.Asking = n })
		a.pump.send(Event{Kind: KindAsked, Question: &q.Question})
	}()
	var r Reply
	select {
	case r = <-q.reply:
	case <-ctx.Done():
		return "The turn was cancelled before the user answered."
	}
	if !r.Allow {
		if r.Why != "" {
			return "The user did not allow this call, and says: " + r.Why
		}
		return "The user did not allow this call. Do not try it another way; ask what to do instead, or go on without it."
	}
	// The mode may have changed while the question stood there.
	if now := a.cfg.Guard.Decide(c.Name, c.effect); now.Answer == permission.Deny {
		return now.Reason
	}
	if r.Remember {
		for _, rule := range q.Rules {
			if err := a.cfg.Guard.Add(rule); err != nil {
				a.warn(err)
			}
		}
		a.keepGuard(ctx)
	}
	return ""
}

// Questions returns what waits for an answer, oldest first.
func (a *Agent) Questions() []Question {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]Question, len(a.questions))
	for i, q := range a.questions {
		out[i] = q.Question
	}
	return out
}

// Answer answers a question.
func (a *Agent) Answer(id string, r Reply) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.questions {
		if q.ID == id && !q.answered {
			q.answered = true
			q.reply <- r // it has room for one
			return nil
		}
	}
	return &Error{Op: "answer a question", Subject: id, Err: ErrNotAsked, Hint: "it was answered, or its turn has ended"}
}

// keepGuard writes down what the user has allowed.
func (a *Agent) keepGuard(ctx context.Context) {
	a.granted.Store(true)
	data, err := a.guardState()
	if err == nil {
		err = a.record(ctx, session.NewCustom(customAgent, data))
	}
	if err != nil {
		a.warn(fmt.Errorf("what was allowed counts until the program ends, because it could not be written down: %w", err))
	}
}

// SetMode changes what is allowed without asking, from the next call on. It is
// remembered with the session.
func (a *Agent) SetMode(ctx context.Context, m permission.Mode) error {
	if a.cfg.Guard == nil {
		return &Error{Op: "set the mode", Err: fmt.Errorf("the agent has no tools"), Hint: "nothing needs to be allowed"}
	}
	if err := a.cfg.Guard.SetMode(m); err != nil {
		return err
	}
	a.change(func(s *State) { s.Mode = m })
	a.keepGuard(ctx)
	return nil
}
