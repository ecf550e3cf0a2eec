package compact_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Preset synapse offloads results in the oldest half of the messages alone.
func TestSynapseScansHalf(t *testing.T) {
	for ratio, want := range map[float64]int{0: 5, 0.25: 2, 1: 10} { // 0 is unset: a half
		l := caseLog(t)
		var results []string
		for range 10 {
			results = append(results, l.call("read", `{"path":"a.go"}`, prose(300)))
		}
		policy := synapse(t)
		policy.Trigger, policy.Synapse.Scan = compact.Tokens(1_000), ratio
		plan := l.make(compact.Threshold, policy)
		if !plan.Act || plan.Summary != nil {
			t.Fatalf("%v: %s", ratio, plan.Why)
		}
		l.apply(plan)
		for i, id := range results {
			if f := l.fateOf(id); (f.Fate == compact.FateEdited) != (i < want) {
				t.Errorf("%v: result %d of 10: %+v", ratio, i, f)
			}
		}
	}
}

// A result of 50 characters stays, one of 51 goes. Chinese ones cost enough for the
// line that stands for them to be smaller.
func TestSynapseLeavesShortResults(t *testing.T) {
	l := caseLog(t)
	short := l.call("read", `{"path":"a.go"}`, strings.Repeat("错", 50))
	long := l.call("read", `{"path":"b.go"}`, strings.Repeat("错", 51))
	for range 3 {
		l.user(prose(300))
		l.say("ok")
	}
	policy := synapse(t)
	policy.Trigger, policy.Synapse.MinFreed = compact.Tokens(1_000), -1
	plan := l.make(compact.Threshold, policy)
	if !plan.Act {
		t.Fatal(plan.Why)
	}
	l.apply(plan)
	if a, b := l.fateOf(short), l.fateOf(long); a.Fate != compact.FateVerbatim || b.Fate != compact.FateEdited {
		t.Errorf("50 characters: %+v, 51: %+v", a, b)
	}
}

// A message that is kept and was offloaded keeps its reference, and the summary is of
// the whole text.
func TestSynapseKeepsReferences(t *testing.T) {
	l := caseLog(t)
	l.user("begin")
	l.call("read", `{"path":"a.go"}`, prose(300))
	kept := l.call("read", `{"path":"b.go"}`, prose(300))
	l.user("and now?")
	l.say("wait")
	l.user("go on")
	l.say("ok")
	policy := synapse(t)
	policy.Synapse.Scan = 0.6
	plan := l.make(compact.Manual, policy)
	if !plan.Act || plan.Summary == nil || plan.Cut.Kept != 6 {
		t.Fatalf("%s %+v", plan.Why, plan.Cut)
	}
	l.apply(plan)
	if f := l.fateOf(kept); f.Fate != compact.FateEdited {
		t.Errorf("%+v", f)
	}
}

// Preset turns compacts at its trigger, and below it when it is forced.
func TestTurnsTrigger(t *testing.T) {
	policy, err := compact.Preset(compact.PresetTurns)
	if err != nil {
		t.Fatal(err)
	}
	policy.Window, policy.Reserve, policy.KeepTurns = 64_000, compact.Tokens(0), 2
	l := caseLog(t)
	l.fill(8)
	at := l.make(compact.Threshold, policy).Before.Tokens
	for trigger, want := range map[int64]bool{at: true, at + 1: false} {
		policy.Trigger = compact.Tokens(trigger)
		if plan := l.make(compact.Threshold, policy); plan.Act != want {
			t.Errorf("%d tokens, the trigger is %d: %v %s", at, trigger, plan.Act, plan.Why)
		}
	}
	policy.Trigger = compact.Tokens(at + 1)
	for _, reason := range []compact.Reason{compact.Manual, compact.Length} {
		if plan := l.make(reason, policy); !plan.Act {
			t.Errorf("%s: %s", reason, plan.Why)
		}
	}
}

// Where the summary fails, preset turns takes reasoning, calls and results out of the kept
// turns but the last, and messages of which nothing is left.
func TestTurnsSummarizerFails(t *testing.T) {
	policy, err := compact.Preset(compact.PresetTurns)
	if err != nil {
		t.Fatal(err)
	}
	policy.Window, policy.KeepTurns, policy.Summarizer = 64_000, 3, failing{errors.New("boom")}
	l := caseLog(t)
	l.fill(6)
	for range 3 {
		l.user("look")
		l.append(session.Message(message.Assistant(l.clock, message.ThinkingBlock("let me think", ""), message.TextBlock("I look."))))
		l.call("read", `{"path":"a.go"}`, prose(5))
		l.append(session.Message(message.Assistant(l.clock, message.ThinkingBlock("only thinking", ""))))
		l.say("seen")
	}
	plan := l.make(compact.Manual, policy)
	if !plan.Act || plan.Summary == nil || len(plan.Summary.Rejected) == 0 {
		t.Fatalf("%s %+v", plan.Why, plan.Summary)
	}
	l.apply(plan)
	thinking, calls, results, empty := 0, 0, 0, 0
	for _, m := range contents(l.context()) {
		for _, b := range m.Content {
			switch b.Type {
			case message.BlockThinking:
				thinking++
			case message.BlockToolCall:
				calls++
			default:
			}
		}
		if m.Role == message.RoleToolResult {
			results++
		}
		if len(m.Content) == 0 && m.Summary == "" {
			empty++
		}
	}
	if calls != 1 || results != 1 || empty != 0 || thinking > 2 {
		t.Errorf("%d thoughts, %d calls, %d results, %d empty messages are left", thinking, calls, results, empty)
	}
}

// What an earlier pass has offloaded is put back for the summary.
func TestSynapseRestores(t *testing.T) {
	l := caseLog(t)
	l.user("begin")
	at := l.call("read", `{"path":"a.go"}`, "error: port 48123 is taken by another server\n"+prose(300))
	l.fill(8)
	policy := synapse(t)
	policy.Trigger = compact.Tokens(1_000)
	plan := l.make(compact.Threshold, policy)
	if !plan.Act || plan.Summary != nil {
		t.Fatalf("the first pass: %s", plan.Why)
	}
	l.apply(plan)
	if f := l.fateOf(at); f.Fate != compact.FateEdited {
		t.Fatalf("%+v", f)
	}
	plan = l.make(compact.Manual, policy)
	if !plan.Act || plan.Summary == nil || !strings.Contains(plan.Summary.Text, "48123") {
		t.Errorf("%s: what was offloaded is not in the summary", plan.Why)
	}
}

// Offloading that frees as much as the preset asks for is enough; one token less is not.
func TestSynapseMinFreed(t *testing.T) {
	l := caseLog(t)
	l.user("begin")
	l.call("read", `{"path":"a.go"}`, prose(300))
	l.fill(8)
	policy := synapse(t)
	policy.Trigger, policy.Synapse.MinFreed = compact.Tokens(1_000), -1
	plan := l.make(compact.Threshold, policy)
	freed := plan.Before.Tokens - plan.After.Tokens
	if !plan.Act || plan.Summary != nil || freed < 1_000 {
		t.Fatalf("%s: %d tokens freed", plan.Why, freed)
	}
	for ask, want := range map[int64]bool{freed: false, freed + 1: true} {
		policy.Synapse.MinFreed = ask
		if plan := l.make(compact.Threshold, policy); (plan.Summary != nil) != want {
			t.Errorf("%d tokens are freed and %d are asked for: %s", freed, ask, plan.Why)
		}
	}
}

// Five answers lie between two summaries.
func TestSynapseCooldown(t *testing.T) {
	policy := synapse(t)
	policy.Trigger = compact.Tokens(3_000)
	l := caseLog(t)
	l.fill(15)
	plan := l.make(compact.Threshold, policy)
	if plan.Summary == nil {
		t.Fatal(plan.Why)
	}
	l.apply(plan)
	l.user(prose(600))
	for n := range 7 {
		if plan := l.make(compact.Threshold, policy); (plan.Act && plan.Summary != nil) != (n >= 5) {
			t.Errorf("%d answers after a summary: %v %s", n, plan.Act, plan.Why)
		}
		l.say("ok")
	}
}

// A result within the target keeps the newest turns as they are, with their exchanges.
func TestTurnsKeepsExchanges(t *testing.T) {
	policy, err := compact.Preset(compact.PresetTurns)
	if err != nil {
		t.Fatal(err)
	}
	policy.Window, policy.KeepTurns = 64_000, 3
	l := caseLog(t)
	l.fill(12)
	var results []string
	for range 3 {
		l.user("look")
		results = append(results, l.call("read", `{"path":"a.go"}`, prose(5)))
		l.say("seen")
	}
	plan := l.make(compact.Manual, policy)
	if !plan.Act || plan.Cut.Kept != 12 || plan.After.Tokens > plan.Budget.Target {
		t.Fatalf("%s %+v", plan.Why, plan.Cut)
	}
	l.apply(plan)
	for _, id := range results {
		if f := l.fateOf(id); f.Fate != compact.FateVerbatim {
			t.Errorf("%+v", f)
		}
	}
}
