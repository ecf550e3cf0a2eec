package compact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// A life without accidents, to build cases on.
func caseLog(t *testing.T) *life {
	t.Helper()
	l := newLife(t, 1)
	var err error
	l.store = session.NewMemory(session.Header{Version: session.Version, ID: "case"})
	l.log, err = session.NewLog(context.Background(), l.store, session.Options{
		Clock: l.log.Now, NewID: func() string { l.ids++; return fmt.Sprintf("%08x%08x", 0xabc0000+l.ids, l.ids) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *life) make(reason compact.Reason, policy compact.Policy) *compact.Plan {
	l.t.Helper()
	plan, err := compact.Make(context.Background(), l.snapshot(), compact.Request{Reason: reason, Policy: &policy})
	if err != nil {
		l.t.Fatal(err)
	}
	return plan
}

func (l *life) apply(plan *compact.Plan) {
	l.t.Helper()
	if _, err := compact.Apply(context.Background(), l.log, plan); err != nil {
		l.t.Fatal(err)
	}
}

// call appends a call and its result and returns the result's id.
func (l *life) call(tool, args, result string) string {
	id := fmt.Sprintf("call_%d", l.ids)
	l.append(session.Message(message.Assistant(l.clock, message.TextBlock("I look."), message.ToolCallBlock(id, tool, []byte(args)))))
	l.append(session.Message(message.ToolResult(id, tool, result, false, l.clock)))
	return l.log.Leaf()
}

func (l *life) user(text string) string {
	l.append(session.Message(message.User(text, l.clock)))
	return l.log.Leaf()
}

func (l *life) say(text string) {
	l.append(session.Message(message.Assistant(l.clock, message.TextBlock(text))))
}

func prose(n int) string {
	return strings.TrimSpace(strings.Repeat("every good line says something of it; ", n))
}

func (l *life) fateOf(id string) compact.Fate {
	l.t.Helper()
	path, err := l.log.Path(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, f := range compact.Fates(path) {
		if f.Entry == id {
			return f
		}
	}
	l.t.Fatalf("no fate of %s", id)
	return compact.Fate{}
}

// Who asks for a tail gets it, also where shorter results would fit the window already.
func TestTailThatIsAskedFor(t *testing.T) {
	l := caseLog(t)
	l.user("look at the file")
	l.call("read", `{"path":"a.go"}`, prose(4000))
	for range 6 {
		l.user(prose(60))
		l.say(prose(60))
	}
	plan := l.make(compact.Manual, compact.Policy{Window: 40_000, Keep: compact.Tokens(2_000)})
	if plan.Cut == nil || plan.Cut.Tokens > 2_000 {
		t.Errorf("cut %+v, %d tokens after %d", plan.Cut, plan.After.Tokens, plan.Before.Tokens)
	}
}

// The pinned result stays as it is where others are offloaded, and is quoted
// word for word where a cut takes it out.
func TestPinnedStays(t *testing.T) {
	l := caseLog(t)
	l.user("look at both files")
	pinned := l.call("read", `{"path":"b.go"}`, prose(901)+" and the magic number is 7231")
	other := l.call("read", `{"path":"a.go"}`, prose(800))
	l.append(session.NewPin(pinned, true))
	for range 4 {
		l.user(prose(60))
		l.say(prose(60))
	}
	plan := l.make(compact.Manual, compact.Policy{Window: 24_000, Target: compact.Tokens(14_000), Keep: compact.Tokens(4_500)})
	l.apply(plan)
	if f := l.fateOf(pinned); f.Fate != compact.FateVerbatim || !f.Pinned {
		t.Errorf("after offload: %+v", f)
	}
	if f := l.fateOf(other); f.Fate != compact.FateEdited || f.Why != "offload" {
		t.Errorf("the other: %+v", f)
	}
	for gen := range 3 {
		for range 4 {
			l.user(prose(150))
			l.say(prose(150))
		}
		l.apply(l.make(compact.Manual, compact.Policy{Window: 24_000, Keep: compact.Tokens(1_500)}))
		if f := l.fateOf(pinned); f.Fate != compact.FateQuoted {
			t.Errorf("generation %d: %+v", gen, f)
		}
		if view, _ := l.context().Compaction.Compaction(); !strings.Contains(view.Summary, "the magic number is 7231") {
			t.Errorf("generation %d: the pinned text is not in the summary", gen)
		}
	}
	l.append(session.NewPin(pinned, false))
	for range 4 {
		l.user(prose(150))
		l.say(prose(150))
	}
	l.apply(l.make(compact.Manual, compact.Policy{Window: 24_000, Keep: compact.Tokens(1_500)}))
	if f := l.fateOf(pinned); f.Fate == compact.FateQuoted || f.Pinned {
		t.Errorf("after the pin was taken away: %+v", f)
	}
}

// weak is a summarizer whose summary is hardly smaller than what it replaces.
type weak struct{}

func (weak) Name() string { return "weak" }

func (weak) Summarize(_ context.Context, in summary.Input) (summary.Output, error) {
	var b strings.Builder
	for _, it := range append(in.Items, in.Prefix...) {
		text := it.Message.Text() + it.Message.Summary
		b.WriteString(text[:len(text)*98/100])
	}
	return summary.Output{Text: b.String(), Summarizer: "weak"}, nil
}

// After passes that gained nothing no further one is tried for the threshold,
// until the context has grown or the user asks (D-17, D-18: read from the log).
func TestBreaker(t *testing.T) {
	l := caseLog(t)
	for range 4 {
		l.user(prose(250))
		l.say(prose(250))
	}
	policy := compact.Policy{Window: 40_000, Trigger: compact.Tokens(5_000), Keep: compact.Tokens(2_000), Summarizer: weak{}}
	for n := range 2 {
		plan := l.make(compact.Threshold, policy)
		if !plan.Act {
			t.Fatalf("pass %d: %s", n, plan.Why)
		}
		l.apply(plan)
		l.say(prose(24))
		l.user(prose(24))
	}
	plan := l.make(compact.Threshold, policy)
	if plan.Act || !plan.Breaker || !strings.Contains(plan.Why, "grown by") {
		t.Fatalf("the breaker is closed: %+v", plan.Why)
	}
	if plan := l.make(compact.Manual, policy); !plan.Act {
		t.Errorf("the user asks: %s", plan.Why)
	}
	tight := policy
	tight.Window = plan.Before.Guarded() * 5 / 4
	tight.Reserve = compact.Percent(25)
	if plan := l.make(compact.Threshold, tight); !plan.Act || plan.Before.Guarded() <= plan.Budget.Limit {
		t.Errorf("the context does not fit: %s", plan.Why)
	}
	for range 4 {
		l.say(prose(50))
		l.user(prose(250))
	}
	if plan := l.make(compact.Threshold, policy); !plan.Act {
		t.Errorf("the context has grown: %s", plan.Why)
	}
}

// What a pass offloaded is summarized as it was said; what somebody else took out
// stays out.
func TestSummaryIsOfWhatWasSaid(t *testing.T) {
	l := caseLog(t)
	l.user("find the port")
	l.call("bash", `{"command":"cat server.log"}`, prose(600)+"\nerror: listen tcp :48123: bind: address already in use\n"+prose(600))
	secret := l.call("bash", `{"command":"env"}`, "TOKEN=hunter2-is-the-token")
	l.append(session.NewContextEdit(session.ContextEdit{TargetID: secret, Content: []byte(`"[removed]"`)}))
	for range 3 {
		l.user(prose(60))
		l.say(prose(60))
	}
	l.apply(l.make(compact.Manual, compact.Policy{Window: 12_000, Target: compact.Tokens(4_500)}))
	if strings.Contains(render(l.context()), "48123") {
		t.Fatal("the result was not offloaded; the case shows nothing")
	}
	seen := &seenBy{}
	plan := l.make(compact.Manual, compact.Policy{Window: 12_000, Keep: compact.Tokens(500), Summarizer: seen})
	if !plan.Act || !strings.Contains(seen.text, "48123") {
		t.Error("the summarizer did not see what a pass had offloaded")
	}
	if strings.Contains(seen.text, "hunter2") {
		t.Error("the summarizer saw what the user had taken out")
	}
}

type seenBy struct{ text string }

func (*seenBy) Name() string { return "seen" }

func (s *seenBy) Summarize(_ context.Context, in summary.Input) (summary.Output, error) {
	for _, it := range append(in.Items, in.Prefix...) {
		s.text += it.Message.Text() + "\n"
	}
	return summary.Output{Text: "seen", Summarizer: "seen"}, nil
}

// Of ten large results only so many are offloaded as the target asks.
func TestFreesNoMoreThanAsked(t *testing.T) {
	l := caseLog(t)
	l.user("read them all")
	for n := range 10 {
		l.call("read", fmt.Sprintf(`{"path":"f%d.go"}`, n), fmt.Sprint(n)+prose(500+n))
	}
	l.say("done")
	l.user("thanks, and now?")
	l.say(prose(50))
	plan := l.make(compact.Manual, compact.Policy{Window: 64_000, Target: compact.Tokens(34_000)})
	if !plan.Act || len(plan.Stages) != 1 || plan.Stages[0].Name != "offload" {
		t.Fatalf("%+v", plan.Stages)
	}
	if plan.After.Tokens > 34_000 || plan.After.Tokens < 33_000 {
		t.Errorf("%d tokens after a pass for 34,000", plan.After.Tokens)
	}
}

// D-11: signed thinking can be bound to the messages before it. A pass takes it
// out of what is kept, but not out of an open tool loop.
func TestD11SignedThinking(t *testing.T) {
	l := caseLog(t)
	for range 6 {
		l.user(prose(200))
		l.append(session.Message(message.Assistant(l.clock, message.ThinkingBlock("because", "sig-old"), message.TextBlock(prose(100)))))
	}
	l.user("and this one")
	l.append(session.Message(message.Assistant(l.clock, message.ThinkingBlock("first", "sig-open"), message.ToolCallBlock("c1", "read", []byte(`{"path":"x"}`)))))
	l.append(session.Message(message.ToolResult("c1", "read", "contents", false, l.clock)))
	plan := l.make(compact.Manual, compact.Policy{Window: 16_000, Keep: compact.Tokens(3_000)})
	l.apply(plan)
	got := render(l.context())
	if strings.Contains(got, "sig-old") {
		t.Error("signed thinking is left from before the pass")
	}
	if !strings.Contains(got, "sig-open") {
		t.Error("the open tool loop has lost its thinking")
	}
}

// D-01: nothing comes between a call and its result.
func TestD01PendingCall(t *testing.T) {
	l := caseLog(t)
	for range 6 {
		l.user(prose(300))
		l.say(prose(300))
	}
	l.append(session.Message(message.Assistant(l.clock, message.ToolCallBlock("c1", "read", []byte(`{}`)))))
	_, err := compact.Make(context.Background(), l.snapshot(), compact.Request{Reason: compact.Manual, Policy: &compact.Policy{Window: 8_000}})
	if !errors.Is(err, compact.ErrPending) {
		t.Fatalf("%v", err)
	}
	if n, err := compact.CloseOpenCalls(context.Background(), l.log); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	l.make(compact.Manual, compact.Policy{Window: 8_000})
}

// D-02, and pi's defect 1: what the first pass kept is in the second's summary or
// still there.
func TestD02KeptByThePassBefore(t *testing.T) {
	l := caseLog(t)
	var ids []string
	for n := range 12 {
		ids = append(ids, l.user(fmt.Sprintf("request %d: %s", n, prose(80))))
		l.say(prose(80))
	}
	for range 3 {
		l.apply(l.make(compact.Manual, compact.Policy{Window: 8_000, Keep: compact.Tokens(1_200)}))
		for n := range 3 {
			ids = append(ids, l.user(fmt.Sprintf("later request %d: %s", n, prose(80))))
			l.say(prose(80))
		}
	}
	for _, id := range ids {
		if f := l.fateOf(id); f.Fate == compact.FateExcluded {
			t.Errorf("%+v", f)
		}
	}
}

// D-24, D-25: every window leaves room for a context.
func TestD24SmallWindows(t *testing.T) {
	for _, window := range []int64{1_000, 4_096, 8_192, 16_384, 32_768} {
		b, _, err := compact.Policy{Window: window}.Resolve()
		if err != nil || b.Limit < window/2 || b.Target <= 0 || b.Target > b.Limit || b.Summary >= b.Limit {
			t.Errorf("window %d: %+v %v", window, b, err)
		}
	}
	for _, bad := range []compact.Policy{{Window: -1}, {Window: 999}, {KeepTurns: -1}} {
		if _, _, err := bad.Resolve(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// D-21: one message that alone exceeds the window is clipped, whatever it is.
func TestD21OneUnitTooLarge(t *testing.T) {
	for name, add := range map[string]func(*life){
		"result":    func(l *life) { l.call("bash", `{"command":"cat big"}`, prose(20_000)) },
		"paste":     func(l *life) { l.user(prose(20_000)) },
		"arguments": func(l *life) { l.call("write", `{"path":"x","content":"`+prose(20_000)+`"}`, "ok") },
		"shell": func(l *life) {
			l.append(session.Message(&message.Message{Role: message.RoleBashExecution, Command: "find", Output: prose(20_000)}))
		},
		"custom": func(l *life) {
			l.append(session.NewCustomMessage("x", []message.Block{message.TextBlock(prose(20_000))}, true, nil))
		},
		"chinese": func(l *life) { l.user(strings.Repeat("压缩上下文窗口🙂", 8_000)) },
	} {
		t.Run(name, func(t *testing.T) {
			l := caseLog(t)
			l.t = t
			for range 6 {
				l.user(prose(40))
				l.say(prose(40))
			}
			l.user("please")
			add(l)
			if name != "paste" && name != "chinese" {
				l.say("I see.")
			}
			plan := l.make(compact.Threshold, compact.Policy{Window: 16_000})
			if !plan.Act || plan.After.Guarded() > plan.Budget.Limit {
				t.Fatalf("%s: %+v", plan.Why, plan.After)
			}
			l.apply(plan)
			l.check()
			if last := contents(l.context()); name == "shell" && !strings.HasPrefix(last[len(last)-1].Text(), "[excerpt of find: ") {
				t.Errorf("the excerpt does not say what it is of: %.100s", last[len(last)-1].Text())
			}
			if n := l.meter().Measure(contents(l.context()), 1<<30).Tokens; n < plan.Budget.Limit/4 {
				t.Errorf("only %d tokens are left of it", n)
			}
		})
	}
}

// bloated is a summarizer whose summary is larger than what it replaces.
type bloated struct{}

func (bloated) Name() string { return "bloated" }

func (bloated) Summarize(_ context.Context, in summary.Input) (summary.Output, error) {
	return summary.Output{Text: prose(3 * len(in.Items) * 100), Summarizer: "bloated"}, nil
}

// D-29: a pass that would free nothing is not made, so nothing is tried again for
// nothing.
func TestD29NoProgress(t *testing.T) {
	l := caseLog(t)
	for range 6 {
		l.user(prose(40))
		l.say(prose(40))
	}
	plan := l.make(compact.Manual, compact.Policy{Window: 200_000, Keep: compact.Tokens(500), Summarizer: bloated{}})
	if plan.Act || plan.After != plan.Before {
		t.Errorf("from %d to %d tokens: %s", plan.Before.Tokens, plan.After.Tokens, plan.Why)
	}
}

// Where a task ended is known after a compaction took it out, and after a result that shows it was edited.
func TestCheckpointsOfAPath(t *testing.T) {
	l := caseLog(t)
	l.user("fix the port")
	passed := l.call("bash", `{"command":"go test ./..."}`, "ok  example.com/port  0.1s")
	for range 3 {
		l.user(prose(60))
		l.say(prose(60))
	}
	l.apply(l.make(compact.Manual, compact.Policy{Window: 12_000, Keep: compact.Tokens(500)}))
	if kind := l.fateOf(passed).Fate; kind != compact.FateSummarized {
		t.Fatalf("the result is %s; the case shows nothing", kind)
	}
	again := l.call("bash", `{"command":"git commit -am Port"}`, "[main 1a2b3c4] Port")
	l.append(session.NewContextEdit(session.ContextEdit{TargetID: again, Content: []byte(`"[shortened]"`)}))
	path, err := l.log.Path(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := compact.Checkpoints(path); len(got) != 2 || got[passed] != "check" || got[again] != "commit" {
		t.Errorf("got %v, want %s and %s", got, passed, again)
	}
}

// TestIdleShortensWithoutASummary: a pass for the sake of a cold cache shortens towards the target, and where that frees
// too little it does nothing. It never asks for a summary.
func TestIdleShortensWithoutASummary(t *testing.T) {
	policy := compact.Policy{Window: 32_000, Summarizer: weak{}}
	for _, large := range []bool{true, false} {
		l := caseLog(t)
		for n := range 12 {
			l.user("read the next one")
			if large {
				l.call("read", `{"path":"f.go"}`, strings.Repeat("x", n)+prose(700))
			}
			l.say(prose(map[bool]int{true: 20, false: 700}[large]))
		}
		plan := l.make(compact.Idle, policy)
		if plan.Act != large || plan.Summary != nil || plan.Cut != nil {
			t.Errorf("large results: %v: it acts: %v, %s: %+v", large, plan.Act, plan.Why, plan.Stages)
		}
		if large && (plan.After.Tokens >= plan.Before.Tokens || plan.Why == "" || plan.Reason != compact.Idle) {
			t.Errorf("from %d to %d: %s", plan.Before.Tokens, plan.After.Tokens, plan.Why)
		}
	}
}
