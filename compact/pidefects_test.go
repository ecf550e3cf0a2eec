package compact

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// Defects that pi had and mended, and some that it has, where preparePi and the
// guard after it decide. The numbers are those of the list of defects.

// piLog is a log to write short sessions to. Its ids count up: e1, e2, ...
type piLog struct {
	t   *testing.T
	log *session.Log
	n   int
}

var piTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newPiLog(t *testing.T) *piLog {
	t.Helper()
	l := &piLog{t: t}
	log, err := session.NewLog(t.Context(), session.NewMemory(session.Header{ID: "x"}), session.Options{
		Clock: func() time.Time { return piTime },
		NewID: func() string { l.n++; return fmt.Sprintf("e%d", l.n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	l.log = log
	return l
}

func (l *piLog) add(d session.Draft) string {
	l.t.Helper()
	entries, err := l.log.Append(l.t.Context(), d)
	if err != nil {
		l.t.Fatal(err)
	}
	return entries[0].ID
}

// Each of these takes a size in tokens as pi counts, and returns the id.
func (l *piLog) user(n int) string { return l.add(session.Message(message.User(piText(n), piTime))) }

func (l *piLog) answer(n int, calls ...string) string {
	blocks := []message.Block{message.TextBlock(piText(n))}
	for _, id := range calls {
		blocks = append(blocks, message.ToolCallBlock(id, "read", json.RawMessage(`{}`)))
	}
	return l.add(session.Message(message.Assistant(piTime, blocks...)))
}

func (l *piLog) failed(n int) string {
	m := message.Assistant(piTime, message.TextBlock(piText(n)))
	m.StopReason = message.StopError
	return l.add(session.Message(m))
}

func (l *piLog) result(call string, n int) string {
	return l.add(session.Message(message.ToolResult(call, "read", piText(n), false, piTime)))
}

func (l *piLog) custom(n int) string {
	return l.add(session.NewCustomMessage("test", []message.Block{message.TextBlock(piText(n))}, true, nil))
}

func (l *piLog) omit(id string) string {
	return l.add(session.NewContextEdit(session.ContextEdit{TargetID: id, Omit: true}))
}

func (l *piLog) replace(id string, n int) string {
	return l.add(session.NewContextEdit(session.ContextEdit{TargetID: id, Content: message.EncodeBlocks([]message.Block{message.TextBlock(piText(n))})}))
}

func (l *piLog) compaction(summary, firstKept string) string {
	return l.add(session.NewCompaction(session.Compaction{Summary: summary, FirstKeptEntryID: firstKept}))
}

func (l *piLog) path() []*session.Entry {
	l.t.Helper()
	path, err := l.log.Path(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	return path
}

// prepare is preparePi of the path to the leaf, where there must be something to do.
func (l *piLog) prepare(keep int64) *piPreparation {
	l.t.Helper()
	prep, ok := preparePi(l.path(), keep)
	if !ok {
		l.t.Fatalf("nothing to compact with a tail of %d", keep)
	}
	return &prep
}

func piText(n int) string { return strings.Repeat("text", n) }

// wantParts compares what is summarized and where the kept part begins.
func wantParts(t *testing.T, prep *piPreparation, history, prefix, firstKept string) {
	t.Helper()
	if a, b := piIDs(prep.History), piIDs(prep.TurnPrefix); a != history || b != prefix || prep.FirstKeptEntryID != firstKept {
		t.Errorf("history %q, prefix %q, kept from %s; want %q, %q, %s", a, b, prep.FirstKeptEntryID, history, prefix, firstKept)
	}
}

// A1: what an earlier compaction kept is not forgotten by the next. At any time
// each message that ever was in the context is in it, or was summarized into a
// summary that is, or that was itself merged into one that is.
func TestPiDefectA1KeptMessagesForgotten(t *testing.T) {
	compactions := 0
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := newPiLog(t)
		summarized := map[string]bool{}
		previous := ""
		for range 6 {
			for range 2 + r.IntN(8) {
				call := fmt.Sprintf("c%d", l.n)
				switch r.IntN(4) {
				case 0:
					l.user(r.IntN(60))
				case 1:
					l.answer(r.IntN(60))
				case 2:
					l.answer(r.IntN(60), call)
					l.result(call, r.IntN(200))
				case 3:
					l.custom(r.IntN(60))
				}
			}
			path := l.path()
			prep, ok := preparePi(path, int64(r.IntN(200)))
			if ok {
				compactions++
				if prep.HasPrevious != (previous != "") || prep.PreviousSummary != previous {
					t.Fatalf("seed %d: previous summary %v %q, want %q", seed, prep.HasPrevious, prep.PreviousSummary, previous)
				}
				for _, it := range slices.Concat(prep.History, prep.TurnPrefix) {
					if summarized[it.Entry.ID] {
						t.Fatalf("seed %d: %s is summarized again", seed, it.Entry.ID)
					}
					summarized[it.Entry.ID] = true
				}
				previous = fmt.Sprint("summary ", compactions)
				l.compaction(previous, prep.FirstKeptEntryID)
			}
			inContext := map[string]bool{}
			for _, it := range session.Project(l.path()).Items {
				inContext[it.Entry.ID] = true
			}
			for _, e := range path {
				if e.Type != session.TypeCompaction && inContext[e.ID] == summarized[e.ID] {
					t.Fatalf("seed %d: %s is in the context: %v, is summarized: %v", seed, e.ID, inContext[e.ID], summarized[e.ID])
				}
			}
		}
	}
	if compactions < 60 {
		t.Errorf("only %d compactions", compactions)
	}
}

// A2: a branch that was left is not summarized.
func TestPiDefectA2AbandonedBranches(t *testing.T) {
	l := newPiLog(t)
	l.user(50)
	fork := l.answer(50)
	l.user(50)
	l.answer(50)
	if err := l.log.Navigate(t.Context(), fork, "test"); err != nil {
		t.Fatal(err)
	}
	l.user(50)
	last := l.answer(50)
	wantParts(t, l.prepare(50), "e1 e2", "e6", last)
}

// A3: results at the end that are larger than the tail don't make compaction do
// nothing; they stay with their call.
func TestPiDefectA3TrailingResults(t *testing.T) {
	l := newPiLog(t)
	l.user(50)
	l.answer(50)
	l.user(50)
	call := l.answer(5, "c1", "c2", "c3", "c4")
	for _, id := range []string{"c3", "c1", "c4", "c2"} {
		l.result(id, 5000)
	}
	prep := l.prepare(1000)
	wantParts(t, prep, "e1 e2", "e3", call)
	if cut := prep.asCut(); cut.Kept != 5 || cut.Tokens <= 20_000 {
		t.Errorf("kept: %+v", cut)
	}
}

// A4: where nothing can be summarized nothing is prepared, and that is an answer.
func TestPiDefectA4NothingToSummarize(t *testing.T) {
	for name, fill := range map[string]func(*piLog){
		"nothing":         func(*piLog) {},
		"no message":      func(l *piLog) { l.add(session.NewSessionInfo("x")); l.add(session.NewLabel("e1", "x")) },
		"one message":     func(l *piLog) { l.user(5000) },
		"a prompt alone":  func(l *piLog) { l.add(session.Message(message.System(piText(5000), piTime))); l.user(10) },
		"within the tail": func(l *piLog) { l.user(20); l.answer(20); l.user(20) },
		"compacted":       func(l *piLog) { l.user(500); k := l.user(500); l.answer(500); l.compaction("s", k) },
		"compacted, nothing since": func(l *piLog) {
			l.user(500)
			k := l.answer(500)
			l.compaction("s", k)
			l.add(session.NewSessionInfo("x"))
		},
		"all was taken out":         func(l *piLog) { l.omit(l.user(500)); l.omit(l.answer(500)) },
		"kept nothing, nothing new": func(l *piLog) { l.user(500); l.compaction("s", ""); l.add(session.NewLabel("e1", "x")) },
	} {
		l := newPiLog(t)
		fill(l)
		if prep, ok := preparePi(l.path(), 100); ok {
			t.Errorf("%s: %s | %s, from %s on", name, piIDs(prep.History), piIDs(prep.TurnPrefix), prep.FirstKeptEntryID)
		}
	}
}

// A5: the messages of extensions count: what is kept is the tail and one message.
func TestPiDefectA5CustomMessagesUncounted(t *testing.T) {
	l := newPiLog(t)
	for range 50 {
		l.custom(400)
	}
	cut := l.prepare(2000).asCut()
	if cut.Tokens != 2000 || cut.Summarized != 45 {
		t.Errorf("%+v", cut)
	}
}

// Defect A6: the guard's cut parts no call from its result, is at or before that
// of pi where it can be, says what it is, and keeps what stands behind it.
func TestPiDefectA6CutsApart(t *testing.T) {
	cost := token.Chars4().Message
	cuts, moved, forward, nothing, unsplit := 0, 0, 0, 0, 0
	try := func(place string, path []*session.Entry, keep int64) {
		prep, ok := preparePi(path, keep)
		if !ok {
			return
		}
		cuts++
		c := prep.context
		units := unitsOf(c.Items, cost)
		cut := prep.asCut()
		safe := safeCut(c, units, cut, cost)
		if safe.Summarized == 0 {
			nothing++
			return
		}
		checkPair(t, c.Items, safe)
		switch {
		case safe.at > cut.at:
			forward++
			if first := slices.IndexFunc(units, func(u unit) bool { return u.To > safe.from }); units[first].To != safe.at {
				t.Errorf("%s: moved on from %d to %d, and not because the first unit was parted", place, cut.at, safe.at)
			}
		case safe.at < cut.at:
			moved++
		case safe.SplitTurn != cut.SplitTurn:
			unsplit++
		}
		if safe.at != cut.at && !strings.Contains(safe.Why, cut.FirstKept) {
			t.Errorf("%s: %q does not say where pi's cut was", place, safe.Why)
		}
		if safe.Summarized != safe.at-safe.from || safe.Kept != len(c.Items)-safe.at || safe.Tokens != piCost(c.Items[safe.at:]) {
			t.Errorf("%s: counts of %+v", place, safe)
		}
		if safe.SplitTurn != (safe.turn < safe.at) || safe.SplitTurn != (safe.TurnStart != "") ||
			safe.SplitTurn && safe.Kept > 0 && c.Items[safe.at].Message.StartsTurn() {
			t.Errorf("%s: split turn of %+v", place, safe)
		}
		if got, want := keptAfter(path, safe), withoutSystem(c.Items[safe.at:]); piIDs(got) != piIDs(want) {
			t.Errorf("%s: after the compaction\n%s, kept are\n%s", place, piIDs(got), piIDs(want))
		}
	}
	eachPiCut(t, sessiongen.Options{PiSafe: true}, try)
	for seed := range uint64(150) {
		path := steered(t, rand.New(rand.NewPCG(seed, 6)))
		for _, keep := range piTails {
			try(fmt.Sprintf("steered %d keep %d", seed, keep), path, keep)
		}
	}
	t.Logf("%d cuts: %d moved back, %d on, %d left nothing, %d split no turn after all", cuts, moved, forward, nothing, unsplit)
	if moved < 50 || forward < 5 || nothing < 5 || unsplit < 20 {
		t.Error("too few cases")
	}
}

// steered returns a path on which messages come between calls and their results.
func steered(t *testing.T, r *rand.Rand) []*session.Entry {
	l := newPiLog(t)
	var open []string
	for range 8 + r.IntN(12) {
		switch k := r.IntN(6); {
		case k == 0:
			l.user(r.IntN(80))
		case k == 1:
			l.custom(r.IntN(80))
		case k < 4 && len(open) > 0:
			i := r.IntN(len(open))
			l.result(open[i], r.IntN(80))
			open = slices.Delete(open, i, i+1)
		default:
			var calls []string
			for range r.IntN(3) {
				calls = append(calls, fmt.Sprintf("c%d-%d", l.n, len(calls)))
			}
			l.answer(r.IntN(80), calls...)
			open = append(open, calls...)
		}
	}
	return l.path()
}

// A7: metadata beside an input that the model has not seen leave it where it is.
func TestPiDefectA7MetadataMoveTheCut(t *testing.T) {
	l := newPiLog(t)
	l.user(50)
	l.answer(50)
	first := l.add(session.NewLabel("e1", "here"))
	l.add(session.NewCustom("state", nil))
	l.user(5000)
	l.add(session.NewLabel("e1", "there"))
	l.add(session.NewModelChange(session.Model{Provider: "p", ID: "m"}))
	l.add(session.NewSessionInfo("name"))
	for _, keep := range []int64{0, 100, 4000} {
		prep := l.prepare(keep)
		// pi takes the turn before for split, because the kept part begins with a label.
		wantParts(t, prep, "", "e1 e2", first)
		safe := safeCut(prep.context, unitsOf(prep.context.Items, token.Chars4().Message), prep.asCut(), token.Chars4().Message)
		if safe.SplitTurn || safe.TurnStart != "" || safe.turn != safe.at || safe.at != 2 || safe.FirstKept != first {
			t.Errorf("keep %d: the guard takes the turn for split: %+v", keep, safe)
		}
	}
}

// A8: nor is an input summarized that was edited, or of which anything beside the
// failed attempts to answer it was.
func TestPiDefectA8EditedInput(t *testing.T) {
	l := newPiLog(t)
	l.user(50)
	l.answer(50)
	input := l.user(5000)
	l.replace(input, 4000)
	wantParts(t, l.prepare(100), "e1 e2", "", input)
	l.omit(l.failed(5))
	wantParts(t, l.prepare(100), "e1 e2", "", input)
}

// A9: an input over the tail, all answers to which failed and were taken out, is
// summarized itself. What took them out is kept.
func TestPiDefectA9InputThatOverflowed(t *testing.T) {
	l := newPiLog(t)
	l.user(50)
	l.answer(50)
	input := l.user(5000)
	failed := l.failed(5)
	wantParts(t, l.prepare(100), "e1 e2", "", input)
	l.omit(failed)
	prep := l.prepare(100)
	wantParts(t, prep, "e1 e2", input, failed)
	cut := prep.asCut()
	if cut.Kept != 0 || cut.Tokens != 0 || !cut.SplitTurn || cut.TurnStart != input || !strings.Contains(cut.Why, "newest message is over") {
		t.Errorf("%+v", cut)
	}
	if safe := safeCut(prep.context, unitsOf(prep.context.Items, token.Chars4().Message), cut, token.Chars4().Message); *safe != *cut {
		t.Errorf("the guard makes %+v of it", safe)
	}
	if kept := keptAfter(l.path(), cut); len(kept) > 0 {
		t.Errorf("after the compaction %s is back", piIDs(kept))
	}
	if _, ok := preparePi(l.path(), 10_000); ok {
		t.Error("an input within the tail is summarized")
	}

	l = newPiLog(t)
	l.user(50)
	l.compaction("s", "")
	l.user(500)
	l.omit(l.failed(5))
	if _, ok := preparePi(l.path(), 1000); ok {
		t.Error("an input within the tail is summarized because it is all there is")
	}
}

// A10: a split turn makes two parts of one compaction, which share nothing.
func TestPiDefectA10PartsOfASplitTurn(t *testing.T) {
	l := newPiLog(t)
	l.user(50)
	l.answer(50)
	l.user(50)
	l.answer(500)
	l.answer(500)
	prep := l.prepare(100)
	wantParts(t, prep, "e1 e2", "e3 e4", "e5")
	cut := prep.asCut()
	if cut.from != 0 || cut.turn != 2 || cut.at != 4 || cut.TurnStart != "e3" || cut.Summarized != 4 || cut.Kept != 1 {
		t.Errorf("%+v", cut)
	}
}

// A11: when the first kept turn is split there is no new history, and the previous
// summary is still there to be kept.
func TestPiDefectA11PreviousSummaryLost(t *testing.T) {
	l := newPiLog(t)
	l.user(50)
	l.answer(50)
	kept := l.user(50)
	l.compaction("the first summary", kept)
	l.answer(500)
	last := l.answer(500)
	prep := l.prepare(100)
	wantParts(t, prep, "", "e3 e5", last)
	if !prep.HasPrevious || prep.PreviousSummary != "the first summary" {
		t.Errorf("previous summary %v %q", prep.HasPrevious, prep.PreviousSummary)
	}
	if cut := prep.asCut(); cut.from != 1 || cut.turn != 1 || cut.at != 3 {
		t.Errorf("%+v", cut)
	}
}

// A12: only what the model sees is summarized: no names, labels or state.
func TestPiDefectA12MetadataSummarized(t *testing.T) {
	l := newPiLog(t)
	for range 3 {
		l.add(session.NewSessionInfo("a name"))
		l.user(100)
		l.add(session.NewLabel("e1", "a label"))
		l.add(session.NewCustom("state", json.RawMessage(`"x"`)))
		l.omit(l.answer(10))
		l.answer(100)
	}
	prep := l.prepare(100)
	wantParts(t, prep, "e2 e7 e9 e14", "e16", "e17") // what is not seen stays with the answer after it
}

// W2: with pi's reserve and tail a small window is over its threshold for ever,
// and a larger one with nothing that could be done about it. The guard's bounds
// leave something to do wherever the threshold is crossed.
func TestPiDefectW2SmallWindows(t *testing.T) {
	const reserve, keep = 16_384, 20_000
	if !piTrigger(1, 16_384, reserve) || !piTrigger(1, 0, reserve) {
		t.Error("pi's own rule is not what it was")
	}
	l := newPiLog(t)
	for range 17 {
		l.user(500)
		l.answer(500)
	}
	tokens := piTokens(session.Project(l.path()))
	if _, ok := preparePi(l.path(), keep); ok || !piTrigger(tokens, 32_000, reserve) {
		t.Errorf("%d tokens in a window of 32,000: pi has something to do", tokens)
	}
	for _, window := range []int64{1_000, 2_000, 4_000, 8_000, 16_000, 16_384, 20_000, 32_000, 64_000, 200_000} {
		budget, _, err := Policy{Window: window, Reserve: Tokens(reserve), Keep: Tokens(keep)}.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		if piTrigger(window/2, budget.Window, budget.Reserve) {
			t.Errorf("window %d: half of it is over the threshold", window)
		}
		l := newPiLog(t)
		for tokens := int64(0); !piTrigger(tokens, budget.Window, budget.Reserve); tokens += 100 {
			l.user(50)
			l.answer(50)
		}
		if _, ok := preparePi(l.path(), budget.Keep); !ok {
			t.Errorf("window %d: over the threshold, and nothing to do", window)
		}
	}
}

// W23: an entry that is not on the path would keep nothing. The first kept entry
// always is on it, after the latest compaction's own first kept entry.
func TestPiDefectW23FirstKeptNotOnThePath(t *testing.T) {
	cuts := 0
	eachPiCut(t, sessiongen.Options{}, func(place string, path []*session.Entry, keep int64) {
		prep, ok := preparePi(path, keep)
		if !ok {
			return
		}
		cuts++
		active := prep.context.Active[prep.from:]
		if i := slices.IndexFunc(active, func(e *session.Entry) bool { return e.ID == prep.FirstKeptEntryID }); i < 0 {
			t.Errorf("%s: %s is not in the context", place, prep.FirstKeptEntryID)
		}
	})
	if cuts < 300 {
		t.Errorf("only %d cuts", cuts)
	}
}

// pi compacts when the context is over the window less the reserve, not when it is
// just that.
func TestPiTrigger(t *testing.T) {
	for _, c := range []struct {
		tokens, window, reserve int64
		want                    bool
	}{
		{183_616, 200_000, 16_384, false},
		{183_617, 200_000, 16_384, true},
		{0, 200_000, 16_384, false},
		{0, 16_384, 16_384, false},
		{1, 16_384, 16_384, true},
		{0, 8_000, 16_384, true},
		{100, 0, 16_384, true},
		{100, 100, 0, false},
		{101, 100, 0, true},
	} {
		if got := piTrigger(c.tokens, c.window, c.reserve); got != c.want {
			t.Errorf("%d tokens, window %d, reserve %d: %v", c.tokens, c.window, c.reserve, got)
		}
	}
}
