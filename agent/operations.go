package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// operations are what is under way: one at a time, and jobs that wait for a gap in it.
type operations struct {
	status    *status
	base      context.Context // ends when the agent is closed
	turn      func(ctx context.Context)
	over      func(ctx context.Context) // before an operation counts as ended
	unsettled func() bool               // over must be called again
	idle      func(was Doing)           // when nothing is under way; the lock is held

	mu     sync.Mutex
	op     *operation
	jobs   []*job // what is to be done between two requests, or when there is no turn
	closed bool
}

// operation is what is under way.
type operation struct {
	doing  Doing
	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// job is something that can be done between two requests.
type job struct {
	op    string // for errors
	doing Doing
	run   func(ctx context.Context) error
	in    *operation // that does it; nil: it was given up before
	err   error
	done  chan struct{}
}

var (
	errCancelled = errors.New("it was cancelled")
	errShut      = errors.New("the agent is being closed")
)

// deliver lets what was sent go, and starts a turn where nothing is under way.
func (o *operations) deliver() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hold(false)
	if o.op == nil && !o.closed {
		o.start(DoingTurn, o.turn)
	}
}

// resume starts a turn with nothing new.
func (o *operations) resume(op string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.free(op); err != nil {
		return err
	}
	o.hold(false)
	o.start(DoingTurn, o.turn)
	return nil
}

// hold sets whether what was sent waits. The lock is held.
func (o *operations) hold(on bool) { o.status.change(func(s *State) { s.Held = on }) }

// free reports what is under way. The lock is held.
func (o *operations) free(op string) error {
	switch {
	case o.closed:
		return &Error{Op: op, Err: ErrClosed}
	case o.op != nil:
		return &Error{Op: op, Err: ErrBusy, Hint: "wait until it is done, or cancel it first; it is " + string(o.op.doing)}
	}
	return nil
}

// start begins an operation. The lock is held, and no operation is under way.
func (o *operations) start(doing Doing, fn func(ctx context.Context)) {
	op := &operation{doing: doing, done: make(chan struct{})}
	op.ctx, op.cancel = context.WithCancelCause(o.base)
	o.op = op
	o.status.change(func(s *State) { s.Doing = doing })
	go func() {
		defer o.finish(op)
		fn(op.ctx)
	}()
}

// finish ends an operation and begins what has waited for that.
func (o *operations) finish(op *operation) {
	op.cancel(errCancelled)
	ctx := context.WithoutCancel(op.ctx)
	o.over(ctx)
	o.mu.Lock()
	for o.unsettled() {
		o.mu.Unlock()
		o.over(ctx)
		o.mu.Lock()
	}
	o.op = nil
	o.status.change(func(s *State) { s.Doing = DoingNothing })
	switch now := o.status.get(); {
	case o.closed:
		o.giveUp(ErrClosed)
	case len(o.jobs) > 0:
		o.start(o.jobs[0].doing, o.runJobs)
	case now.Queue > 0 && !now.Held: // what is sent after this sees that nothing is under way
		o.start(DoingTurn, o.turn)
	default:
		o.idle(op.doing)
	}
	o.mu.Unlock()
	close(op.done)
}

// giveUp ends the jobs that wait. The lock is held.
func (o *operations) giveUp(why error) {
	for _, j := range o.jobs {
		j.end(&Error{Op: j.op, Err: why})
	}
	o.jobs = nil
}

// do runs something between two requests of a turn, or at once where there is none, and
// waits for it. When ctx ends it is given up if it has not begun.
func (o *operations) do(ctx context.Context, op string, doing Doing, run func(ctx context.Context) error) error {
	return o.run(ctx, op, doing, run, false)
}

// alone runs something that can't be done while anything else is under way.
func (o *operations) alone(ctx context.Context, op string, doing Doing, run func(ctx context.Context) error) error {
	return o.run(ctx, op, doing, run, true)
}

func (o *operations) run(ctx context.Context, op string, doing Doing, run func(ctx context.Context) error, alone bool) error {
	until := func(opCtx context.Context) error { // ctx ends it too
		opCtx, cancel := context.WithCancelCause(opCtx)
		defer cancel(nil)
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
		return run(opCtx)
	}
	j := &job{op: op, doing: doing, run: until, done: make(chan struct{})}
	o.mu.Lock()
	if err := o.free(op); err != nil && (alone || o.closed) {
		o.mu.Unlock()
		return err
	}
	if o.jobs = append(o.jobs, j); o.op == nil {
		o.start(doing, o.runJobs)
	}
	o.mu.Unlock()
	select {
	case <-j.done:
		return j.result()
	case <-ctx.Done():
	}
	o.mu.Lock()
	i := slices.Index(o.jobs, j)
	if i >= 0 {
		o.jobs = slices.Delete(o.jobs, i, i+1)
	}
	o.mu.Unlock()
	if i >= 0 {
		return &Error{Op: op, Err: context.Cause(ctx)}
	}
	<-j.done // it was begun, and ends soon
	return j.result()
}

// later runs something between two requests of what is under way, and does not wait for
// it. Where it waits to be done already, it is done once.
func (o *operations) later(op string, doing Doing, run func(ctx context.Context) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.op == nil {
		return &Error{Op: op, Err: errors.New("nothing is under way"), Hint: "go on"}
	}
	if !slices.ContainsFunc(o.jobs, func(j *job) bool { return j.op == op }) {
		o.jobs = append(o.jobs, &job{op: op, doing: doing, run: run, done: make(chan struct{})})
	}
	return nil
}

func (j *job) end(err error) {
	j.err = err
	close(j.done)
}

// result is how a job has ended. It waits for an operation that was begun for it, or the
// caller would find the agent still at work.
func (j *job) result() error {
	if j.in != nil && j.in.doing != DoingTurn {
		<-j.in.done
	}
	return j.err
}

// runJobs does what waits to be done.
func (o *operations) runJobs(ctx context.Context) {
	for {
		o.mu.Lock()
		if len(o.jobs) == 0 {
			o.mu.Unlock()
			return
		}
		j := o.jobs[0]
		o.jobs, j.in = o.jobs[1:], o.op
		o.mu.Unlock()
		if ctx.Err() != nil {
			j.end(&Error{Op: j.op, Err: context.Cause(ctx)})
			continue
		}
		j.end(o.status.as(j.doing, func() error { return j.run(ctx) }))
	}
}

// cancel ends what is under way, and lets what was sent wait: see Agent.Cancel.
func (o *operations) cancel(ctx context.Context) (bool, error) {
	o.mu.Lock()
	op := o.op
	if op != nil {
		o.hold(true)
		o.giveUp(errCancelled)
		op.cancel(errCancelled)
	}
	o.mu.Unlock()
	if op == nil {
		return false, nil
	}
	return true, op.wait(ctx)
}

func (op *operation) wait(ctx context.Context) error {
	select {
	case <-op.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wait returns when nothing is under way and nothing is left to deliver.
func (o *operations) wait(ctx context.Context) error {
	for {
		o.mu.Lock()
		op := o.op
		o.mu.Unlock()
		if op == nil {
			return nil
		}
		if err := op.wait(ctx); err != nil {
			return err
		}
	}
}

// close ends what is under way, and reports whether it was not closed before.
func (o *operations) close(stop func()) bool {
	o.mu.Lock()
	first, op := !o.closed, o.op
	o.closed = true
	if op != nil {
		op.cancel(errShut)
	}
	o.mu.Unlock()
	if !first {
		return false
	}
	stop()
	if op != nil {
		<-op.done
	}
	return true
}
