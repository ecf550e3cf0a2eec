package compact_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	weakref "weak"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// learnedSetup learns from usage, as a session does.
var learnedSetup = &compact.Setup{
	Model:  plainSetup.Model,
	Policy: func(session.Model) compact.Policy { return compact.Policy{Window: 40_000} },
}

// What requests carry beside the log is known from reported usage. A pass keeps it, so the
// report of the pass, the next snapshot and one of the session opened again say the same
// (issue 11, 1.10).
func TestOverheadSurvivesAPass(t *testing.T) {
	ctx := context.Background()
	const overhead = 7_000
	for _, keep := range []int64{1, 3_000} { // 1: nothing before the compaction is kept but the last answer
		l := caseLog(t)
		l.user(prose(300))
		for range 12 {
			l.report(overhead+l.estimate(), message.ToolCallBlock(fmt.Sprint("c", l.ids), "read", []byte("{}")))
			l.append(session.Message(message.ToolResult(fmt.Sprint("c", l.ids-1), "read", prose(150), false, l.clock)))
		}
		l.report(overhead + l.estimate())
		snap, err := compact.Load(ctx, l.store, l.log.Leaf(), learnedSetup)
		if err != nil {
			t.Fatal(err)
		}
		policy := compact.Policy{Window: 40_000, Keep: compact.Tokens(keep)}
		plan, err := compact.Make(ctx, snap, compact.Request{Reason: compact.Manual, Policy: &policy})
		if err != nil || !plan.Act {
			t.Fatal(err, plan)
		}
		if got := plan.After.Measured; got < overhead*9/10 || got > overhead*11/10 {
			t.Errorf("keep %d: an overhead of %d after the pass, %d are carried", keep, got, overhead)
		}
		entries, err := compact.Apply(ctx, l.log, plan)
		if err != nil {
			t.Fatal(err)
		}
		again, err := compact.Load(ctx, l.store, l.log.Leaf(), learnedSetup)
		if err != nil {
			t.Fatal(err)
		}
		next := snap.With(entries...)
		if next.Reading != plan.After || again.Reading != plan.After {
			t.Errorf("keep %d: the plan says %+v, then %+v, opened again %+v", keep, plan.After, next.Reading, again.Reading)
		}
		if !reflect.DeepEqual(next.Costs, again.Costs) || next.Learned.Calls == 0 {
			t.Errorf("keep %d: learnt from %d calls", keep, next.Learned.Calls)
		}
		// It counts until something is reported.
		l.report(9_000)
		if again, err = compact.Load(ctx, l.store, l.log.Leaf(), learnedSetup); err != nil || again.Reading.Tokens != 9_000 {
			t.Errorf("%v: %+v", err, again.Reading)
		}
	}
}

// estimate is what the messages of the context cost.
func (l *life) estimate() (sum int64) {
	for _, m := range contents(l.context()) {
		sum += l.meter().Message(m)
	}
	return sum
}

// Programs keep the results of many requests: a plan must not hold the context it was
// made of.
func TestPlanHoldsNoSnapshot(t *testing.T) {
	l := caseLog(t)
	l.fill(5)
	plan, held := func() (*compact.Plan, weakref.Pointer[compact.Snapshot]) {
		snap := l.snapshot()
		plan, err := compact.Make(context.Background(), snap, compact.Request{Reason: compact.Manual})
		if err != nil {
			t.Fatal(err)
		}
		return plan, weakref.Make(snap)
	}()
	for i := 0; i < 10 && held.Value() != nil; i++ {
		runtime.GC()
	}
	if held.Value() != nil {
		t.Error("the plan holds its snapshot")
	}
	runtime.KeepAlive(plan)
}

// Snapshots that were derived from the same one share nothing that either changes.
func TestSnapshotIsImmutable(t *testing.T) {
	l := caseLog(t)
	l.fill(5)
	first := l.snapshot()
	tokens, n := first.Reading.Tokens, len(first.Messages)
	draft := func(text string) session.Draft { return session.Message(message.User(text, l.clock)) }
	a, b := first.Preview(draft("one"), draft("two")), first.Preview(draft(prose(50)))
	c := a.Preview(draft("three"))
	for _, s := range []struct {
		snap *compact.Snapshot
		last string
		n    int
	}{{a, "two", n + 2}, {b, prose(50), n + 1}, {c, "three", n + 3}} {
		if got := s.snap.Messages[len(s.snap.Messages)-1].Text(); got != s.last || len(s.snap.Messages) != s.n || len(s.snap.Costs) != s.n ||
			len(s.snap.Context.Items) != s.n || len(s.snap.Path) != s.n || s.snap.Context.Items[s.n-1].Message.Text() != s.last {
			t.Errorf("%d messages, the last is %q; want %d, %q", len(s.snap.Messages), got, s.n, s.last)
		}
		if want := s.snap.Meter.Measure(s.snap.Messages, 0); s.snap.Reading != want {
			t.Errorf("%+v, want %+v", s.snap.Reading, want)
		}
	}
	if first.Reading.Tokens != tokens || len(first.Messages) != n {
		t.Error("the first has changed")
	}
	l.user("elsewhere")
	if l.user("and on"); first.With(l.entries()[n+1:]...) != nil {
		t.Error("entries that do not follow were taken")
	}
}

// A system prompt that leaves no room is told by its type, and with its numbers.
func TestFixedPartCanBeRecognized(t *testing.T) {
	l := caseLog(t)
	l.append(session.Message(message.System(strings.Repeat("Follow the rules of the house. ", 2_400), l.clock)))
	l.fill(10)
	for _, window := range []int64{12_000, 16_000} {
		_, err := compact.Make(context.Background(), l.snapshot(), compact.Request{Policy: &compact.Policy{Window: window}})
		var fixed *compact.FixedPartError
		if !errors.As(err, &fixed) || fixed.System < 10_000 || fixed.Budget.Window != window {
			t.Errorf("window %d: %v", window, err)
		}
	}
}

// What was checked of a snapshot is taken over for the same snapshot and the same numbers,
// and for no other.
func TestCheckIsNotRepeated(t *testing.T) {
	l := caseLog(t)
	l.fill(7)
	s := l.snapshot()
	policy, other := compact.Policy{Window: 8_000}, compact.Policy{Window: 9_000}
	checked, err := compact.Check(s, compact.Request{Policy: &policy})
	if err != nil || !checked.Act {
		t.Fatal(err, checked)
	}
	checked.Why = "as checked"
	for name, c := range map[string]struct {
		snap *compact.Snapshot
		req  compact.Request
		same bool
	}{
		"the same":         {s, compact.Request{Policy: &policy}, true},
		"another snapshot": {l.snapshot(), compact.Request{Policy: &policy}, false},
		"another window":   {s, compact.Request{Policy: &other}, false},
		"another reason":   {s, compact.Request{Policy: &policy, Reason: compact.Manual}, false},
		"only thinking":    {s, compact.Request{Policy: &policy, OnlyThinking: true}, false},
	} {
		c.req.Checked = checked
		plan, err := compact.Make(context.Background(), c.snap, c.req)
		if err != nil || (plan.Why == "as checked") != c.same {
			t.Errorf("%s: %v %+v", name, err, plan)
		}
	}
	if checked.Summary != nil || checked.Stages != nil {
		t.Error("the check was changed by the plan")
	}
}
