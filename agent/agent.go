package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/model"
)

// Agent is a conversation with a model that uses tools. It may be used from several
// goroutines.
type Agent struct {
	cfg     Config
	s       *clew.Session
	events  *eventQueue
	status  *status
	journal *journal
	desk    *desk
	runner  *runner
	// base ends when the agent is closed; what is done beside operations hangs on it.
	base context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup // goroutines that are not operations

	mu        sync.Mutex
	op        *operation
	jobs      []*job // what is to be done between two requests, or when there is no turn
	closed    bool
	held      bool // the queue waits until something is sent
	want      *choice
	chosen    model.Model // that answers next
	idleSince time.Time   // when the last operation has ended

	queueMu sync.Mutex // may be held while something is written, and never with mu taken first
	queue   *queue

	// The rest belongs to the operation under way.
	engine    clew.Config
	infos     sync.Map // of models that were open: session.Model → model.Info
	model     model.Model
	reasoning model.Reasoning
	level     string // of reasoning, as the log has it
	prompt    prompt
	learnt    map[model.Route]limits

	prefetch prefetch
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

// New opens a session and takes it into use. Calls that an earlier run has left without
// a result get one that says so; what it had accepted and not delivered waits, until
// something is sent or Continue is called.
func New(ctx context.Context, cfg Config) (*Agent, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	a := &Agent{cfg: cfg, model: cfg.Model, reasoning: cfg.Reasoning, learnt: map[model.Route]limits{}}
	a.base, a.stop = context.WithCancel(context.WithoutCancel(ctx))
	a.events = newEventQueue(cfg.Events, cfg.Clock)
	a.status = &status{events: a.events}
	a.status.now.Store(&State{Doing: DoingNothing, Reasoning: cfg.Reasoning, File: cfg.File})
	a.journal = &journal{clock: cfg.Clock, events: a.events, status: a.status}
	a.desk = &desk{guard: cfg.Guard, journal: a.journal, newID: cfg.NewID}
	a.runner = &runner{journal: a.journal, desk: a.desk, interactive: cfg.Interactive, wg: &a.wg, tools: cfg.Tools}
	if err := a.open(ctx); err != nil {
		a.stop()
		a.events.close(nil)
		if a.s != nil {
			err = errors.Join(err, a.s.Close())
		}
		return nil, err
	}
	return a, nil
}

// open opens the session and brings everything to where an earlier run was.
func (a *Agent) open(ctx context.Context) error {
	engine := a.cfg.Engine
	engine.SpillOver = a.cfg.ToolOutput
	engine.FailBusy = false
	engine.Provider, engine.Model = "", "" // the log says which model counts
	engine.Hooks = append(slices.Clip(engine.Hooks), clew.Hooks{Name: "agent", OnEvent: a.engineEvents()})
	engine.Lookup, engine.Windows = a.lookup(engine.Lookup), a.cfg.Windows
	a.know(a.cfg.Model.Info())
	if a.cfg.File == "" && engine.Blobs == nil {
		engine.Blobs = new(blob.Memory)
	}
	a.engine = engine
	var err error
	if a.s, err = a.cfg.Open(ctx, engine); err != nil {
		return err
	}
	a.journal.s = a.s
	a.runner.history = a.openHistory()
	if err := a.openQueue(ctx); err != nil {
		return err
	}
	if _, err := a.s.CloseOpenCalls(ctx); err != nil {
		return err
	}
	if err := a.restore(ctx); err != nil {
		return err
	}
	a.chosen = a.model
	if err := a.useModel(ctx, choice{model: a.model, reasoning: a.reasoning}); err != nil {
		return err
	}
	a.status.change(func(s *State) {
		s.Session, s.Leaf = a.s.Log().Store().Header().ID, a.s.Leaf()
		s.Queue, s.Held = len(a.queue.items), a.held
	})
	a.refreshState(ctx)
	if last := a.s.Leaf(); last != "" {
		a.wg.Go(func() { a.journal.readTotals(a.base, last) })
	}
	a.watchIdle()
	return nil
}

// openQueue takes up what an earlier run has left. What it had delivered, and had no time
// to take out of the queue, is known by its id.
func (a *Agent) openQueue(ctx context.Context) (err error) {
	if a.queue, err = openQueue(a.cfg.File); err != nil {
		return err
	}
	for _, it := range a.queue.items {
		switch _, err := a.s.Log().Store().Get(ctx, it.ID); {
		case err == nil:
			if err := a.queue.delivered(it.ID); err != nil {
				a.journal.warn(err)
			}
		case !errors.Is(err, clew.ErrNotFound):
			return err
		}
	}
	a.held = len(a.queue.items) > 0
	return nil
}

// Session is what the agent works on: for looking at. Operations that change it are the
// agent's own.
func (a *Agent) Session() *clew.Session { return a.s }

// State says what the agent is doing and what it knows. It never waits.
func (a *Agent) State() State { return a.status.get() }

// Send accepts something the user says. When it returns, it is on the disk, and will
// stand in the conversation once, in the order in which it was sent. It does not wait
// for an answer.
func (a *Agent) Send(ctx context.Context, in Input) (Queued, error) {
	if err := in.check(); err != nil {
		return Queued{}, err
	}
	if err := ctx.Err(); err != nil {
		return Queued{}, err
	}
	setDefault(&in.When, WhenNext)
	it := Queued{ID: a.cfg.NewID(), At: a.cfg.Clock(), Input: in}
	err := a.withQueue(func(q *queue) error {
		if a.isClosed() {
			return &Error{Op: "send", Err: ErrClosed}
		}
		return q.add(it)
	})
	if err != nil {
		return Queued{}, err
	}
	a.deliverable()
	return it, nil
}

// Continue lets the agent go on without anything new being said: after an
// interruption, or with what an earlier run had accepted.
func (a *Agent) Continue(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.free("continue"); err != nil {
		return err
	}
	a.hold(false)
	a.start(DoingTurn, a.turn)
	return nil
}

// deliverable lets the queue go, and starts a turn where nothing is under way.
func (a *Agent) deliverable() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hold(false)
	if a.op == nil && !a.closed {
		a.start(DoingTurn, a.turn)
	}
}

// hold sets whether the queue waits. The lock is held.
func (a *Agent) hold(on bool) {
	a.held = on
	a.status.change(func(s *State) { s.Held = on })
}

// free reports what is under way. The lock is held.
func (a *Agent) free(op string) error {
	switch {
	case a.closed:
		return &Error{Op: op, Err: ErrClosed}
	case a.op != nil:
		return &Error{Op: op, Err: ErrBusy, Hint: "wait until it is done, or cancel it first; it is " + string(a.op.doing)}
	}
	return nil
}

func (a *Agent) isClosed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closed
}

// start begins an operation. The lock is held, and no operation is under way.
func (a *Agent) start(doing Doing, fn func(ctx context.Context)) *operation {
	op := &operation{doing: doing, done: make(chan struct{})}
	op.ctx, op.cancel = context.WithCancelCause(a.base)
	a.op = op
	a.status.change(func(s *State) { s.Doing = doing })
	go func() {
		defer a.finish(op)
		fn(op.ctx)
	}()
	return op
}

// finish ends an operation and begins what has waited for that.
func (a *Agent) finish(op *operation) {
	op.cancel(errCancelled)
	ctx := context.WithoutCancel(op.ctx)
	a.refreshState(ctx)
	// Both locks: what is sent meanwhile is either seen here, or sees that nothing is
	// under way.
	a.queueMu.Lock()
	defer a.queueMu.Unlock()
	a.mu.Lock()
	for a.want != nil { // chosen while this was under way
		a.mu.Unlock()
		if err := a.switchModel(ctx); err != nil {
			a.journal.warn(err)
		}
		a.mu.Lock()
	}
	a.op = nil
	a.status.change(func(s *State) { s.Doing = DoingNothing; s.Leaf = a.s.Leaf() })
	switch {
	case a.closed:
		for _, j := range a.jobs {
			j.end(&Error{Op: j.op, Err: ErrClosed})
		}
		a.jobs = nil
	case len(a.jobs) > 0:
		a.startJobs()
	case len(a.queue.items) > 0 && !a.held:
		a.start(DoingTurn, a.turn)
	default:
		if op.doing == DoingTurn {
			a.idleSince = a.cfg.Clock()
		}
		a.startPrefetch()
	}
	a.mu.Unlock()
	close(op.done)
}

// do runs something between two requests of a turn, or at once where there is none, and
// waits for it. When ctx ends it is given up if it has not begun.
func (a *Agent) do(ctx context.Context, op string, doing Doing, run func(ctx context.Context) error) error {
	j := &job{op: op, doing: doing, done: make(chan struct{})}
	j.run = func(opCtx context.Context) error {
		opCtx, cancel := context.WithCancelCause(opCtx)
		defer cancel(nil)
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
		return run(opCtx)
	}
	a.mu.Lock()
	switch {
	case a.closed:
		a.mu.Unlock()
		return &Error{Op: op, Err: ErrClosed}
	case a.op == nil:
		a.jobs = append(a.jobs, j)
		a.startJobs()
	default:
		a.jobs = append(a.jobs, j)
	}
	a.mu.Unlock()
	select {
	case <-j.done:
		return j.result()
	case <-ctx.Done():
	}
	a.mu.Lock()
	i := slices.Index(a.jobs, j)
	if i >= 0 {
		a.jobs = slices.Delete(a.jobs, i, i+1)
	}
	a.mu.Unlock()
	if i >= 0 {
		return &Error{Op: op, Err: context.Cause(ctx)}
	}
	<-j.done // it was begun, and ends soon
	return j.result()
}

// result is how a job has ended. It waits for an operation that was begun for it, or the
// caller would find the agent still at work.
func (j *job) result() error {
	if j.in != nil && j.in.doing != DoingTurn {
		<-j.in.done
	}
	return j.err
}

// startJobs begins the jobs that wait. The lock is held, and no operation is under way.
func (a *Agent) startJobs() { a.start(a.jobs[0].doing, a.runJobs) }

// runJobs does what waits to be done.
func (a *Agent) runJobs(ctx context.Context) {
	for {
		a.mu.Lock()
		if len(a.jobs) == 0 {
			a.mu.Unlock()
			return
		}
		j := a.jobs[0]
		a.jobs, j.in = a.jobs[1:], a.op
		a.mu.Unlock()
		if ctx.Err() != nil {
			j.end(&Error{Op: j.op, Err: context.Cause(ctx)})
			continue
		}
		j.end(a.as(j.doing, func() error { return j.run(ctx) }))
	}
}

func (j *job) end(err error) {
	j.err = err
	close(j.done)
}

// as does something that the state shows.
func (a *Agent) as(doing Doing, fn func() error) error {
	before := a.State().Doing
	a.status.change(func(s *State) { s.Doing = doing })
	defer a.status.change(func(s *State) { s.Doing = before })
	return fn()
}

// alone runs an operation of its own, which can't be done beside another one.
func (a *Agent) alone(ctx context.Context, op string, doing Doing, run func(ctx context.Context) error) error {
	a.mu.Lock()
	if err := a.free(op); err != nil {
		a.mu.Unlock()
		return err
	}
	var err error
	o := a.start(doing, func(opCtx context.Context) {
		opCtx, cancel := context.WithCancelCause(opCtx)
		defer cancel(nil)
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
		err = run(opCtx)
	})
	a.mu.Unlock()
	<-o.done
	return err
}

// Cancel ends what is under way, and returns when it has ended, or with the error of
// ctx. What is queued stays, and waits until something is sent. It reports whether there
// was anything to end.
func (a *Agent) Cancel(ctx context.Context) (bool, error) {
	a.mu.Lock()
	op := a.op
	if op != nil {
		a.hold(true)
		for _, j := range a.jobs {
			j.end(&Error{Op: j.op, Err: errCancelled})
		}
		a.jobs = nil
		op.cancel(errCancelled)
	}
	a.mu.Unlock()
	if op == nil {
		return false, nil
	}
	select {
	case <-op.done:
		return true, nil
	case <-ctx.Done():
		return true, context.Cause(ctx)
	}
}

// Wait returns when nothing is under way and nothing is left to deliver.
func (a *Agent) Wait(ctx context.Context) error {
	for {
		a.mu.Lock()
		op := a.op
		a.mu.Unlock()
		if op == nil {
			return nil
		}
		select {
		case <-op.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close ends what is under way, and closes the session. What is queued is on the disk,
// and waits for the next run. A second Close does nothing.
func (a *Agent) Close() error {
	a.queueMu.Lock() // what is being accepted is on the disk before another run reads it
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		a.queueMu.Unlock()
		return nil
	}
	a.closed = true
	op := a.op
	if op != nil {
		op.cancel(errShut)
	}
	a.mu.Unlock()
	a.queueMu.Unlock()
	a.stop()
	if op != nil {
		<-op.done
	}
	a.waitFor(closeWait)
	a.dropPrefetched(context.Background())
	err := a.s.Close()
	a.status.change(func(s *State) { s.Doing = DoingClosed })
	a.events.close(&Event{Kind: KindClosed})
	return err
}

// closeWait is how long Close waits for tools that do not listen.
const closeWait = 3 * time.Second

// waitFor waits for what runs beside operations, and not for ever.
func (a *Agent) waitFor(most time.Duration) {
	done := make(chan struct{})
	go func() {
		a.wg.Wait()
		close(done)
	}()
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// withQueue lets fn add to the queue or take out of it, and tells of that.
func (a *Agent) withQueue(fn func(q *queue) error) error {
	a.queueMu.Lock()
	defer a.queueMu.Unlock()
	before := len(a.queue.items)
	err := fn(a.queue)
	if items := slices.Clone(a.queue.items); len(items) != before {
		a.status.change(func(s *State) { s.Queue = len(items) })
		a.events.send(Event{Kind: KindQueue, Queue: items})
	}
	return err
}

// Queue returns messages waiting to be sent, in order.
func (a *Agent) Queue() []Queued {
	a.queueMu.Lock()
	defer a.queueMu.Unlock()
	return slices.Clone(a.queue.items)
}

// TakeBack removes something from the queue and returns it, to be changed, say. Without
// ids it is everything. ErrNotQueued: it was delivered already.
func (a *Agent) TakeBack(ids ...string) ([]Queued, error) {
	var out []Queued
	err := a.withQueue(func(q *queue) (err error) {
		if a.isClosed() {
			return &Error{Op: "take back", Err: ErrClosed} // the queue is that of the next run
		}
		out, err = q.take(ids...)
		return err
	})
	if err == nil && len(out) < len(ids) {
		err = &Error{Op: "take back", Subject: strings.Join(ids, ", "), Err: ErrNotQueued, Hint: "move to before it with the tree, to say it again"}
	}
	return out, err
}

func randomID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand.Read
	return hex.EncodeToString(b[:])
}
