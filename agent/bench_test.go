package agent_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/waittest"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

// instant is a model in the process that answers at once.
type instant struct{ text string }

func (m instant) Info() model.Info {
	return model.Info{Provider: "test", Model: "instant", Window: 200_000, MaxOutput: 8_000}
}

func (m instant) Complete(ctx context.Context, r *model.Request) (*model.Response, error) {
	return m.Stream(ctx, r, func(model.Event) error { return nil })
}

func (m instant) Stream(_ context.Context, _ *model.Request, on func(model.Event) error) (*model.Response, error) {
	a := message.Assistant(time.Now(), message.TextBlock(m.text))
	a.Provider, a.Model = "test", "instant"
	r := &model.Response{Message: a, Finish: model.FinishEnd, Attempts: 1}
	return r, on(model.Event{Kind: model.EventDone, Response: r})
}

// history writes a session of so many turns, with a pass before the last ten of them.
func history(t testing.TB, turns int) string {
	t.Helper()
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "s.jsonl")
	s, err := clew.Open(ctx, path, clew.Config{SyncLate: true})
	if err != nil {
		t.Fatal(err)
	}
	text := words(400)
	var batch []*message.Message
	for i := range turns {
		answer := message.Assistant(time.Now(), message.TextBlock(text))
		answer.Provider, answer.Model = "test", "instant"
		batch = append(batch, message.User(fmt.Sprintf("prompt %d", i), time.Now()), answer)
	}
	if _, err := s.Append(ctx, batch...); err != nil {
		t.Fatal(err)
	}
	res, err := s.Compact(ctx, clew.CompactOptions{Keep: compact.Tokens(2_000)})
	if err != nil || res.Plan.Cut == nil {
		t.Fatalf("no pass over %d turns: %v", turns, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func newBenchAgent(path string) (*agent.Agent, error) {
	return agent.New(context.Background(), agent.Config{
		Model: instant{words(400)}, File: path,
		Open: func(ctx context.Context, c clew.Config) (*clew.Session, error) { return clew.Open(ctx, path, c) },
	})
}

func benchAgent(t testing.TB, path string) *agent.Agent {
	t.Helper()
	a, err := newBenchAgent(path)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func turn(t testing.TB, a *agent.Agent) {
	t.Helper()
	if _, err := a.Send(context.Background(), agent.Input{Text: "and now?"}); err != nil {
		t.Fatal(err)
	}
	if err := a.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkTurn is a turn, from Send to the answer, behind histories of several lengths.
func BenchmarkTurn(b *testing.B) {
	for _, turns := range []int{50, 500, 5_000} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			a := benchAgent(b, history(b, turns))
			defer a.Close()
			turn(b, a)
			b.ReportAllocs()
			for b.Loop() {
				turn(b, a)
			}
		})
	}
}

// TestTurnCostsTheSame: behind a history of a hundred times the length a turn takes hardly
// more memory, once the session is open. The time is in the log.
func TestTurnCostsTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	type cost struct {
		bytes uint64
		took  time.Duration
	}
	var first cost
	for _, times := range []int{1, 10, 100} {
		a := benchAgent(t, history(t, 50*times))
		turn(t, a) // what is read and counted once
		waittest.Until(t, "the totals of the log", func() bool { return a.State().Totals.Requests > 50*times })
		var before, after runtime.MemStats
		var took []time.Duration
		runtime.ReadMemStats(&before)
		for range 20 {
			began := time.Now()
			turn(t, a)
			took = append(took, time.Since(began))
		}
		runtime.ReadMemStats(&after)
		tokens := a.State().Tokens
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(took)
		now := cost{(after.TotalAlloc - before.TotalAlloc) / 20, took[len(took)/2]}
		t.Logf("%3d times the history: %d KiB and %v a turn, in a context of %d tokens", times, now.bytes>>10, now.took, tokens)
		if times == 1 {
			first = now
			continue
		}
		if now.bytes > 2*first.bytes {
			t.Errorf("a turn takes %d bytes behind %d times the history, and %d behind the shortest", now.bytes, times, first.bytes)
		}
	}
}
