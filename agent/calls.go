package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew/internal/agent/files"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

const (
	// maxParallel is how many calls run at the same time.
	maxParallel = 8
	// grace is how long a tool may take to stop when the turn is cancelled. What it
	// returns later counts for nothing.
	grace = 700 * time.Millisecond
)

// runner runs the calls of an answer.
type runner struct {
	journal     *journal
	desk        *desk
	interactive bool                                        // somebody answers the desk's questions
	wg          *sync.WaitGroup                             // of tools that run, also of those that were given up
	history     *files.History                              // of what they change; nil where there is no place for it
	record      func(context.Context, ...tool.Change) error // in place of the history; may be nil

	mu      sync.Mutex
	tools   []tool.Tool
	offered *[]tool.Tool // from the next pass on
}

// call is a call on its way.
type call struct {
	message.Block
	tool   tool.Tool
	effect tool.Effect
	// refused is the result of a call that is not run.
	refused *tool.Result
}

func (c *call) shown() ToolCall {
	return ToolCall{ID: c.ID, Name: c.Name, Line: c.effect.Line, Arguments: c.Arguments}
}

// refuse makes it a call that is not run, for what the model is told.
func (c *call) refuse(outcome tool.Outcome, format string, args ...any) *call {
	r := failed(format, args...).With(tool.Details{Outcome: outcome})
	c.refused = &r
	return c
}

// failed is the result of a call that failed.
func failed(format string, args ...any) tool.Result {
	r := tool.Text(fmt.Sprintf(format, args...))
	r.IsError = true
	return r
}

// set makes these the tools.
func (r *runner) set(tools []tool.Tool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tools, r.offered = tools, nil
}

// offer makes these the tools from the next pass on.
func (r *runner) offer(tools []tool.Tool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.offered = &tools
}

// takeOffered makes the tools that were offered those that there are.
func (r *runner) takeOffered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.offered != nil {
		r.tools, r.offered = *r.offered, nil
	}
}

// all are the tools, of which the list is the caller's.
func (r *runner) all() []tool.Tool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.tools)
}

// specs is what the model is told of the tools.
func (r *runner) specs() []model.Tool {
	tools := r.all()
	out := make([]model.Tool, len(tools))
	for i, t := range tools {
		out[i] = t.Spec()
		// As the log has it, so that it is the same when it is read again.
		if schema, err := json.Marshal(out[i].Parameters); err == nil {
			out[i].Parameters = schema
		}
	}
	return out
}

// run answers the calls of an answer. What looks at things, and tools of other
// programs, run at the same time; what changes files or runs commands runs one after the
// other, in the order of the calls, after what was called before it.
func (r *runner) run(ctx context.Context, blocks []message.Block) error {
	var batch []*call
	for _, b := range blocks {
		if ctx.Err() != nil {
			return context.Cause(ctx) // nobody is asked about what is not run
		}
		c := r.check(ctx, b)
		if c.refused != nil || c.effect.Kind != tool.Write && c.effect.Kind != tool.Run {
			batch = append(batch, c)
			continue
		}
		if err := r.batch(ctx, batch); err != nil {
			return err
		}
		if err := r.batch(ctx, []*call{c}); err != nil {
			return err
		}
		batch = nil
	}
	return r.batch(ctx, batch)
}

// check finds the tool of a call, and asks whether it may be run.
func (r *runner) check(ctx context.Context, b message.Block) *call {
	c := &call{Block: b}
	var names []string
	for _, t := range r.all() {
		names = append(names, t.Spec().Name)
		if c.tool == nil && t.Spec().Name == b.Name {
			c.tool = t
		}
	}
	if c.tool == nil {
		return c.refuse("", "There is no tool %q. There are: %s.", b.Name, strings.Join(names, ", "))
	}
	var err error
	if c.effect, err = effect(c.tool, b.Arguments); err != nil {
		return c.refuse("", "%s", err)
	}
	switch d := r.desk.guard.Decide(b.Name, c.effect); {
	case d.Answer == permission.Allow:
	case d.Answer == permission.Deny:
		return c.refuse(tool.Denied, "%s", d.Reason)
	case !r.interactive:
		q := r.desk.about(c, d.Reason)
		r.journal.events.send(Event{Kind: KindRefused, Question: &q})
		return c.refuse(tool.Denied, "This call needs the user's permission, and nobody is there to give it: %s. Take another way, or say what you would have done.", strings.TrimSuffix(d.Reason, "."))
	default:
		if why := r.desk.ask(ctx, c, d.Reason); why != "" && ctx.Err() != nil {
			return c.refuse(tool.Cancelled, "%s", why)
		} else if why != "" {
			return c.refuse(tool.Denied, "%s", why)
		}
	}
	return c
}

// effect is that of the tool; a panic there is an error.
func effect(t tool.Tool, arguments json.RawMessage) (e tool.Effect, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the tool %s failed: %v", t.Spec().Name, p)
		}
	}()
	return t.Effect(arguments)
}

// batch runs calls at the same time and appends each result when it is there. An
// error is one of the log; the calls that had not begun are left without a result.
func (r *runner) batch(ctx context.Context, batch []*call) error {
	var wg sync.WaitGroup
	errs := make([]error, len(batch))
	room := make(chan struct{}, maxParallel)
	for i, c := range batch {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if ctx.Err() == nil { // else journal.closeCalls says that it was interrupted
				errs[i] = r.one(ctx, c)
			}
		})
	}
	wg.Wait()
	return cmp.Or(errors.Join(errs...), context.Cause(ctx))
}

// one runs one call and appends its result.
func (r *runner) one(ctx context.Context, c *call) error {
	started, ended := c.shown(), c.shown()
	r.journal.events.send(Event{Kind: KindToolStart, Tool: &started})
	defer func() { r.journal.events.send(Event{Kind: KindToolEnd, Tool: &ended}) }()
	res := c.refused
	if res == nil {
		out, ok := r.tool(ctx, c)
		if !ok { // journal.closeCalls says so
			ended.IsError, ended.Outcome = true, tool.Cancelled
			return nil
		}
		if out.IsError && ctx.Err() != nil {
			out.Details = tool.WithOutcome(out.Details, tool.Cancelled)
		}
		res = &out
	}
	ended.IsError, ended.Outcome = res.IsError, tool.OutcomeOf(res.Details)
	return r.answer(ctx, c.Block, res)
}

// answer appends the result of a call.
func (r *runner) answer(ctx context.Context, c message.Block, res *tool.Result) error {
	m := message.ToolResult(c.ID, c.Name, "", res.IsError, r.journal.clock())
	m.Content, m.Details = res.Content, res.Details
	if len(m.Content) == 0 {
		m.Content = []message.Block{message.TextBlock("(no output)")}
	}
	_, err := r.journal.append(ctx, m)
	return err
}

// tool runs a tool. A panic is a result that failed. When the turn is cancelled and
// the tool does not return, ok is false.
func (r *runner) tool(ctx context.Context, c *call) (res tool.Result, ok bool) {
	var mu sync.Mutex
	over := false // what the tool says afterwards counts for nothing
	output := func(piece string) {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			r.journal.events.send(Event{Kind: KindToolOutput, Text: piece, Tool: &ToolCall{ID: c.ID, Name: c.Name}})
		}
	}
	defer func() {
		mu.Lock()
		over = true
		mu.Unlock()
	}()
	done := make(chan tool.Result, 1)
	r.wg.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				r.journal.warn(fmt.Errorf("the tool %s failed: %v\n%s", c.Name, p, debug.Stack()))
				done <- failed("The tool %s failed: %v", c.Name, p)
			}
		}()
		out, err := c.tool.Run(ctx, tool.Call{ID: c.ID, Arguments: c.Arguments, Output: output, Record: r.recorder(c.ID)})
		if err != nil {
			out = failed("%s", err)
		}
		done <- out
	})
	select {
	case res = <-done:
		return res, true
	case <-ctx.Done():
	}
	select {
	case res = <-done:
		return res, true
	case <-time.After(grace):
		return tool.Result{}, false
	}
}

// recorder keeps what a call changes.
func (r *runner) recorder(call string) func(context.Context, ...tool.Change) error {
	if r.record != nil || r.history == nil {
		return r.record
	}
	return func(ctx context.Context, changes ...tool.Change) error {
		return r.history.Record(context.WithoutCancel(ctx), call, changes...)
	}
}

// refuseAll answers calls that are not run.
func (r *runner) refuseAll(ctx context.Context, calls []message.Block, why string) error {
	for _, b := range calls {
		c := (&call{Block: b}).refuse("", "%s", why)
		if err := r.answer(ctx, b, c.refused); err != nil {
			return err
		}
	}
	return nil
}
