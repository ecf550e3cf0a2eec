package compact

import (
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/token"
)

// turns appends a path of messages that cost so many tokens as pi counts, a user's and an
// answer by turns.
func (l *piLog) turns(tokens ...int) {
	for i, n := range tokens {
		if i%2 == 0 {
			l.user(n)
		} else {
			l.answer(n)
		}
	}
}

// The example of document A: messages of 500 to 8,000 tokens and a tail of 20,000. Pi
// keeps at least the tail, so the cut is before the fourth message; the document's text
// names the fifth.
func TestPiCutOfTheExample(t *testing.T) {
	for keep, want := range map[int64]string{
		20_000: "e4",
		19_000: "e5", // reached to the token
		19_001: "e4",
		14_000: "e6",
	} {
		l := newPiLog(t)
		l.turns(500, 800, 1200, 3000, 5000, 8000, 4000, 2000)
		if prep := l.prepare(keep); prep.FirstKeptEntryID != want {
			t.Errorf("a tail of %d: kept from %s on, want %s", keep, prep.FirstKeptEntryID, want)
		}
	}
}

// The example of document D: one turn that is larger than the tail is cut inside, at an
// answer. There is no turn before it, so all that is summarized is its beginning.
func TestPiSplitTurnOfTheExample(t *testing.T) {
	l := newPiLog(t)
	l.user(50)
	l.answer(50, "c1")
	l.result("c1", 50)
	l.answer(50, "c2", "c3")
	l.result("c2", 50)
	l.result("c3", 50)
	last := l.answer(50, "c4")
	l.result("c4", 50)
	prep := l.prepare(90)
	if !prep.SplitTurn || prep.FirstKeptEntryID != last || len(prep.History) != 0 || len(prep.TurnPrefix) != 6 {
		t.Errorf("split %v, kept from %s on, history %d, prefix %d", prep.SplitTurn, prep.FirstKeptEntryID, len(prep.History), len(prep.TurnPrefix))
	}
	if cut := prep.asCut(); !cut.SplitTurn || cut.TurnStart != "e1" || cut.Kept != 2 {
		t.Errorf("%+v", cut)
	}
}

// What a kept part may begin with: the tail is spent in the middle of each kind.
func TestPiCutPlaces(t *testing.T) {
	for _, c := range []struct {
		kind string
		add  func(l *piLog) session.Draft
		may  bool
	}{
		{"user", func(*piLog) session.Draft { return session.Message(message.User(piText(50), testTime)) }, true},
		{"assistant", func(*piLog) session.Draft {
			return session.Message(message.Assistant(testTime, message.TextBlock(piText(50))))
		}, true},
		{"bashExecution", func(*piLog) session.Draft {
			return session.Message(&message.Message{Role: message.RoleBashExecution, Command: "ls", Output: piText(50)})
		}, true},
		{"custom message", func(*piLog) session.Draft {
			return session.NewCustomMessage("note", []message.Block{message.TextBlock(piText(50))}, true, nil)
		}, true},
		{"branch summary", func(*piLog) session.Draft {
			return session.NewBranchSummary(session.BranchSummary{FromID: "e1", Summary: piText(50)})
		}, true},
		{"tool result", func(*piLog) session.Draft {
			return session.Message(message.ToolResult("c1", "read", piText(50), false, testTime))
		}, false},
	} {
		l := newPiLog(t)
		l.user(50)
		l.answer(50, "c1")
		entries, err := l.log.Append(t.Context(), c.add(l))
		if err != nil {
			t.Fatal(err)
		}
		l.answer(20)
		if got := l.prepare(60).FirstKeptEntryID == entries[0].ID; got != c.may {
			t.Errorf("a kept part begins with a %s: %v", c.kind, got)
		}
	}
}

// The defaults of preset pi: a reserve of 16,384, a tail of 20,000, its template.
func TestPiDefaults(t *testing.T) {
	p, err := Preset(PresetPi)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := p.Resolve()
	if err != nil || b.Reserve != 16_384 || b.Keep != 20_000 || p.Template != summary.Structured {
		t.Errorf("%+v, template %v, %v", b, p.Template, err)
	}
}

// Preset pi compacts when pi's count is over the window less the reserve, and not at that
// size, also where the meter's is not: pi takes every image for 1,200 tokens.
func TestPiTriggerOfThePreset(t *testing.T) {
	policy, err := Preset(PresetPi)
	if err != nil {
		t.Fatal(err)
	}
	l := newPiLog(t)
	for range 45 {
		image := message.Block{Type: message.BlockImage, Data: onePixel, MIMEType: "image/png"}
		l.add(session.Message(message.User("see", testTime)))
		l.add(session.Message(message.ToolResult("x", "view", "", false, testTime).WithContent([]message.Block{image})))
	}
	path, err := l.log.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tokens := piTokens(session.Project(path))
	s, err := Load(t.Context(), l.log.Store(), l.log.Leaf(), &Setup{Uncalibrated: true})
	if err != nil || tokens < 54_000 || s.Reading.Guarded() > 40_000 {
		t.Fatalf("%d tokens as pi counts, %d as the meter does, %v", tokens, s.Reading.Guarded(), err)
	}
	for window, want := range map[int64]bool{tokens + DefaultReserve: false, tokens + DefaultReserve - 1: true} {
		policy.Window = window
		plan, err := Check(s, Request{Policy: &policy})
		if err != nil || plan.Act != want || want && !strings.Contains(plan.Why, "as pi counts") {
			t.Errorf("%d tokens in a window of %d: %v %s %v", tokens, window, plan.Act, plan.Why, err)
		}
	}
}

const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// The sizes of document A: 80,000 tokens become about 25,000.
func TestPiSizesOfTheExample(t *testing.T) {
	l := newPiLog(t)
	for range 40 {
		l.turns(20, 2000)
	}
	policy, err := Preset(PresetPi)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Load(t.Context(), l.log.Store(), l.log.Leaf(), &Setup{Uncalibrated: true, Counter: func(session.Model) token.Counter { return token.Chars4() }})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Make(t.Context(), s, Request{Reason: Manual, Policy: &policy})
	if err != nil || !plan.Act || plan.Before.Tokens < 80_000 || plan.Cut.Tokens < 20_000 || plan.Cut.Tokens > 22_100 || plan.After.Tokens > 30_000 {
		t.Errorf("%v: %d tokens before, %d kept, %d after", err, plan.Before.Tokens, plan.Cut.Tokens, plan.After.Tokens)
	}
}

// The defaults of preset synapse's own settings, and values that stand for none.
func TestSynapsePolicyDefaults(t *testing.T) {
	if got, want := (SynapsePolicy{}).resolved(), (SynapsePolicy{Scan: 0.5, MinChars: 50, MinFreed: 15_000, Cooldown: 5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := (SynapsePolicy{Scan: -1, MinChars: -1, MinFreed: -1, Cooldown: -1}).resolved(), (SynapsePolicy{}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if !slices.Contains(PresetNames(), PresetSynapse) {
		t.Error("the preset has no name")
	}
}
