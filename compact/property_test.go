package compact_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/token"
	"github.com/clew-dev/clew/wire"
)

// A life is a random session that random things happen to: messages, passes of
// every preset, undo with and without later turns, navigation, pins. After each,
// the invariants of docs/architecture.md are checked.
type life struct {
	t     *testing.T
	r     *rand.Rand
	name  string
	log   *session.Log
	store *session.Memory
	clock time.Time
	ids   int
	done  map[string]int
}

func newLife(t *testing.T, seed uint64) *life {
	t.Helper()
	ctx := context.Background()
	gen := sessiongen.Generate(seed, sessiongen.Options{
		WellFormed: seed%3 != 0, PiSafe: true, Version: 3,
		UserBytes: 3000, AnswerBytes: 3000, ResultBytes: 12_000,
	})
	f, err := jsonl.Read(ctx, fmt.Sprint("seed ", seed), bytes.NewReader(gen.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var entries []*session.Entry
	for e, err := range f.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	l := &life{
		t: t, r: rand.New(rand.NewPCG(seed, 1)), name: fmt.Sprint("seed ", seed), done: map[string]int{},
		store: session.NewMemory(f.Header(), entries...), clock: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
	}
	l.log, err = session.NewLog(ctx, l.store, session.Options{
		Clock: func() time.Time { l.clock = l.clock.Add(time.Second); return l.clock },
		NewID: func() string { l.ids++; return fmt.Sprintf("%016x", 0xabc0000+l.ids) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *life) fail(format string, args ...any) {
	l.t.Helper()
	l.t.Errorf("%s: %s", l.name, fmt.Sprintf(format, args...))
}

func (l *life) context() *session.Context {
	c, err := l.log.Context(context.Background())
	if err != nil {
		l.t.Fatal(l.name, err)
	}
	return c
}

func (l *life) append(drafts ...session.Draft) {
	if _, err := l.log.Append(context.Background(), drafts...); err != nil {
		l.t.Fatal(l.name, err)
	}
}

var words = strings.Fields("the parser reads config.go and fails with exit status 1 在 第二 行 remember never to touch schema_v2.sql 🙂 retry after 30s see https://example.com/a/b")

func (l *life) text(most int) string {
	var b strings.Builder
	for n := l.r.IntN(most) + 1; n > 0; n-- {
		b.WriteString(words[l.r.IntN(len(words))])
		b.WriteByte(" \n"[l.r.IntN(12)/11])
	}
	return b.String()
}

// turn appends a user message and an answer with calls and their results.
func (l *life) turn() {
	l.append(session.Message(message.User(l.text(60), l.clock)))
	blocks := []message.Block{message.TextBlock(l.text(40))}
	var results []session.Draft
	for n := l.r.IntN(4); n > 0; n-- {
		id := fmt.Sprintf("call_%d_%d", l.ids, n)
		blocks = append(blocks, message.ToolCallBlock(id, "read", []byte(`{"path":"config.go"}`)))
		results = append(results, session.Message(message.ToolResult(id, "read", l.text(1500), false, l.clock)))
	}
	l.r.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
	l.append(session.Message(message.Assistant(l.clock, blocks...)))
	l.append(results...)
	l.append(session.Message(message.Assistant(l.clock, message.TextBlock(l.text(40)))))
}

func (l *life) meter() *token.Meter {
	m, err := token.NewMeter(token.Config{Provider: "anthropic", Model: "claude-opus-4-5"})
	if err != nil {
		l.t.Fatal(err)
	}
	return m
}

func (l *life) snapshot() *compact.Snapshot {
	l.t.Helper()
	return loadCase(l.t, l.store, l.log.Leaf())
}

// plainSetup measures without what usage teaches.
var plainSetup = &compact.Setup{Model: session.Model{Provider: "anthropic", ID: "claude-opus-4-5"}, Uncalibrated: true}

// loadCase loads the snapshot at a leaf.
func loadCase(t *testing.T, store session.Store, leaf string) *compact.Snapshot {
	t.Helper()
	s, err := compact.Load(context.Background(), store, leaf, plainSetup)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pass plans and applies a pass, and checks what must hold of it.
func (l *life) pass() {
	ctx := context.Background()
	if _, err := compact.CloseOpenCalls(ctx, l.log); err != nil {
		l.t.Fatal(l.name, err)
	}
	names := compact.PresetNames()
	policy, err := compact.Preset(names[l.r.IntN(len(names))])
	if err != nil {
		l.t.Fatal(err)
	}
	policy.Window = []int64{6_000, 12_000, 24_000, 64_000}[l.r.IntN(4)]
	reason := compact.Manual
	if l.r.IntN(2) == 0 {
		reason = compact.Threshold
	}
	before := l.context()
	in, req := l.snapshot(), compact.Request{Reason: reason, Policy: &policy}
	plan, err := compact.Make(ctx, in, req)
	var fixed *compact.FixedPartError
	switch {
	case errors.As(err, &fixed):
		l.done["refused with numbers"]++
		return
	case err != nil:
		l.fail("%s window %d: %v", policy.Name, policy.Window, err)
		return
	case !plan.Act:
		l.done["nothing to do"]++
		return
	}
	// I6: the same input gives the same plan.
	again, err := compact.Make(ctx, in, req)
	if err != nil || fmt.Sprint(again.Stages, again.After, again.Cut) != fmt.Sprint(plan.Stages, plan.After, plan.Cut) ||
		plan.Summary != nil && again.Summary.Text != plan.Summary.Text {
		l.fail("I6: two plans of the same input differ")
	}
	// I9: a log that has grown since is not written to.
	if l.r.IntN(4) == 0 {
		l.append(session.NewLabel(l.log.Leaf(), "meanwhile"))
		n := l.count()
		if _, err := compact.Apply(ctx, l.log, plan); !errors.Is(err, session.ErrConflict) || l.count() != n {
			l.fail("I9: applied to a log that has grown: %v", err)
		}
		if plan, err = compact.Make(ctx, l.snapshot(), compact.Request{Reason: reason, Policy: &policy}); err != nil || !plan.Act {
			return
		}
		before = l.context()
	}
	if _, err := compact.Apply(ctx, l.log, plan); err != nil {
		l.fail("apply: %v", err)
		return
	}
	after := l.context()
	l.done["pass of "+policy.Name]++
	// I3: it fits, also when measured anew.
	r := l.meter().Measure(contents(after), len(after.Items))
	if r.Tokens > plan.Budget.Limit || plan.After.Guarded() > plan.Budget.Limit {
		l.fail("I3: %d tokens of %d (%s)", r.Tokens, plan.Budget.Limit, policy.Name)
	}
	// What the plan says of the context is what the next snapshot reads.
	if now := l.snapshot().Reading; now != plan.After {
		l.fail("the plan says %+v, and the context reads %+v", plan.After, now)
	}
	l.userWords(before, after, plan)
	// I10: nothing more is done for the threshold.
	if next, err := compact.Make(ctx, l.snapshot(), compact.Request{Reason: compact.Threshold, Policy: &compact.Policy{Window: policy.Window}}); err == nil && next.Act {
		l.fail("I10: a pass of %s is followed by another: %s", policy.Name, next.Why)
	}
	l.check()
	// I7: undo gives the context back, redo the pass.
	if l.r.IntN(2) == 0 {
		if _, err := l.log.Undo(ctx, session.UndoOptions{}); err != nil {
			l.fail("I7: undo: %v", err)
		}
		if render(l.context()) != render(before) {
			l.fail("I7: undo does not give the context back")
		}
		if l.r.IntN(2) == 0 {
			if u, err := l.log.Undo(ctx, session.UndoOptions{}); err != nil || !u.Redo {
				l.fail("I7: redo: %v %v", u, err)
			}
			if render(l.context()) != render(after) {
				l.fail("I7: redo does not give the pass back")
			}
			l.done["redo"]++
		} else {
			l.done["undo"]++
		}
	}
}

// I11: what the user said last stands in the context word for word, as a message
// or as a quote, unless it is larger than its share.
func (l *life) userWords(before, after *session.Context, plan *compact.Plan) {
	var last *session.Item
	for i := range before.Items {
		if before.Items[i].Message.UserWords() {
			last = &before.Items[i]
		}
	}
	if last == nil || l.meter().Message(last.Message) > plan.Budget.Summary/4 {
		return
	}
	l.done["last words checked"]++
	text := last.Message.Text()
	for _, it := range after.Items {
		if it.Message.UserWords() && it.Message.Text() == text {
			return
		}
		if it.Message.Role == message.RoleCompactionSummary {
			d, ok := summary.Parse(it.Message.Summary)
			if ok && slices.ContainsFunc(d.Quotes, func(q summary.Quote) bool { return q.Whole() && q.Text == text }) {
				l.done["last words quoted"]++
				return
			}
		}
	}
	l.fail("I11: the user's last words are gone: %.60q", text)
}

// said is the content of a message without signed reasoning.
func said(m *message.Message) []message.Block {
	return slices.DeleteFunc(slices.Clone(m.Content), func(b message.Block) bool {
		return b.Type == message.BlockThinking && (b.Signature != "" || b.Redacted)
	})
}

func (l *life) count() int {
	return len(l.entries())
}

// entries returns what is in the log.
func (l *life) entries() []*session.Entry {
	var all []*session.Entry
	for e, err := range l.store.All(context.Background()) {
		if err != nil {
			l.t.Fatal(l.name, err)
		}
		all = append(all, e)
	}
	return all
}

// check holds the context against the invariants that hold at any time.
func (l *life) check() {
	ctx := context.Background()
	path, err := session.Path(ctx, l.store, l.log.Leaf())
	if err != nil {
		l.t.Fatal(l.name, err)
	}
	c := l.context()
	// I1: every entry has one fate, and the fates agree with the context.
	fates := compact.Fates(path)
	if len(fates) != len(path) {
		l.fail("I1: %d fates for %d entries", len(fates), len(path))
	}
	shown := map[string]bool{}
	for _, it := range c.Items {
		shown[it.Entry.ID] = true
	}
	for i, f := range fates {
		there := f.Fate == compact.FateVerbatim || f.Fate == compact.FateEdited
		if f.Entry != path[i].ID || f.Fate == "" || f.Fate == compact.FateExcluded && f.Why == "" || there && !shown[f.Entry] {
			l.fail("I1: fate %+v of a %s", f, path[i].Type)
		}
		if !there && shown[f.Entry] && f.Why != compact.WhyFailed && f.Why != compact.WhyUnseen && f.Why != compact.WhyUnknown {
			l.fail("I1: %+v is in the context", f)
		}
		if f.Pinned && f.Fate == compact.FateSummarized {
			l.fail("a pinned entry is only summarized: %+v", f)
		}
	}
	// I2: the context is valid for every provider.
	for _, name := range wire.ProfileNames() {
		profile, err := wire.ProfileByName(name)
		if err != nil {
			l.t.Fatal(err)
		}
		_, _, err = wire.Build(contents(c), profile, wire.Target{Provider: "p", Model: "m"}, wire.Options{CloseOpenCalls: true})
		var invalid *wire.ValidationError
		if errors.As(err, &invalid) && len(c.Items) > 0 && !onlyEmpty(invalid) {
			l.fail("I2: %s: %v", name, err)
		}
	}
}

// onlyEmpty reports a list that is refused because it says nothing.
func onlyEmpty(e *wire.ValidationError) bool {
	for _, v := range e.Violations {
		if v.Rule != wire.RuleNotEmpty {
			return false
		}
	}
	return true
}

func TestInvariantsOverRandomLives(t *testing.T) {
	lives, steps := 120, 14
	if testing.Short() || underRace {
		lives = 5
	}
	total := map[string]int{}
	for seed := range uint64(lives) {
		l := newLife(t, seed)
		var logged [][]byte
		for range steps {
			// I4: what was in the log stays there byte for byte.
			logged = logged[:0]
			for _, e := range l.entries() {
				logged = append(logged, e.Raw())
			}
			switch l.r.IntN(8) {
			case 0, 1, 2:
				l.turn()
			case 3, 4, 5:
				l.pass()
			case 6:
				l.navigate()
			case 7:
				l.pin()
			}
			for i, e := range l.entries() {
				if i < len(logged) && !bytes.Equal(logged[i], e.Raw()) {
					l.fail("I4: entry %s was changed", e.ID)
				}
			}
			l.undoLater()
		}
		l.check()
		for k, n := range l.done {
			total[k] += n
		}
		if t.Failed() {
			break
		}
	}
	t.Log(total)
	if underRace || testing.Short() {
		return
	}
	if n := total["refused with numbers"]; n > 20 {
		t.Errorf("%d contexts were refused; hardly one has a fixed part that is too large", n)
	}
	for what, least := range map[string]int{
		"pass of clew": 40, "pass of pi": 20, "pass of synapse": 20, "pass of turns": 20, "pass of semantic": 20,
		"undo": 30, "redo": 30, "undo with later turns": 20, "navigate": 100, "pin": 60,
		"last words checked": 80, "last words quoted": 10, "pinned and quoted": 3,
	} {
		if total[what] < least {
			t.Errorf("%s: only %d of at least %d", what, total[what], least)
		}
	}
}

// navigate moves the leaf to a random entry.
func (l *life) navigate() {
	var ids []string
	for _, e := range l.entries() {
		ids = append(ids, e.ID)
	}
	if err := l.log.Navigate(context.Background(), ids[l.r.IntN(len(ids))], "test"); err != nil {
		l.t.Fatal(l.name, err)
	}
	l.done["navigate"]++
	l.check()
}

// pin pins a random message of the context.
func (l *life) pin() {
	c := l.context()
	if len(c.Items) == 0 {
		return
	}
	it := c.Items[l.r.IntN(len(c.Items))]
	role := it.Message.Role
	if role == message.RoleSystem || role == message.RoleCompactionSummary || l.meter().Message(it.Message) > 1500 {
		return
	}
	l.append(session.NewPin(it.Entry.ID, true))
	l.done["pin"]++
	path, err := session.Path(context.Background(), l.store, l.log.Leaf())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, f := range compact.Fates(path) {
		if f.Pinned && f.Fate == compact.FateQuoted {
			l.done["pinned and quoted"]++
		}
	}
}

// undoLater undoes a pass that turns came after, keeping those: the context ends
// with the same messages.
func (l *life) undoLater() {
	ctx := context.Background()
	if l.r.IntN(6) != 0 {
		return
	}
	_, err := l.log.Undo(ctx, session.UndoOptions{})
	var later *session.LaterError
	if !errors.As(err, &later) {
		return
	}
	before := l.context()
	u, err := l.log.Undo(ctx, session.UndoOptions{KeepLater: true})
	if err != nil || u.Redo {
		l.fail("undo with later turns: %v %+v", err, u)
		return
	}
	after := l.context()
	n := min(later.Messages, len(before.Items), len(after.Items))
	for i := 1; i <= n; i++ {
		a, b := before.Items[len(before.Items)-i], after.Items[len(after.Items)-i]
		if a.Entry.Type == session.TypeCompaction {
			break
		}
		// The copy has no usage: that was counted, and was of another context. Nor has it
		// signed reasoning, which is bound to that.
		if a.Message.Role != b.Message.Role || !bytes.Equal(message.EncodeBlocks(said(a.Message)), message.EncodeBlocks(said(b.Message))) {
			l.fail("undo with later turns: message %d from the end differs", i)
			break
		}
	}
	l.done["undo with later turns"]++
	l.check()
}
