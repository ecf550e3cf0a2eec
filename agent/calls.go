package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew/agent/permission"
	"github.com/clew-dev/clew/agent/tool"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

const (
	// maxParallel is how many calls run at the same time.
	maxParallel = 8
	// grace is how long a tool may take to stop when the turn is cancelled. What it
	// returns later counts for nothing.
	grace = 700 * time.Millisecond
)

// call is a call on its way.
type call struct {
	message.Block
	tool   tool.Tool
	effect tool.Effect
	// refused is the result of a call that is not run.
	refused *tool.Result
}

// runCalls answers the calls of an answer. What looks at things, and tools of other
// programs, run at the same time; what changes files or runs commands runs one after the
// other, in the order of the calls, after what was called before it.
func (a *Agent) runCalls(ctx context.Context, blocks []message.Block) error {
	var batch []*call
	for _, b := range blocks {
		if ctx.Err() != nil {
			return context.Cause(ctx) // nobody is asked about what is not run
		}
		c := a.check(ctx, b)
		alone := c.refused == nil && (c.effect.Kind == tool.Write || c.effect.Kind == tool.Run)
		if alone {
			if err := a.runBatch(ctx, batch); err != nil {
				return err
			}
			batch = nil
		}
		batch = append(batch, c)
		if alone {
			if err := a.runBatch(ctx, batch); err != nil {
				return err
			}
			batch = nil
		}
	}
	return a.runBatch(ctx, batch)
}

// check finds the tool of a call, and asks whether it may be run.
func (a *Agent) check(ctx context.Context, b message.Block) *call {
	c := &call{Block: b}
	refuse := func(format string, args ...any) *call {
		r := tool.Text(fmt.Sprintf(format, args...))
		r.IsError = true
		c.refused = &r
		return c
	}
	for _, t := range a.cfg.Tools {
		if t.Spec().Name == b.Name {
			c.tool = t
		}
	}
	if c.tool == nil {
		return refuse("There is no tool %q. There are: %s.", b.Name, strings.Join(a.toolNames(), ", "))
	}
	var err error
	if c.effect, err = a.effect(c.tool, b.Arguments); err != nil {
		return refuse("%s", err)
	}
	switch d := a.cfg.Guard.Decide(b.Name, c.effect); d.Answer {
	case permission.Allow:
		return c
	case permission.Deny:
		return refuse("%s", d.Reason)
	default:
		if !a.cfg.Interactive {
			return refuse("This call needs the user's permission, and nobody is there to give it: %s. Take another way, or say what you would have done.", strings.TrimSuffix(d.Reason, "."))
		}
		if why := a.permitted(ctx, c, d); why != "" {
			return refuse("%s", why)
		}
		return c
	}
}

// effect is that of the tool; a panic there is an error.
func (a *Agent) effect(t tool.Tool, arguments json.RawMessage) (e tool.Effect, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the tool %s failed: %v", t.Spec().Name, p)
		}
	}()
	return t.Effect(arguments)
}

func (a *Agent) toolNames() []string {
	names := make([]string, len(a.cfg.Tools))
	for i, t := range a.cfg.Tools {
		names[i] = t.Spec().Name
	}
	return names
}

// runBatch runs calls at the same time and appends each result when it is there. An
// error is one of the log; the calls that had not begun are left without a result.
func (a *Agent) runBatch(ctx context.Context, batch []*call) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	room := make(chan struct{}, maxParallel)
	for _, c := range batch {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if ctx.Err() != nil {
				return // closeOpenCalls says that it was interrupted
			}
			if err := a.runCall(ctx, c); err != nil {
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if failed == nil {
		failed = context.Cause(ctx)
	}
	return failed
}

// runCall runs one call and appends its result.
func (a *Agent) runCall(ctx context.Context, c *call) error {
	shown := &ToolCall{ID: c.ID, Name: c.Name, Line: c.effect.Line, Arguments: c.Arguments}
	a.events.send(Event{Kind: KindToolStart, Tool: shown})
	r := c.refused
	if r == nil {
		out, ok := a.runTool(ctx, c)
		if !ok { // it was cancelled: closeOpenCalls says so
			ended := *shown
			ended.IsError = true
			a.events.send(Event{Kind: KindToolEnd, Tool: &ended})
			return nil
		}
		r = &out
	}
	m := message.ToolResult(c.ID, c.Name, "", r.IsError, a.cfg.Clock())
	m.Content = r.Content
	if len(m.Content) == 0 {
		m.Content = []message.Block{message.TextBlock("(no output)")}
	}
	m.Details = r.Details
	_, err := a.append(ctx, m)
	ended := *shown
	ended.IsError = r.IsError
	a.events.send(Event{Kind: KindToolEnd, Tool: &ended})
	return err
}

// runTool runs a tool. A panic is a result that failed. When the turn is cancelled and
// the tool does not return, ok is false.
func (a *Agent) runTool(ctx context.Context, c *call) (tool.Result, bool) {
	var mu sync.Mutex
	over := false // what the tool says afterwards counts for nothing
	output := func(piece string) {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			a.events.send(Event{Kind: KindToolOutput, Text: piece, Tool: &ToolCall{ID: c.ID, Name: c.Name}})
		}
	}
	done := make(chan tool.Result, 1)
	a.wg.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				r := tool.Text(fmt.Sprintf("The tool %s failed: %v", c.Name, p))
				r.IsError = true
				a.warn(fmt.Errorf("the tool %s failed: %v\n%s", c.Name, p, debug.Stack()))
				done <- r
			}
		}()
		r, err := c.tool.Run(ctx, tool.Call{ID: c.ID, Arguments: c.Arguments, Output: output, Record: a.recorder(c.ID)})
		if err != nil {
			r = tool.Text(err.Error())
			r.IsError = true
		}
		done <- r
	})
	defer func() {
		mu.Lock()
		over = true
		mu.Unlock()
	}()
	select {
	case r := <-done:
		return r, true
	case <-ctx.Done():
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case r := <-done:
		return r, true
	case <-t.C:
		return tool.Result{}, false
	}
}

// refuseAll answers calls that are not run.
func (a *Agent) refuseAll(ctx context.Context, calls []message.Block, why string) error {
	for _, c := range calls {
		if _, err := a.append(ctx, message.ToolResult(c.ID, c.Name, why, true, a.cfg.Clock())); err != nil {
			return err
		}
	}
	return nil
}

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
		Diff: c.effect.Diff,
	}}
	if q.Exact, q.Rules = a.cfg.Guard.Propose(c.Name, c.effect); q.Rules == nil {
		q.Exact, q.Rules = nil, q.Exact
	}
	a.mu.Lock()
	a.questions = append(a.questions, q)
	n := len(a.questions)
	a.mu.Unlock()
	a.change(func(s *State) { s.Asking = n })
	a.events.send(Event{Kind: KindAsk, Question: &q.Question})
	defer func() {
		a.mu.Lock()
		a.questions = slices.DeleteFunc(a.questions, func(o *question) bool { return o == q })
		n := len(a.questions)
		a.mu.Unlock()
		a.change(func(s *State) { s.Asking = n })
		a.events.send(Event{Kind: KindAsked, Question: &q.Question})
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
		for _, rule := range q.Remembered(r) {
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
		a.warn(fmt.Errorf("the permission counts until the program ends, because it could not be saved: %w", err))
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
