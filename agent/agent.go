package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
)

// Agent is a conversation with a model that uses tools. It may be used from several
// goroutines.
type Agent struct {
	cfg      Config
	s        *clew.Session
	events   *events
	status   *status
	journal  *journal
	ops      *operations
	mail     *mailbox
	desk     *desk
	runner   *runner
	models   *models
	prompts  *prompts
	prefetch *prefetch
	passes   *compactor
	loop     *loop
	idler    *idler

	// base ends when the agent is closed; what is done beside operations hangs on it.
	base context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup // goroutines that are not operations
}

// New opens a session and takes it into use. Calls that an earlier run has left without
// a result get one that says so; what it had accepted and not delivered waits, until
// something is sent or Continue is called.
func New(ctx context.Context, cfg Config) (*Agent, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	a := &Agent{cfg: cfg, events: &events{to: cfg.Events, clock: cfg.Clock}}
	a.base, a.stop = context.WithCancel(context.WithoutCancel(ctx))
	a.build()
	if err := a.open(ctx); err != nil {
		a.stop()
		if a.s != nil {
			err = errors.Join(err, a.s.Close())
		}
		return nil, err
	}
	return a, nil
}

// build makes the parts, and tells each of those that it needs.
func (a *Agent) build() {
	cfg := &a.cfg
	a.status = &status{events: a.events}
	a.status.now.Store(&State{Doing: DoingNothing, Reasoning: cfg.Reasoning, File: cmp.Or(cfg.File, cfg.Address)})
	a.journal = &journal{clock: cfg.Clock, events: a.events, status: a.status}
	a.mail = &mailbox{journal: a.journal, fs: vfs.OS{}}
	a.desk = &desk{guard: cfg.Guard, journal: a.journal, newID: cfg.NewID}
	a.runner = &runner{journal: a.journal, desk: a.desk, interactive: cfg.Interactive, wg: &a.wg, tools: cfg.Tools, record: cfg.record}
	if cfg.parent != nil {
		a.desk.parent = cfg.parent.desk
	}
	a.ops = &operations{status: a.status, base: a.base}
	a.models = &models{journal: a.journal, now: choice{cfg.Model, cfg.Reasoning}, chosen: choice{cfg.Model, cfg.Reasoning}, clamps: map[session.Model]int64{}}
	a.prompts = &prompts{journal: a.journal, runner: a.runner, desk: a.desk, models: a.models, system: cfg.System, place: cfg.Place, rules: cfg.Rules, trust: cfg.TrustGrants}
	a.prefetch = &prefetch{journal: a.journal, file: cfg.File, off: cfg.Engine.NoAuto, share: cfg.Background, base: a.base, wg: &a.wg}
	a.passes = &compactor{journal: a.journal, models: a.models, prompts: a.prompts, prefetch: a.prefetch, runner: a.runner}
	ask := &requester{journal: a.journal, models: a.models, passes: a.passes, retry: model.Retry{
		Attempts: max(cfg.Retries+1, 1), Base: cfg.RetryBase, Max: cfg.RetryMax, Sleep: cfg.Sleep,
	}}
	a.loop = &loop{journal: a.journal, ops: a.ops, mail: a.mail, runner: a.runner, prompts: a.prompts, passes: a.passes, ask: ask, most: cfg.MaxRequests}
	a.idler = &idler{journal: a.journal, ops: a.ops, passes: a.passes, after: cfg.Idle, share: cfg.Background, cacheTTL: cfg.Engine.Policy.CacheTTL}
	if cfg.Background < 0 { // prefetching is off; compacting when idle is not
		a.idler.share = DefaultBackground
	}
	a.ops.turn, a.ops.unsettled, a.ops.over = a.loop.turn, a.models.pending, a.over
	a.ops.idle = func(was Doing) {
		a.idler.fell(was)
		a.prefetch.start()
	}
}

// open opens the session and brings everything to where an earlier run was.
func (a *Agent) open(ctx context.Context) error {
	engine := a.cfg.Engine
	engine.SpillOver = a.cfg.ToolOutput
	engine.FailBusy, engine.SyncByHand = false, true
	engine.Provider, engine.Model = "", "" // the log says which model counts
	engine.Hooks = append(slices.Clip(engine.Hooks), clew.Hooks{Name: "agent", OnEvent: a.passes.tell()})
	engine.Lookup, engine.Windows = a.models.lookup(engine.Lookup), a.cfg.Windows
	a.models.know(a.cfg.Model.Info())
	if a.cfg.File == "" && engine.Blobs == nil {
		engine.Blobs = new(blob.Memory)
	}
	a.models.engine = engine
	var err error
	if a.s, err = a.cfg.Open(ctx, engine); err != nil {
		return err
	}
	a.journal.s = a.s
	a.runner.history = a.openHistory()
	if err := a.mail.open(ctx, cmp.Or(a.cfg.File, a.cfg.Beside)); err != nil {
		return err
	}
	if _, err := a.s.CloseOpenCalls(ctx); err != nil {
		return err
	}
	if err := a.prompts.restore(ctx); err != nil {
		return err
	}
	if err := a.models.use(ctx, a.models.now); err != nil {
		return err
	}
	a.status.change(func(s *State) {
		s.Session, s.Leaf, s.Queue = a.s.Log().Store().Header().ID, a.s.Leaf(), len(a.mail.list())
		s.Held = s.Queue > 0
	})
	if last := a.s.Leaf(); last != "" {
		a.wg.Go(func() { a.journal.readTotals(a.base, last) })
	}
	if a.idler.every() > 0 && !engine.NoAuto {
		a.wg.Go(func() { a.idler.watch(a.base, a.cfg.Sleep) })
	}
	return a.mail.sync(ctx)
}

// over brings everything up to date before an operation counts as ended.
func (a *Agent) over(ctx context.Context) {
	if err := a.models.change(ctx); err != nil { // chosen while this was under way
		a.journal.warn(err)
	}
	a.models.refresh(ctx)
	a.settle(ctx)
}

// settle makes durable what was written.
func (a *Agent) settle(ctx context.Context) {
	if err := a.mail.sync(ctx); err != nil {
		a.journal.warn(err)
	}
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
	if err := a.mail.add(it); err != nil {
		return Queued{}, err
	}
	a.ops.deliver()
	return it, nil
}

// Continue lets the agent go on without anything new being said: after an
// interruption, or with what an earlier run had accepted.
func (a *Agent) Continue(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return a.ops.resume("continue")
}

// Cancel ends what is under way, and returns when it has ended, or with the error of
// ctx. What is queued stays, and waits until something is sent. It reports whether there
// was anything to end.
func (a *Agent) Cancel(ctx context.Context) (bool, error) { return a.ops.cancel(ctx) }

// Wait returns when nothing is under way and nothing is left to deliver.
func (a *Agent) Wait(ctx context.Context) error { return a.ops.wait(ctx) }

// Close ends what is under way, and closes the session. What is queued is on the disk,
// and waits for the next run. A second Close does nothing.
func (a *Agent) Close() error {
	a.mail.close()
	if !a.ops.close(a.stop) {
		return nil
	}
	done := make(chan struct{})
	go func() {
		a.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(closeWait):
	}
	a.prefetch.drop(context.Background())
	a.settle(context.Background())
	err := a.s.Close()
	a.status.change(func(s *State) { s.Doing = DoingClosed })
	a.events.send(Event{Kind: KindClosed})
	return err
}

// closeWait is how long Close waits for tools that do not listen.
const closeWait = 3 * time.Second

// Queue returns messages waiting to be sent, in order.
func (a *Agent) Queue() []Queued { return a.mail.list() }

// TakeBack removes something from the queue and returns it, to be changed, say. Without
// ids it is everything. ErrNotQueued: it was delivered already.
func (a *Agent) TakeBack(ids ...string) ([]Queued, error) {
	out, err := a.mail.take(ids...)
	if err == nil && len(out) < len(ids) {
		err = &Error{Op: "take back", Subject: strings.Join(ids, ", "), Err: ErrNotQueued, Hint: "move to before it with the tree, to say it again"}
	}
	return out, err
}

// Questions returns what waits for an answer, oldest first.
func (a *Agent) Questions() []Question { return a.desk.questions() }

// Answer answers a question.
func (a *Agent) Answer(id string, r Reply) error { return a.desk.answer(id, r) }

// SetMode changes what is allowed without asking, from the next call on. It is
// remembered with the session.
func (a *Agent) SetMode(ctx context.Context, m permission.Mode) error {
	defer a.settle(ctx)
	return a.desk.setMode(ctx, m)
}

// SetTools changes which tools there are, from the next request on; Config.Guard decides
// about them too. The prompt changes with that, so what a provider has cached of the
// conversation is lost: best is before the first request, or after a pass. It waits
// for the request or the calls that are under way.
func (a *Agent) SetTools(ctx context.Context, tools []tool.Tool) error {
	const op = "change the tools"
	if a.cfg.Guard == nil && len(tools) > 0 {
		return &Error{Op: op, Err: errNoGuard, Hint: "make the agent with one, by permission.New"}
	}
	return a.ops.do(ctx, op, DoingMove, func(context.Context) error {
		a.runner.set(tools)
		return nil
	})
}

// OfferTools is SetTools where no request was made yet. Else it is that from the next pass on: the
// context begins anew then, so what a provider has cached of the conversation stays until there.
func (a *Agent) OfferTools(ctx context.Context, tools []tool.Tool) error {
	if !a.loop.ask.asked.Load() || a.cfg.Guard == nil {
		return a.SetTools(ctx, tools)
	}
	a.runner.offer(tools)
	return nil
}

// Guard decides what calls may do; nil where there are no tools.
func (a *Agent) Guard() *Guard { return a.cfg.Guard }

// TellRetry tells of a call of a model that was made for the agent and is made again: for
// a transport that tries again by itself, in model.Retry.Notify.
func (a *Agent) TellRetry(r Retry) { a.events.send(Event{Kind: KindRetry, Retry: &r}) }

// TellWarning tells the user of something that went wrong around the agent.
func (a *Agent) TellWarning(err error) { a.journal.warn(err) }
