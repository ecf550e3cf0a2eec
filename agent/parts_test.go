package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/waittest"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/session"
)

// parts is an agent in memory whose model answers by a script.
func parts(t *testing.T, change func(*Config), replies ...modeltest.Reply) (*Agent, *modeltest.Model) {
	t.Helper()
	guard, err := permission.New(permission.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	m := modeltest.New(replies...)
	cfg := Config{
		Model: m, Guard: guard, Interactive: true,
		Open:  func(_ context.Context, c clew.Config) (*clew.Session, error) { return clew.New(c) },
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	if change != nil {
		change(&cfg)
	}
	a, err := New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, m
}

// TestOperations: one is under way at a time, jobs wait for a gap in it, and cancelling ends both.
func TestOperations(t *testing.T) {
	t.Parallel()
	a, _ := parts(t, nil)
	ctx := context.Background()
	begun, jobs := make(chan struct{}), make(chan error, 1)
	first := make(chan error, 1)
	go func() {
		first <- a.ops.alone(ctx, "first", DoingShell, func(ctx context.Context) error {
			close(begun)
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	<-begun
	if err := a.ops.alone(ctx, "second", DoingShell, func(context.Context) error { return nil }); !errors.Is(err, ErrBusy) {
		t.Errorf("a second one beside it: %v", err)
	}
	go func() { jobs <- a.ops.do(ctx, "job", DoingMove, func(context.Context) error { return nil }) }()
	waittest.Until(t, "the job to wait", func() bool { a.ops.mu.Lock(); defer a.ops.mu.Unlock(); return len(a.ops.jobs) == 1 })
	if did, err := a.ops.cancel(ctx); !did || err != nil {
		t.Errorf("cancelled: %v, %v", did, err)
	}
	if err := <-first; !errors.Is(err, errCancelled) {
		t.Errorf("the first ended with %v", err)
	}
	if err := <-jobs; !errors.Is(err, errCancelled) {
		t.Errorf("the job ended with %v", err)
	}
	if err := a.ops.do(ctx, "job", DoingMove, func(context.Context) error { return errShut }); !errors.Is(err, errShut) || !a.State().Held {
		t.Errorf("a job with nothing under way: %v, held %v", err, a.State().Held)
	}
	a.ops.close(func() {})
	if err := a.ops.do(ctx, "job", DoingMove, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// TestMailbox: what was accepted is delivered in order and once; in a turn only what is not to wait for its end.
func TestMailbox(t *testing.T) {
	t.Parallel()
	a, _ := parts(t, nil)
	ctx := context.Background()
	for _, it := range []Queued{
		{ID: "00000000000000a1", Input: Input{Text: "one", When: WhenNext}},
		{ID: "00000000000000a2", Input: Input{Text: "two", When: WhenDone}},
		{ID: "00000000000000a3", Input: Input{Text: "three", When: WhenNext}},
	} {
		if err := a.mail.add(it); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := a.mail.deliver(ctx, true); n != 1 || err != nil {
		t.Errorf("in a turn: %d, %v", n, err)
	}
	if back, err := a.mail.take("00000000000000a2"); len(back) != 1 || err != nil {
		t.Errorf("taken back: %v, %v", back, err)
	}
	if n, err := a.mail.deliver(ctx, false); n != 1 || err != nil || a.State().Queue != 0 {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if leaf := a.s.Leaf(); leaf != "00000000000000a3" {
		t.Errorf("the leaf is %s", leaf)
	}
	a.mail.close()
	if err := a.mail.add(Queued{ID: "00000000000000a4"}); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// TestDesk: a question is answered once, or ends with its turn.
func TestDesk(t *testing.T) {
	t.Parallel()
	a, _ := parts(t, nil)
	c := &call{Block: message.ToolCallBlock("c1", "bash", []byte("{}")), effect: tool.Effect{Kind: tool.Run, Command: "make"}}
	asked := func(ctx context.Context) chan string {
		why := make(chan string, 1)
		go func() { why <- a.desk.ask(ctx, c, "no rule") }()
		waittest.Until(t, "a question", func() bool { return len(a.desk.questions()) == 1 && a.State().Asking == 1 })
		return why
	}
	why := asked(context.Background())
	q := a.desk.questions()[0]
	if err := a.desk.answer(q.ID, Reply{Allow: true, Remember: true}); err != nil {
		t.Fatal(err)
	}
	if got := <-why; got != "" || !a.desk.granted.Load() || len(a.desk.guard.State().Allow) == 0 {
		t.Errorf("%q, and it remembers %v", got, a.desk.guard.State().Allow)
	}
	if err := a.desk.answer(q.ID, Reply{}); !errors.Is(err, ErrNotAsked) {
		t.Errorf("a second answer: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	why = asked(ctx)
	cancel()
	if got := <-why; got == "" || len(a.desk.questions()) != 0 {
		t.Errorf("%q, and %d questions are open", got, len(a.desk.questions()))
	}
}

// TestRequester: what fails for a passing reason is sent again, what fails for another is not.
func TestRequester(t *testing.T) {
	t.Parallel()
	var waits []time.Duration
	a, m := parts(t, func(c *Config) {
		c.Retries, c.RetryBase = 2, time.Second
		c.Sleep = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
	}, modeltest.Fail(model.KindOverloaded), modeltest.RateLimited(7*time.Second), modeltest.Text("ok"))
	ctx := context.Background()
	if _, err := a.s.Append(ctx, message.User("hi", time.Unix(1, 0))); err != nil {
		t.Fatal(err)
	}
	resp, err := a.loop.ask.ask(ctx, &recovery{})
	if err != nil || resp.Text() != "ok" || len(m.Requests()) != 3 {
		t.Fatalf("%v after %d requests", err, len(m.Requests()))
	}
	if len(waits) != 2 || waits[0] < time.Second/2 || waits[0] > time.Second || waits[1] != 7*time.Second {
		t.Errorf("it waited %v", waits)
	}
	m.Add(modeltest.Fail(model.KindAuth), modeltest.Text("never"))
	if _, err := a.loop.ask.ask(ctx, &recovery{}); err == nil || len(m.Requests()) != 4 {
		t.Errorf("%v after %d requests", err, len(m.Requests()))
	}
}

// TestModels: a choice counts from the next request on, and the log says so.
func TestModels(t *testing.T) {
	t.Parallel()
	a, _ := parts(t, nil)
	other := modeltest.New()
	other.ModelInfo.Model = "other"
	a.models.choose(func(c *choice) { c.model, c.reasoning = other, model.ReasoningHigh })
	if !a.models.pending() || a.models.name() != "scripted/script" || a.State().Model != "scripted/other" {
		t.Errorf("%s answers, and the state says %s", a.models.name(), a.State().Model)
	}
	if err := a.models.change(context.Background()); err != nil {
		t.Fatal(err)
	}
	level, err := LevelAt(context.Background(), a.s.Log().Store(), a.s.Leaf())
	if a.models.pending() || a.models.name() != "scripted/other" || level != "high" || err != nil {
		t.Errorf("%s answers at level %q: %v", a.models.name(), level, err)
	}
}

// TestIdler: each thing is due once for each time that the agent falls idle.
func TestIdler(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000, 0)
	s := &status{events: &events{}}
	s.now.Store(&State{Doing: DoingNothing, Tokens: 90, Threshold: 100})
	i := &idler{passes: &compactor{prefetch: &prefetch{}}, journal: &journal{status: s, clock: func() time.Time { return now }}, after: time.Hour, share: 0.8, cacheTTL: 5 * time.Minute}
	if got := i.due(); got != "" {
		t.Errorf("nothing was done yet, and %s is due", got)
	}
	i.fell(DoingTurn)
	for _, c := range []struct {
		later time.Duration
		want  compact.Reason
	}{{4 * time.Minute, ""}, {time.Minute, compact.Idle}, {time.Minute, ""}, {time.Hour, compact.Manual}, {time.Hour, ""}} {
		now = now.Add(c.later)
		if got := i.due(); got != c.want {
			t.Errorf("%s later %q is due, want %q", c.later, got, c.want)
		}
	}
	i.fell(DoingMove)
	now = now.Add(2 * time.Hour)
	if got := i.due(); got != "" {
		t.Errorf("after a move %s is due", got)
	}
	if i.every() != 75*time.Second || (&idler{}).every() != 0 {
		t.Errorf("it looks every %s, and without anything to do every %s", i.every(), (&idler{}).every())
	}
}

// TestRememberedKeepsLittleOfALongPath: before a compaction of another program, what the user allowed and the level are
// looked for, and nothing else of the path is kept.
func TestRememberedKeepsLittleOfALongPath(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, drafts := range [][]session.Draft{nil, {session.NewCustom(customAgent, []byte(`{"mode":"plan"}`)), session.NewThinkingLevel("low")}} {
		store := session.NewMemory(session.Header{Version: session.Version, ID: "s"})
		log, err := session.NewLog(ctx, store, session.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			drafts = append(drafts, session.Message(message.User("on and on", time.UnixMilli(1))))
		}
		drafts = append(drafts, session.NewCompaction(session.Compaction{Summary: "what was said"}), session.Message(message.User("and now", time.UnixMilli(2))))
		if _, err := log.Append(ctx, drafts...); err != nil {
			t.Fatal(err)
		}
		path, foreign, err := remembered(ctx, store, log.Leaf())
		if want := len(drafts) - 50; err != nil || !foreign || len(path) != want {
			t.Errorf("%d entries of %d, want %d; foreign %v, %v", len(path), len(drafts), want, foreign, err)
		}
	}
}
