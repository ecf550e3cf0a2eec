package compact_test

import (
	"context"
	"strings"
	"testing"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/wire"
)

// think appends an answer with signed reasoning and what follows it.
func (l *life) think(signature string, rest ...message.Block) string {
	blocks := append([]message.Block{message.ThinkingBlock("because", signature)}, rest...)
	l.append(session.Message(message.Assistant(l.clock, blocks...)))
	return l.log.Leaf()
}

// loop appends a call with signed reasoning, and its result.
func (l *life) loop(id, signature string) {
	l.think(signature, message.ToolCallBlock(id, "read", []byte(`{"path":"x"}`)))
	l.append(session.Message(message.ToolResult(id, "read", "contents", false, l.clock)))
}

// openLoopPassed is a session that was compacted in the middle of a tool loop.
func openLoopPassed(t *testing.T) *life {
	t.Helper()
	l := caseLog(t)
	for range 6 {
		l.user(prose(200))
		l.say(prose(100))
	}
	l.user("and this one")
	l.loop("c1", "sig-1")
	l.loop("c2", "sig-2")
	l.apply(l.make(compact.Manual, compact.Policy{Window: 16_000, Keep: compact.Tokens(3_000)}))
	if got := render(l.context()); !strings.Contains(got, "sig-1") || !strings.Contains(got, "sig-2") {
		t.Fatal("the open tool loop has lost its reasoning")
	}
	return l
}

// D-11: what a pass left in an open tool loop goes when the loop is closed, in a pass
// of its own that can be undone, and once.
func TestD11ThinkingOfALoopThatWasOpen(t *testing.T) {
	ctx := context.Background()
	policy := compact.Policy{Window: 16_000}
	l := openLoopPassed(t)
	if plan := l.make(compact.Threshold, policy); plan.Act {
		t.Fatalf("the loop is open: %s", plan.Why)
	}
	l.loop("c3", "sig-3") // bound to the reasoning before it, which is to go
	if plan := l.make(compact.Threshold, policy); plan.Act {
		t.Fatalf("the loop is still open: %s", plan.Why)
	}
	l.say("done")
	l.user("and now?")
	before := render(l.context())
	plan := l.make(compact.Threshold, policy)
	if !plan.Act || !plan.OnlyThinking || plan.Reason != compact.Threshold || !strings.Contains(plan.Why, "2 answers") {
		t.Fatalf("%+v", plan)
	}
	if len(plan.Stages) != 1 || plan.Stages[0].Name != "thinking" || plan.Stages[0].Entries != 3 {
		t.Errorf("%+v", plan.Stages)
	}
	if freed := plan.Before.Tokens - plan.After.Tokens; freed != plan.Stages[0].Freed || freed <= 0 || plan.After.Categories.Total() != plan.After.Tokens {
		t.Errorf("from %+v to %+v, %+v", plan.Before, plan.After, plan.Stages)
	}
	l.apply(plan)
	after := render(l.context())
	if strings.Contains(after, "sig-") || strings.Count(after, "contents") != 3 {
		t.Errorf("after the pass:\n%s", after)
	}
	l.check()
	for redo := range 2 {
		u, err := l.log.Undo(ctx, session.UndoOptions{})
		if want := []string{before, after}[redo]; err != nil || u.Redo != (redo == 1) || render(l.context()) != want {
			t.Errorf("I7: undo %d: %+v %v", redo, u, err)
		}
	}
	l.think("sig-4", message.TextBlock("well"))
	l.user("thanks")
	if plan := l.make(compact.Threshold, policy); plan.Act {
		t.Errorf("it is made again: %s", plan.Why)
	}
}

// An answer that is nothing but reasoning goes whole; one that nobody is sent stays.
func TestD11ThinkingAlone(t *testing.T) {
	l := caseLog(t)
	old := l.user("first")
	alone := l.think("sig-alone")
	l.user("second")
	failed := message.Assistant(l.clock, message.ThinkingBlock("because", "sig-failed"))
	failed.StopReason = message.StopError
	l.append(session.Message(failed))
	unsent := l.log.Leaf()
	l.user("third")
	l.append(session.NewContextEdit(session.ContextEdit{TargetID: old, Omit: true}))
	plan := l.make(compact.Threshold, compact.Policy{Window: 16_000})
	if !plan.OnlyThinking || plan.Stages[0].Entries != 1 {
		t.Fatalf("%+v", plan)
	}
	l.apply(plan)
	if f := l.fateOf(alone); f.Fate != compact.FateExcluded || f.Why != compact.WhyOmitted {
		t.Errorf("%+v", f)
	}
	if f := l.fateOf(unsent); f.Why != compact.WhyFailed {
		t.Errorf("%+v", f)
	}
	if plan := l.make(compact.Threshold, compact.Policy{Window: 16_000}); plan.Act {
		t.Errorf("it is made again: %s", plan.Why)
	}
}

// Where the ladder leaves a context as it is, because the breaker is open or nothing
// is gained, stale reasoning goes all the same; and the breaker does not count that.
func TestD11ThinkingAndTheBreaker(t *testing.T) {
	l := caseLog(t)
	for range 6 {
		l.user(prose(250))
		l.say(prose(250))
	}
	policy := compact.Policy{Window: 80_000, Trigger: compact.Tokens(5_000), Keep: compact.Tokens(2_000), Summarizer: weak{}}
	stale := func() {
		target := l.user("out of date")
		l.think("sig", message.TextBlock("hm"))
		l.append(session.NewContextEdit(session.ContextEdit{TargetID: target, Omit: true}))
		plan := l.make(compact.Threshold, policy)
		if !plan.OnlyThinking || plan.Breaker {
			t.Fatalf("only thinking %v, breaker %v: %s", plan.OnlyThinking, plan.Breaker, plan.Why)
		}
		l.apply(plan)
		if path := l.snapshot().Path; strings.Contains(render(l.context()), `"sig"`) || compact.SidePass(path[len(path)-1]) {
			t.Error("it is there still")
		}
	}
	low := policy.Trigger
	policy.Trigger = compact.Tokens(60_000)
	stale()
	stale()
	policy.Trigger = low
	for n := range 3 { // those were no passes that gained nothing; two of these are
		plan := l.make(compact.Threshold, policy)
		if !plan.Act || plan.OnlyThinking {
			t.Fatalf("pass %d: %s", n, plan.Why)
		}
		l.apply(plan)
		l.say(prose(120 - 50*n))
		l.user(prose(150 - 60*n))
	}
	stale() // the breaker is open
	if plan := l.make(compact.Threshold, policy); plan.Act || !plan.Breaker {
		t.Errorf("a pass that is no attempt has closed the breaker: %s", plan.Why)
	}
}

// A pass that makes room takes out what is stale too, though it changes only what
// stands behind it.
func TestD11StaleBeforeWhatIsOffloaded(t *testing.T) {
	l := caseLog(t)
	old := l.user("out of date")
	l.user("read them all")
	l.think("sig", message.TextBlock("I will."))
	l.append(session.NewContextEdit(session.ContextEdit{TargetID: old, Omit: true}))
	for n := range 10 {
		l.call("read", `{"path":"f.go"}`, strings.Repeat("x", n)+prose(500))
	}
	l.user("thanks, and now?")
	l.say(prose(50))
	plan := l.make(compact.Manual, compact.Policy{Window: 64_000, Target: compact.Tokens(34_000)})
	if !plan.Act || plan.OnlyThinking || plan.Summary != nil {
		t.Fatalf("%s: %+v", plan.Why, plan.Stages)
	}
	l.apply(plan)
	if strings.Contains(render(l.context()), `"sig"`) {
		t.Error("it is there still")
	}
}

// Preset turns takes signed reasoning out of what it keeps, as the others do.
func TestD11Presets(t *testing.T) {
	for _, name := range compact.PresetNames() {
		policy, err := compact.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		policy.Window, policy.Keep = 16_000, compact.Tokens(3_000)
		l := caseLog(t)
		for range 12 {
			l.user(prose(60))
			l.think("sig-old", message.TextBlock(prose(60)))
		}
		l.user("and now?")
		l.apply(l.make(compact.Manual, policy))
		if got := render(l.context()); strings.Contains(got, "sig-old") {
			t.Errorf("%s leaves signed reasoning", name)
		}
		if plan := l.make(compact.Threshold, policy); plan.Act {
			t.Errorf("%s is followed by another pass: %s", name, plan.Why)
		}
	}
}

// A pass that takes out reasoning ends what was reported of the context. Where it does not
// fit by the estimate that counts then, the same plan makes room (issue 11, 1.4).
func TestThinkingPassMakesRoomToo(t *testing.T) {
	policy := compact.Policy{Window: 16_000}
	for _, large := range []bool{false, true} {
		l := caseLog(t)
		old := l.user("out of date")
		for range 4 {
			l.user(prose(100))
			l.say(prose(map[bool]int{false: 100, true: 700}[large]))
		}
		l.user("look")
		l.loop("c1", "sig-1")
		l.append(session.NewContextEdit(session.ContextEdit{TargetID: old, Omit: true}))
		l.report(8_000)
		l.user("and now?")
		if s := l.snapshot(); s.Reading.Measured != 8_000 || s.Reading.Tokens > 9_000 {
			t.Fatalf("%+v", s.Reading)
		}
		plan := l.make(compact.Threshold, policy)
		if !plan.Act || plan.OnlyThinking == large {
			t.Fatalf("large %v, only thinking %v: %s", large, plan.OnlyThinking, plan.Why)
		}
		// Where nothing else is allowed nothing else is done.
		only, err := compact.Make(context.Background(), l.snapshot(), compact.Request{Policy: &policy, OnlyThinking: true})
		if err != nil || !only.OnlyThinking || only.Summary != nil {
			t.Errorf("%v: %+v", err, only)
		}
		l.apply(plan)
		s := l.snapshot()
		if s.Reading.Guarded() > plan.Budget.Limit || strings.Contains(render(s.Context), "sig-1") {
			t.Errorf("large %v: %d tokens of %d", large, s.Reading.Guarded(), plan.Budget.Limit)
		}
		if next := l.make(compact.Threshold, policy); next.Act {
			t.Errorf("another pass: %s", next.Why)
		}
	}
}

// report appends an answer of which a usage was reported.
func (l *life) report(tokens int64, calls ...message.Block) {
	m := message.Assistant(l.clock, append([]message.Block{message.TextBlock("done")}, calls...)...)
	m.Provider, m.Model, m.Usage = plainSetup.Model.Provider, plainSetup.Model.ID, &message.Usage{Input: tokens - 5, Output: 5}
	l.append(session.Message(m))
}

// An answer that is reasoning alone does not hide an older call without a result: the call
// is pending before the pass that takes the reasoning out, not only after it.
func TestThinkingPassUncoversNoCall(t *testing.T) {
	l := caseLog(t)
	old := l.user("first")
	l.append(session.Message(message.Assistant(l.clock, message.ToolCallBlock("c1", "read", []byte("{}")))))
	l.user("never mind")
	alone := l.think("sig-alone")
	l.user("second")
	l.append(session.NewContextEdit(session.ContextEdit{TargetID: old, Omit: true}))
	// An answer that is reasoning alone says nothing, so the call is pending with it and without.
	if plan := l.make(compact.Threshold, compact.Policy{Window: 16_000}); plan.Act {
		t.Fatalf("a pass while a call is pending: %s", plan.Why)
	}
	if n, err := compact.CloseOpenCalls(context.Background(), l.log); n != 1 || err != nil {
		t.Fatalf("closed %d calls: %v", n, err)
	}
	plan := l.make(compact.Threshold, compact.Policy{Window: 16_000})
	if !plan.OnlyThinking {
		t.Fatal(plan.Why)
	}
	l.apply(plan)
	if f := l.fateOf(alone); f.Fate == compact.FateVerbatim || strings.Contains(render(l.context()), "sig-") {
		t.Errorf("%+v", f)
	}
	if _, _, err := wire.Build(contents(l.context()), wire.Anthropic, wire.Target{}, wire.Options{}); err != nil {
		t.Errorf("it can't be sent: %v", err)
	}
}
