package compact_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/wire"
)

// synapse is the preset with its thresholds at a tenth.
func synapse(t *testing.T) compact.Policy {
	t.Helper()
	p, err := compact.Preset(compact.PresetSynapse)
	if err != nil {
		t.Fatal(err)
	}
	p.Window, p.Reserve, p.Trigger, p.Synapse.MinFreed = 200_000, compact.Tokens(0), compact.Tokens(15_000), 1_500
	return p
}

func TestSynapseDefaults(t *testing.T) {
	p, err := compact.Preset(compact.PresetSynapse)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := p.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if p.Trigger.Of(b.Window) != 150_000 || b.Window != 200_000 || p.KeepMessages != 5 || b.Summary != 8_000 || p.Tries != 3 ||
		p.Template != summary.Technical || !p.SummaryGoal {
		t.Errorf("%+v %+v", p, b)
	}
}

// Results of more than 50 characters in the first half of the messages become a
// line that says where they are; enough was freed, so no summary is made.
func TestSynapseOffloads(t *testing.T) {
	l := caseLog(t)
	l.user("begin")
	first := l.call("read", `{"path":"a.go"}`, prose(900))
	short := l.call("read", `{"path":"b.go"}`, "just 50 characters are not offloaded, and no less.")
	typed := l.user(prose(400))
	for range 4 {
		l.user("go on")
		l.say("ok")
	}
	last := l.call("read", `{"path":"c.go"}`, prose(900))
	policy := synapse(t)
	policy.Trigger = compact.Tokens(8_000)
	plan := l.make(compact.Threshold, policy)
	if !plan.Act || plan.Summary != nil || len(plan.Stages) == 0 || plan.Stages[0].Name != compact.StageOffload {
		t.Fatalf("%s %+v", plan.Why, plan.Stages)
	}
	l.apply(plan)
	if f := l.fateOf(first); f.Fate != compact.FateEdited {
		t.Errorf("the first result: %+v", f)
	}
	for _, id := range []string{short, typed, last} {
		if f := l.fateOf(id); f.Fate != compact.FateVerbatim {
			t.Errorf("%s: %+v", id, f)
		}
	}
	if text := contents(l.context())[2].Text(); !strings.Contains(text, "recall #"+first) || len(text) > 150 {
		t.Errorf("the note: %q", text)
	}
	// With a place for files the note names it.
	l2 := caseLog(t)
	l2.user("begin")
	l2.call("read", `{"path":"a.go"}`, prose(1200))
	for range 4 {
		l2.user("go on")
		l2.say("ok")
	}
	policy.Trigger = compact.Tokens(5_000)
	policy.Offload.Path = func(*session.Entry) string { return "/tmp/offloaded/x.txt" }
	l2.apply(l2.make(compact.Threshold, policy))
	if text := contents(l2.context())[2].Text(); !strings.Contains(text, "Tool result is at: /tmp/offloaded/x.txt") {
		t.Errorf("the note: %q", text)
	}
}

// fill makes a session that is over the trigger and has little to offload.
func (l *life) fill(n int) {
	for range n {
		l.user(prose(20)) // the summary looks longer at what the user says
		l.say(prose(280))
	}
}

// Too little was freed: all but the newest 5 messages are summarized, at most every
// 5 answers; what was offloaded is summarized as it was.
func TestSynapseSummarizes(t *testing.T) {
	l := caseLog(t)
	l.user("begin")
	l.call("read", `{"path":"a.go"}`, "The server listens on port 48123 as configured. error: port 48123 is taken "+prose(20))
	l.fill(15)
	policy := synapse(t)
	plan := l.make(compact.Threshold, policy)
	if !plan.Act || plan.Summary == nil || plan.Cut.Kept != 5 || plan.Policy != compact.PresetSynapse {
		t.Fatalf("%s %+v", plan.Why, plan.Cut)
	}
	if !strings.Contains(plan.Summary.Text, "48123") {
		t.Error("what was offloaded is not in the summary")
	}
	if !strings.HasPrefix(plan.Summary.Text, "## Technical Context") && !strings.Contains(plan.Summary.Text, "## Project Overview") {
		t.Errorf("another template: %.80s", plan.Summary.Text)
	}
	l.apply(plan)
	c := l.context()
	req, _, err := wire.Build(contents(c), wire.Anthropic, wire.Target{}, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if first := string(req.Messages[0]); !strings.Contains(first, `"role":"user"`) || !strings.Contains(first, "[Compressed History]") {
		t.Errorf("the summary's form: %.200s", first)
	}
	// Two answers later it is over the trigger again: not yet.
	l.user(prose(3000))
	l.say("ok")
	l.user("go on")
	if plan := l.make(compact.Threshold, policy); plan.Act && plan.Summary != nil {
		t.Errorf("2 answers after a summary another one: %s", plan.Why)
	}
	// What was asked for is done.
	if plan := l.make(compact.Manual, policy); !plan.Act || plan.Summary == nil {
		t.Errorf("asked for: %s", plan.Why)
	}
	for range 5 {
		l.say("ok")
		l.user("go on")
	}
	if plan := l.make(compact.Threshold, policy); !plan.Act || plan.Summary == nil {
		t.Errorf("7 answers after a summary: %s", plan.Why)
	}
}

func TestSynapseEdges(t *testing.T) {
	policy := synapse(t)
	l := caseLog(t)
	l.user(prose(4000))
	l.say("ok")
	if plan := l.make(compact.Threshold, policy); plan.Act || !strings.Contains(plan.Why, "5 messages are kept") {
		t.Errorf("not more messages than are kept: %v %s", plan.Act, plan.Why)
	}
	if plan := l.make(compact.Manual, policy); plan.Act {
		t.Errorf("the same, asked for: %s", plan.Why)
	}
	// The test is >=.
	l = caseLog(t)
	l.fill(6)
	at := l.make(compact.Threshold, policy).Before.Tokens
	policy.Trigger = compact.Tokens(at)
	if plan := l.make(compact.Threshold, policy); !plan.Act {
		t.Errorf("at the trigger: %s", plan.Why)
	}
	policy.Trigger = compact.Tokens(at + 1)
	if plan := l.make(compact.Threshold, policy); plan.Act {
		t.Errorf("below the trigger: %s", plan.Why)
	}
	// A call of the newest 5 keeps its result, and a result its call.
	l = caseLog(t)
	l.fill(10)
	for range 3 {
		l.call("read", `{"path":"a.go"}`, prose(30))
	}
	plan := l.make(compact.Manual, policy)
	if !plan.Act || plan.Cut.Kept != 6 {
		t.Errorf("5 messages begin between a call and its result: %d are kept", plan.Cut.Kept)
	}
}

// failing is a summarizer that fails, or gives nothing.
type failing struct{ err error }

func (failing) Name() string { return "failing" }

func (f failing) Summarize(context.Context, summary.Input) (summary.Output, error) {
	return summary.Output{}, f.err
}

// A summarizer that fails or gives nothing does not stop the conversation, whatever
// the preset: the deterministic one does it, and the plan says why.
func TestSummarizerFails(t *testing.T) {
	for _, name := range compact.PresetNames() {
		for _, err := range []error{errors.New("boom"), nil} {
			if testing.Short() && err == nil && name != compact.PresetClew {
				continue // as the other
			}
			l := caseLog(t)
			l.fill(10)
			l.user("and now?")
			policy, perr := compact.Preset(name)
			if perr != nil {
				t.Fatal(perr)
			}
			policy.Window, policy.Summarizer = 8_000, failing{err}
			plan := l.make(compact.Manual, policy)
			if !plan.Act || plan.Summary == nil || plan.Summary.Summarizer != "deterministic" || len(plan.Summary.Rejected) == 0 {
				t.Errorf("%s, %v: %s %+v", name, err, plan.Why, plan.Summary)
				continue
			}
			if plan.After.Guarded() > plan.Budget.Limit {
				t.Errorf("%s: does not fit", name)
			}
			l.apply(plan)
		}
	}
	// Who gives up gets an error, and nothing has changed.
	l := caseLog(t)
	l.fill(10)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := compact.Make(ctx, l.snapshot(), compact.Request{Reason: compact.Manual, Policy: &compact.Policy{Window: 8_000, Summarizer: failing{errors.New("boom")}}}); err == nil {
		t.Error("a cancelled plan was made")
	}
}

func TestTurns(t *testing.T) {
	policy, err := compact.Preset(compact.PresetTurns)
	if err != nil {
		t.Fatal(err)
	}
	if policy.Trigger.Of(64_000) != 48_000 || policy.Target.Of(64_000) != 32_000 || policy.KeepTurns != 6 || policy.Template != summary.Notes || policy.MaxPasses != 2 {
		t.Errorf("%+v", policy)
	}
	if b, _, err := policy.Resolve(); err != nil || b.Window != 64_000 {
		t.Errorf("a window of %d, %v", b.Window, err)
	}
	policy.Window, policy.Reserve = 60_000, compact.Tokens(0)

	// The newest 6 turns are kept, the rest is summarized as the assistant's.
	l := caseLog(t)
	l.fill(6)
	if plan := l.make(compact.Manual, policy); plan.Act || !strings.Contains(plan.Why, "6 turns are kept") {
		t.Errorf("nothing is old: %v %s", plan.Act, plan.Why)
	}
	l.fill(14)
	plan := l.make(compact.Threshold, policy)
	if !plan.Act || plan.Cut.Kept != 12 || plan.Summary.Coverage.Items != 28 || plan.After.Tokens > plan.Budget.Target {
		t.Fatalf("%s %+v", plan.Why, plan.Cut)
	}
	l.apply(plan)
	req, _, err := wire.Build(contents(l.context()), wire.Anthropic, wire.Target{}, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m := string(req.Messages[1]); !strings.Contains(m, `"role":"assistant"`) || !strings.Contains(m, "[COMPACTED_CONTEXT]") {
		t.Errorf("the summary's form: %.300s", m)
	}

	policy.Window = 30_000
	// Still over the target: reasoning and tool exchanges go from the kept turns but
	// the last.
	l = caseLog(t)
	l.fill(4)
	for range 6 {
		l.user("look")
		l.append(session.Message(message.Assistant(l.clock, message.ThinkingBlock("let me think", ""), message.TextBlock("I look."))))
		l.call("read", `{"path":"a.go"}`, prose(350))
		l.say("seen")
	}
	plan = l.make(compact.Threshold, policy)
	if !plan.Act || plan.Guarded {
		t.Fatalf("%s", plan.Why)
	}
	l.apply(plan)
	results := 0
	for _, m := range contents(l.context()) {
		if m.Role == message.RoleToolResult {
			results++
		}
	}
	if results != 1 || plan.After.Tokens > plan.Budget.Target {
		t.Errorf("%d results are left, %d tokens", results, plan.After.Tokens)
	}
}

// A cut that counts turns lies where the user spoke, and the user may speak before a call
// has its result (issue 11, 1.3).
func TestTurnsPartsNoCallFromALateResult(t *testing.T) {
	policy, err := compact.Preset(compact.PresetTurns)
	if err != nil {
		t.Fatal(err)
	}
	policy.Window, policy.KeepTurns = 20_000, 2
	for _, late := range []int{1, 2, 3} { // user messages between the call and its result
		l := caseLog(t)
		l.append(session.Message(message.ToolResult("nobody", "read", prose(100), false, l.clock))) // an orphan
		l.fill(6)
		l.append(session.Message(message.Assistant(l.clock, message.ToolCallBlock("c1", "read", []byte("{}")), message.ToolCallBlock("c2", "read", []byte("{}")))))
		for range late {
			l.user(prose(50))
		}
		l.append(session.Message(message.ToolResult("c1", "read", prose(60), false, l.clock)))
		l.say("so it is")
		l.user("and now?")
		plan := l.make(compact.Manual, policy)
		if !plan.Act || plan.Cut == nil {
			t.Fatalf("%d late: %s", late, plan.Why)
		}
		l.apply(plan)
		if len(compact.Pending(l.context().Items)) > 0 {
			t.Errorf("%d late: a call waits", late)
		}
		l.check()
	}
}
