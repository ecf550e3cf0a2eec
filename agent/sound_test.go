package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/waittest"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// brittle is a store that refuses what a test wants.
type brittle struct {
	session.Store
	refuse atomic.Pointer[func([]*session.Entry) bool]
}

func (b *brittle) Append(ctx context.Context, batch []*session.Entry, opt session.AppendOptions) error {
	if f := b.refuse.Load(); f != nil && (*f)(batch) {
		return errors.New("no space left on device")
	}
	return b.Store.Append(ctx, batch, opt)
}

func (b *brittle) when(f func([]*session.Entry) bool) { b.refuse.Store(&f) }

// onBrittle has an agent on such a store, in memory.
func onBrittle(b *brittle) func(*rig) {
	return func(r *rig) {
		b.Store = session.NewMemory(session.Header{Version: session.Version, ID: "s"})
		r.cfg.File = ""
		r.cfg.Open = func(ctx context.Context, c clew.Config) (*clew.Session, error) { return clew.OpenStore(ctx, b, c) }
	}
}

// TestAnswerThatCannotBeWritten: the turn fails with a word on that, what was streamed is
// taken back, and it is not asked for again by itself.
func TestAnswerThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	b := &brittle{}
	r := newRig(t, onBrittle(b))
	b.when(func(batch []*session.Entry) bool {
		m, err := batch[0].Message()
		return err == nil && m.Role == message.RoleAssistant
	})
	r.srv.Add(modeltest.Text("Paid for."), modeltest.Text("Again."))
	r.say("first")
	if e := r.ended(); e.Outcome != agent.OutcomeFailed || !strings.Contains(e.Error, "the answer could not be written down: ") || len(r.all(agent.KindDiscard)) != 1 {
		t.Errorf("ended %s %s", e.Outcome, e.Error)
	}
	if n := r.tried(); n != 1 || r.State().Doing != agent.DoingNothing {
		t.Errorf("%d requests; %+v", n, r.State())
	}
	b.when(func([]*session.Entry) bool { return false })
	if err := r.Continue(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.wait()
	r.wantTexts("user: first", "assistant: Again.")
	r.fine()
}

// TestD06ResultThatCannotBeWritten: neither the result nor that there is none can be written
// down. As soon as that goes again the call has a result, before anything else is said.
func TestD06ResultThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	b := &brittle{}
	full := &fake{name: "fill", kind: tool.Other, do: func(context.Context, tool.Call) (tool.Result, error) {
		b.when(func([]*session.Entry) bool { return true })
		return tool.Text("filled"), nil
	}}
	r := newRig(t, func(r *rig) { onBrittle(b)(r); r.cfg.Tools = []tool.Tool{full} })
	r.srv.Add(call("a", "fill"), modeltest.Text("ok"))
	r.say("first")
	if e := r.ended(); e.Outcome != agent.OutcomeFailed || r.tried() != 1 {
		t.Errorf("ended %s %s after %d requests", e.Outcome, e.Error, r.tried())
	}
	b.when(func([]*session.Entry) bool { return false })
	r.say("go on")
	if e := r.ended(); e.Outcome != agent.OutcomeDone {
		t.Errorf("ended %s %s", e.Outcome, e.Error)
	}
	if got := r.texts(); len(got) != 5 || !strings.Contains(got[2], "interrupted") || got[3] != "user: go on" {
		t.Errorf("the context is\n%s", strings.Join(got, "\n"))
	}
	r.fine()
}

// TestD72MessageThatCannotBeWritten: it waits, and stands in the log once when it can be.
func TestD72MessageThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	b := &brittle{}
	r := newRig(t, onBrittle(b))
	b.when(func([]*session.Entry) bool { return true })
	r.say("first")
	if s := r.State(); s.Queue != 1 || !s.Held || r.ended().Outcome != agent.OutcomeFailed || r.tried() != 0 {
		t.Errorf("%+v after %d requests", s, r.tried())
	}
	b.when(func([]*session.Entry) bool { return false })
	r.srv.Add(modeltest.Text("ok"))
	if err := r.Continue(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.wait()
	r.wantTexts("user: first", "assistant: ok")
}

// TestD72QueueOfAnotherRun: an agent that was closed leaves it alone.
func TestD72QueueOfAnotherRun(t *testing.T) {
	t.Parallel()
	wait, _ := gate()
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{wait} })
	r.srv.Add(call("a", "wait"))
	r.send("begin")
	r.until("call", running("wait"))
	r.send("one more")
	old := r.Agent
	r.reopen()
	before, err := os.ReadFile(clew.QueueFile(r.path))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := old.TakeBack(); !errors.Is(err, agent.ErrClosed) {
		t.Errorf("taken back by an agent that was closed: %v, %v", got, err)
	}
	if after, err := os.ReadFile(clew.QueueFile(r.path)); err != nil || string(after) != string(before) {
		t.Errorf("the queue has become %q, %v", after, err)
	}
}

// TestD72DeliveredBeforeACrash: what the log has already does not wait any more.
func TestD72DeliveredBeforeACrash(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.srv.Add(modeltest.Text("Yes."))
	q := r.send("once")
	r.wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal([]agent.Queued{q})
	if err == nil {
		err = os.WriteFile(clew.QueueFile(r.path), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.open()
	if s := r.State(); s.Queue != 0 || s.Held {
		t.Errorf("%+v", s)
	}
}

// TestModelChosenWhileBusy: it counts, and is written down, although no request came.
func TestModelChosenWhileBusy(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	wait, _ := gate()
	r := newRig(t, func(r *rig) { switching(r); r.cfg.Tools = []tool.Tool{wait} })
	r.srv.Add(call("a", "wait"))
	r.send("go")
	r.until("call", running("wait"))
	if err := errors.Join(r.SetModel(ctx, "anthropic/mid"), r.SetReasoning(ctx, model.ReasoningHigh)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Cancel(ctx); err != nil {
		t.Fatal(err)
	}
	if s := r.State(); s.Window != 200_000 || s.Model != "anthropic/mid" {
		t.Errorf("the state says %s with a window of %d", s.Model, s.Window)
	}
	store, leaf := r.Session().Log().Store(), r.Session().Leaf()
	if m, err := session.ModelAt(ctx, store, leaf); err != nil || m.ID != "mid" {
		t.Errorf("the log says %+v, %v", m, err)
	}
	if level, err := agent.LevelAt(ctx, store, leaf); err != nil || level != "high" {
		t.Errorf("the log says %q, %v", level, err)
	}
	if err := r.SetReasoning(ctx, model.ReasoningDefault); err != nil {
		t.Fatal(err)
	}
	level, err := agent.LevelAt(ctx, store, r.Session().Leaf())
	if got, perr := model.ParseReasoning(level); err != nil || perr != nil || got != model.ReasoningDefault {
		t.Errorf("the log says %q, %v, %v", level, err, perr)
	}
}

// TestSwitchInARetry: the model that does not answer is not asked again.
func TestSwitchInARetry(t *testing.T) {
	t.Parallel()
	var r *rig
	r = newRig(t, func(n *rig) {
		switching(n)
		n.cfg.Sleep = func(ctx context.Context, _ time.Duration) error { return r.SetModel(ctx, "anthropic/mid") }
	})
	r.srv.Add(modeltest.Fail(model.KindOverloaded), modeltest.Text("I am mid."))
	r.say("go")
	xs := r.srv.Exchanges()
	if len(xs) != 2 || !strings.Contains(string(xs[1].Request), `"mid"`) {
		t.Errorf("%d requests; the last was %.100s", len(xs), xs[len(xs)-1].Request)
	}
}

// TestD96LimitsAreOfTheirModel: what a server has said about one model says nothing about
// another.
func TestD96LimitsAreOfTheirModel(t *testing.T) {
	t.Parallel()
	r := filled(t, 10, switching)
	whole := r.State().Threshold
	r.srv.Add(modeltest.Status(429, `{"type":"error","error":{"type":"rate_limit_error","message":"Request too large on tokens per min (TPM): Limit 6000, Requested 20000."}}`), modeltest.Text("ok"))
	r.say("go on")
	if s := r.State(); r.passes() != 1 || s.Threshold >= 6_000 {
		t.Fatalf("%d passes; %+v", r.passes(), s)
	}
	for name, want := range map[string]bool{"mid": true, "big": false} {
		if err := r.SetModel(context.Background(), "anthropic/"+name); err != nil {
			t.Fatal(err)
		}
		if s := r.State(); (s.Threshold > 100_000) != want {
			t.Errorf("%s: a pass is due at %d tokens; at first it was %d for big", name, s.Threshold, whole)
		}
	}
}

// TestMoveToWhereAnotherModelAnswered: the window is that of the model which answers now.
func TestMoveToWhereAnotherModelAnswered(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, switching)
	r.srv.Add(modeltest.Text("I am big."), modeltest.Text("I am little."))
	r.say("first")
	r.srv.NewConversation()
	if err := r.SetModel(ctx, "anthropic/little"); err != nil {
		t.Fatal(err)
	}
	r.say("second")
	if _, err := r.Navigate(ctx, r.entryOf("I am big."), clew.BranchOptions{}); err != nil {
		t.Fatal(err)
	}
	if s := r.State(); s.Window != 32_000 || s.Model != "anthropic/little" {
		t.Errorf("%s has a window of %d", s.Model, s.Window)
	}
}

// TestPi84CallThatDoesNotListen: it ends for the user too, and its result is told.
func TestPi84CallThatDoesNotListen(t *testing.T) {
	t.Parallel()
	stubborn, release := newStubborn()
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{stubborn} })
	r.srv.Add(call("a", "stubborn"))
	r.send("go")
	r.until("call", running("stubborn"))
	if _, err := r.Cancel(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.wait()
	release()
	r.grammar()
	told := 0
	for _, e := range r.all(agent.KindEntry) {
		if e.Entry.Message.Role == message.RoleToolResult && e.Entry.ID != "" {
			told++
		}
	}
	if told != 1 {
		t.Errorf("%d results were told, want 1", told)
	}
}

// TestD75NobodyIsAskedAfterCancel: about the calls that come behind the one in question.
func TestD75NobodyIsAskedAfterCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t, asking(&fake{name: "send", kind: tool.Other}))
	r.srv.Add(modeltest.Answer(modeltest.Call("a", "send", "{}"), modeltest.Call("b", "send", "{}")))
	r.send("go")
	r.question()
	if _, err := r.Cancel(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.wait()
	if n := len(r.all(agent.KindAsk)); n != 1 {
		t.Errorf("%d questions, want 1", n)
	}
}

// TestD64EventsHaveWhatTheLogHas: not more of a large result, nor what a hook took out.
func TestD64EventsHaveWhatTheLogHas(t *testing.T) {
	t.Parallel()
	big := &fake{name: "dump", kind: tool.Other, do: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Text(words(1 << 20)), nil
	}}
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{big} })
	r.srv.Add(call("a", "dump"), modeltest.Text("ok"))
	r.say("dump it")
	for _, e := range r.all(agent.KindEntry) {
		logged, err := r.Session().Log().Store().Get(context.Background(), e.Entry.ID)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := logged.Message(); err != nil || string(m.JSON()) != string(e.Entry.Message.JSON()) {
			t.Errorf("an event has %d bytes, the log %d: %v", len(e.Entry.Message.JSON()), len(m.JSON()), err)
		}
	}
}

// TestD47ModeAfterAPassOfAnotherProgram: which knows nothing of what the agent remembers.
func TestD47ModeAfterAPassOfAnotherProgram(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, small(12_000))
	if err := errors.Join(r.SetMode(ctx, permission.ModePlan), r.SetReasoning(ctx, model.ReasoningLow)); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		r.srv.Add(modeltest.Text(words(4_000)))
		r.say("go on")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := clew.Open(ctx, r.path, clew.Config{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.Compact(ctx, clew.CompactOptions{Keep: compact.Tokens(100)})
	if err != nil || res.Plan.Cut == nil {
		t.Fatalf("%+v, %v", res, err)
	}
	if level, err := agent.LevelAt(ctx, s.Log().Store(), s.Leaf()); err != nil || level != "low" {
		t.Errorf("the level is %q, %v", level, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	guard, err := permission.New(permission.Config{Mode: permission.ModeAll, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r.cfg.Guard = guard
	r.open()
	if m := r.State().Mode; m != permission.ModePlan {
		t.Errorf("the mode is %s", m)
	}
}

// TestD46ToolsThatChange: the prompt is made anew for them, and what was told of rules goes.
// And what was taken out of the context is not taken for told.
func TestD46ToolsThatChange(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	writeRules(t, dir, "old rule")
	r := newRig(t, ruled(dir))
	for range 4 {
		r.srv.Add(modeltest.Text("ok"))
	}
	r.say("one")
	writeRules(t, dir, "new rule CANARY-9")
	r.say("two")
	told := ""
	items, err := r.Session().Context(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		if it.Message.Role == message.RoleCustom {
			told = it.Entry.ID
		}
	}
	if err := r.Session().Omit(ctx, told); err != nil { // as before a pass that a crash prevents
		t.Fatal(err)
	}
	r.srv.NewConversation()
	r.reopen()
	r.say("three")
	r.srv.NewConversation()
	if err := r.SetTools(ctx, []tool.Tool{reader(10)}); err != nil {
		t.Fatal(err)
	}
	r.say("four")
	for i, x := range r.srv.Exchanges()[1:] {
		if n := strings.Count(string(x.Request), "CANARY-9"); n != 1 {
			t.Errorf("request %d has the new rule %d times", i+2, n)
		}
	}
	r.fine()
}

// TestD59RemindersWithoutPasses: where passes are switched off, what was told stays where it is.
func TestD59RemindersWithoutPasses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeRules(t, dir, "old rule")
	r := newRig(t, func(r *rig) { ruled(dir)(r); small(12_000)(r); r.cfg.Engine.NoAuto = true })
	r.srv.Add(modeltest.Text("ok"), modeltest.Text(words(21_000)), modeltest.Text(words(21_000)), modeltest.Text("ok"), modeltest.Text("ok"))
	r.say("one")
	writeRules(t, dir, "new rule")
	for range 4 {
		r.say("more")
	}
	if s := r.State(); s.Tokens < s.Threshold {
		t.Fatalf("no pass is due: %+v", s)
	}
	r.fine() // requests begin as those before them
}

// paidFor is a summarizer that costs something.
type paidFor struct{ *slow }

func (p paidFor) Summarize(ctx context.Context, in summary.Input) (summary.Output, error) {
	out, err := summary.Deterministic{}.Summarize(ctx, in)
	out.Summarizer, out.Usage = "paid", &message.Usage{Input: 1_000, Output: 100, Cost: 1}
	return out, err
}

// TestTotalsHaveEverything: each summary that was paid for, wherever it went, and nothing
// twice; also after a restart.
func TestTotalsHaveEverything(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, func(r *rig) {
		small(12_000)(r)
		r.cfg.Engine.Policy.Summarizer = paidFor{newSlow()}
		r.cfg.Background = -1
	})
	cost := func(what string, more float64, do func()) {
		t.Helper()
		before := r.State().Totals.Cost
		do()
		if got := r.State().Totals.Cost - before; got < more || got > more+0.9 { // answers cost a little
			t.Errorf("%s: the totals have grown by %.2f, want %.2f", what, got, more)
		}
	}
	for range 7 {
		r.srv.Add(modeltest.Text(words(4_000)))
		r.say("go on")
	}
	cost("a preview", 1, func() {
		if p, err := r.Compact(ctx, agent.CompactRequest{Preview: true}); err != nil || p.Summary == "" {
			t.Fatalf("%+v, %v", p, err)
		}
	})
	cost("a pass", 1, func() {
		if p, err := r.Compact(ctx, agent.CompactRequest{}); err != nil || !p.Act {
			t.Fatalf("%+v, %v", p, err)
		}
	})
	r.srv.Add(modeltest.Text("One."), modeltest.Fail(model.KindInvalid))
	r.say("later")
	r.say("and fails")
	cost("an undo", 0, func() {
		if _, err := r.Undo(ctx, session.UndoOptions{KeepLater: true}); err != nil {
			t.Fatal(err)
		}
	})
	cost("a branch", 1, func() {
		if b, err := r.Navigate(ctx, r.entryOf("go on"), clew.BranchOptions{Summarize: true}); err != nil || b.Summary == nil {
			t.Fatalf("%+v, %v", b, err)
		}
	})
	want := r.State().Totals
	r.reopen()
	var got agent.Totals
	waittest.Until(t, "the totals", func() bool { got = r.State().Totals; return got.Requests > 0 })
	round := func(x agent.Totals) string {
		return fmt.Sprintf("%d %d %d %.3f %d", x.Requests, x.Input, x.Output, x.Cost, x.Passes)
	}
	if round(got) != round(want) {
		t.Errorf("after a restart: %s, want %s", round(got), round(want))
	}
}

// until sleeps until the next tick.
func until(tick <-chan struct{}) func(context.Context, time.Duration) error {
	return func(ctx context.Context, _ time.Duration) error {
		select {
		case <-tick:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// TestIdleAlone: Background says nothing about what is compacted when nothing happens.
func TestIdleAlone(t *testing.T) {
	t.Parallel()
	tick := make(chan struct{})
	r := filled(t, 6, func(r *rig) {
		small(12_000)(r)
		r.cfg.Background, r.cfg.Idle = -1, time.Nanosecond
		r.cfg.Sleep = until(tick)
	})
	for range 3 { // at the second tick it has looked once, and so on
		tick <- struct{}{}
	}
	if n := len(r.all(agent.KindCompactionStart)); n != 0 {
		t.Errorf("a context of %d tokens was compacted; the threshold is %d", r.State().Tokens, r.State().Threshold)
	}
}

// TestColdCache: when the provider has forgotten what it cached, what needs no summary is shortened: once for each time
// that the agent falls idle, and only where the policy says how long the cache lives.
func TestColdCache(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{0, 5 * time.Minute} {
		var now atomic.Int64
		tick := make(chan struct{})
		clock := func() time.Time { return time.Unix(1_000_000, 0).Add(time.Duration(now.Load())) }
		r := newRig(t, func(r *rig) {
			small(64_000)(r)
			r.cfg.Engine.Policy.CacheTTL, r.cfg.Background, r.cfg.Clock = ttl, -1, clock
			r.cfg.Tools = []tool.Tool{reader(30_000)}
			r.cfg.Sleep = until(tick)
		})
		for i := range 5 {
			r.srv.Add(call(fmt.Sprint("c", i), "read"))
		}
		r.srv.Add(modeltest.Text("I have read it."))
		r.say("read the files")
		if ttl == 0 {
			select {
			case tick <- struct{}{}:
				t.Error("it watches")
			default:
			}
			continue
		}
		before := r.State().Tokens
		look := func(minutes int64) int {
			now.Add(minutes * int64(time.Minute))
			tick <- struct{}{} // it looks
			tick <- struct{}{} // it has looked
			r.wait()
			return r.passes()
		}
		if n := look(4); n != 0 {
			t.Errorf("%d passes while the cache lives", n)
		}
		if n := look(2); n != 1 {
			t.Fatalf("%d passes when the cache is cold, want 1", n)
		}
		e := r.all(agent.KindCompactionEnd)[0].Compaction
		if e.Reason != compact.Idle || e.Summary != "" || r.State().Tokens >= before {
			t.Errorf("%+v, from %d to %d", e, before, r.State().Tokens)
		}
		if n := look(60); n != 1 {
			t.Errorf("%d passes after an hour, want 1", n)
		}
		r.srv.Add(modeltest.Text("ok"))
		r.say("and now?")
		r.fine()
	}
}

// TestIdleUsesWhatLiesReady: a summary that is being made is waited for and then used. Nobody lets the summarizer go a
// second time.
func TestIdleUsesWhatLiesReady(t *testing.T) {
	t.Parallel()
	tick := make(chan struct{})
	r, s := soft(t, func(r *rig) {
		r.cfg.Idle = time.Nanosecond
		r.cfg.Sleep = until(tick)
	})
	for range 3 { // at the second tick it has looked once, and so on
		select {
		case tick <- struct{}{}:
		case <-s.begun:
			t.Fatal("a second summary is begun while the first is made")
		}
	}
	s.open <- nil
	r.untilPrepared()
	tick <- struct{}{}
	e := r.until("pass", func(e agent.Event) bool { return e.Kind == agent.KindCompactionEnd && e.Compaction.Done })
	if e.Compaction.Summarizer != "slow" || e.Compaction.Reason != compact.Manual {
		t.Errorf("%+v", e.Compaction)
	}
	r.wait()
	if r.State().Prepared {
		t.Error("it still lies ready")
	}
}

// TestFreeAfterAJob: when a job has waited for another operation and is done, so is the
// operation that did it. Its end is held up here by somebody who uses the session.
func TestFreeAfterAJob(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSlow()
	begun, open := make(chan struct{}), make(chan struct{})
	var r *rig
	r = filled(t, 7, func(n *rig) {
		small(12_000)(n)
		n.cfg.Engine.Policy.Summarizer, n.cfg.Background = s, -1
		n.cfg.Shell = func(context.Context, string, func(string)) (string, int, error) {
			close(begun)
			<-open
			return "", 0, nil
		}
		n.cfg.Engine.Hooks = []clew.Hooks{{BeforeFork: func(context.Context, clew.BeforeForkEvent) (clew.Decision, error) {
			go func() { _, _ = r.Session().Compact(ctx, clew.CompactOptions{DryRun: true}) }()
			<-s.begun
			go func() { s.open <- errors.New("no") }()
			return clew.Decision{}, nil
		}}}
	})
	shell := make(chan error)
	go func() { shell <- r.Shell(ctx, "ls", true) }()
	<-begun
	forked := make(chan error)
	go func() {
		_, err := r.Fork(ctx, "", "")
		if _, uerr := r.Undo(ctx, session.UndoOptions{}); errors.Is(uerr, agent.ErrBusy) {
			err = errors.Join(err, uerr)
		}
		forked <- err
	}()
	open <- struct{}{}
	if err := errors.Join(<-shell, <-forked); err != nil {
		t.Error(err)
	}
}

// TestI12ToolsWithoutAGuard: nothing would decide about them, so they are not taken.
func TestI12ToolsWithoutAGuard(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.cfg.Guard = nil })
	if err := r.SetTools(context.Background(), []tool.Tool{reader(1)}); err == nil {
		t.Error("tools without a guard")
	}
	r.srv.Add(call("a", "read"), modeltest.Text("ok"))
	r.say("read")
	if e := r.ended(); e.Outcome != agent.OutcomeDone {
		t.Errorf("ended %s %s", e.Outcome, e.Error)
	}
}

// TestReceiverThatPanics: a pass ends for the agent although Engine.Events fails at its end.
func TestReceiverThatPanics(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		small(12_000)(r)
		r.cfg.Engine.Hooks = append(r.cfg.Engine.Hooks, clew.Hooks{OnEvent: func(_ context.Context, e clew.Event) {
			if e.Kind == clew.EventPassEnd {
				panic("oh")
			}
		}})
	})
	for range 7 {
		r.srv.Add(modeltest.Text(words(4_000)))
		r.say("go on")
	}
	if _, err := r.Compact(context.Background(), agent.CompactRequest{}); err != nil {
		t.Fatal(err)
	}
	r.wait()
	r.grammar()
	if s := r.State(); s.Doing != agent.DoingNothing || r.passes() == 0 {
		t.Errorf("%+v after %d passes", s, r.passes())
	}
}
