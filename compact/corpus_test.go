package compact_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/wire"
)

var testWindows = []int64{8_000, 16_000, 32_000, 64_000, 200_000, 1_000_000}

// realSessions returns the session files to try everything on.
func realSessions(t *testing.T) []string {
	t.Helper()
	own, _ := filepath.Glob("../testdata/pi/*.jsonl")
	corpus := os.Getenv("CLEW_CORPUS")
	if corpus == "" {
		corpus = "../../shared/corpus"
	}
	var real []string
	for _, folder := range []string{"sessions/pi", "pi-golden", "pi-fuzz"} {
		files, _ := filepath.Glob(filepath.Join(corpus, folder, "*.jsonl"))
		real = append(real, files...)
	}
	if len(real) == 0 && os.Getenv("CLEW_CORPUS") != "" {
		t.Fatalf("CLEW_CORPUS=%s holds no sessions", corpus)
	}
	t.Logf("%d files of this repository, %d of the corpus", len(own), len(real))
	return append(own, real...)
}

// Whatever the session, the window and the preset, the pass gives a context that
// fits and is valid for every provider, and undo gives back the one before. When
// it can't, the error says with numbers that the fixed part is too large.
func TestEverySessionFits(t *testing.T) {
	outcomes := map[string]map[string]int{}
	every := 2 // of the combinations one in so many
	if testing.Short() || underRace {
		every = 6
	} else if os.Getenv("CLEW_LONG") != "" {
		every = 1
	}
	for n, file := range realSessions(t) {
		if (testing.Short() || underRace) && n%24 != 0 {
			continue
		}
		log, found := load(t, file), summary.NewCache()
		for k, preset := range compact.PresetNames() {
			for i, window := range testWindows {
				if (n+i+k)%every != 0 {
					continue
				}
				if outcomes[preset] == nil {
					outcomes[preset] = map[string]int{}
				}
				policy, err := compact.Preset(preset)
				if err != nil {
					t.Fatal(err)
				}
				policy.Window = window
				name := fmt.Sprintf("%s %s %d", filepath.Base(file), preset, window)
				outcomes[preset][tryPass(t, name, log, policy, found)]++
			}
		}
	}
	for _, preset := range compact.PresetNames() {
		t.Log(preset, outcomes[preset])
	}
}

// load reads a session into memory, with calls at the leaf settled.
func load(t *testing.T, file string) *session.Log {
	t.Helper()
	ctx := context.Background()
	f, err := jsonl.Open(ctx, file, jsonl.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var entries []*session.Entry
	for e, err := range f.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	m := session.NewMemory(f.Header(), entries...)
	log, err := session.NewLog(ctx, m, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := compact.CloseOpenCalls(ctx, log); err != nil {
		t.Fatal(err)
	}
	return log
}

// tryPass plans, applies, checks and undoes one pass, and says what came of it.
func tryPass(t *testing.T, name string, log *session.Log, policy compact.Policy, found *summary.Cache) string {
	t.Helper()
	ctx := context.Background()
	last, err := log.Store().Last(ctx)
	if err != nil || last == nil {
		return "empty"
	}
	snap, err := compact.Load(ctx, log.Store(), log.Leaf(), &compact.Setup{Uncalibrated: true})
	if err != nil {
		t.Fatal(err)
	}
	before, meter := snap.Context, snap.Meter
	plan, err := compact.Make(ctx, snap, compact.Request{Reason: compact.Manual, Policy: &policy, Found: found})
	var fixed *compact.FixedPartError
	switch {
	case errors.As(err, &fixed):
		t.Logf("%s: %v", name, err)
		return "fixed part"
	case err != nil:
		t.Errorf("%s: %v", name, err)
		return "error"
	case !plan.Act:
		if plan.Before.Guarded() > plan.Budget.Limit {
			t.Errorf("%s: nothing done over the limit: %s", name, plan.Why)
		}
		return "nothing"
	}
	if _, err := compact.Apply(ctx, log, plan); err != nil {
		t.Errorf("%s: apply: %v", name, err)
		return "error"
	}
	after, err := log.Context(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r := meter.Measure(contents(after), len(after.Items))
	if got := int64(float64(r.Tokens)); got > plan.Budget.Limit {
		t.Errorf("%s: %d tokens after the pass, the limit is %d", name, got, plan.Budget.Limit)
	}
	if plan.After.Guarded() > plan.Budget.Limit || plan.After.Tokens >= plan.Before.Tokens {
		t.Errorf("%s: from %d to %d guarded %d, limit %d", name, plan.Before.Tokens, plan.After.Tokens, plan.After.Guarded(), plan.Budget.Limit)
	}
	for _, w := range wire.ProfileNames() {
		profile, err := wire.ProfileByName(w)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := wire.Build(contents(after), profile, wire.Target{Provider: snap.Model.Provider, Model: snap.Model.ID, TakesImages: true}, wire.Options{}); err != nil {
			t.Errorf("%s: not valid for %s: %v", name, w, err)
		}
	}
	if _, err := log.Undo(ctx, session.UndoOptions{}); err != nil {
		t.Errorf("%s: undo: %v", name, err)
	}
	back, err := log.Context(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := render(back), render(before); a != b {
		t.Errorf("%s: undo does not give the context back", name)
	}
	outcome := "fits its target"
	switch {
	case plan.After.Tokens > plan.Budget.Target:
		outcome = "over its target"
	case plan.After.Tokens*10 < plan.Budget.Target*6:
		outcome = "under 60 % of its target"
	}
	return outcome
}

func contents(c *session.Context) []*message.Message {
	msgs := make([]*message.Message, len(c.Items))
	for i, it := range c.Items {
		msgs[i] = it.Message
	}
	return msgs
}

func render(c *session.Context) string {
	var b []byte
	for _, it := range c.Items {
		b = append(b, it.Message.JSON()...)
		b = append(b, '\n')
	}
	return string(b)
}
