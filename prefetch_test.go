package clew_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
)

// TestCheckpointsChangeNothing: what is prepared at commits and passing tests gives the same pass, for less work, as a
// session that is opened just before it.
func TestCheckpointsChangeNothing(t *testing.T) {
	ctx := context.Background()
	seeds := 4
	if testing.Short() {
		seeds = 1
	}
	for seed := range uint64(seeds) {
		path := tempFile(t)
		cfg := fixed(small(30_000))
		s, err := clew.Open(ctx, path, cfg)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 3))
		for k := 0; ; k++ {
			for _, m := range turn(r, k) {
				add(t, s, m)
			}
			id := fmt.Sprint("g", k)
			add(t, s, message.Assistant(start, message.ToolCallBlock(id, "bash", []byte(`{"command":"go test ./... && git commit -am done"}`))),
				message.ToolResult(id, "bash", "ok  example.com/x\n[main 1a2b3c4] done", false, start), message.Assistant(start, message.TextBlock("Committed.")))
			p := prepare(t, s)
			if p.Plan.Act || k > 200 {
				t.Fatalf("seed %d: a pass came before it was looked for", seed)
			}
			if p.Reading.Guarded() > 19_000 {
				break
			}
		}
		began := allocations()
		one, err := s.Compact(ctx, clew.CompactOptions{DryRun: true, Keep: compact.Tokens(1_500)})
		warm := allocations() - began
		if err != nil {
			t.Fatal(err)
		}
		x, err := s.Explain(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(x.Checkpoints); n < 5 || x.Checkpoints[0].Why != "commit" || !x.Checkpoints[n-1].Ready {
			t.Errorf("seed %d: checkpoints that were not prepared: %+v", seed, x.Checkpoints)
		}
		s.Close()
		if s, err = clew.Open(ctx, path, cfg); err != nil {
			t.Fatal(err)
		}
		if x, err = s.Explain(ctx); err != nil || x.Checkpoints[0].Ready {
			t.Errorf("seed %d: prepared before anything was: %+v %v", seed, x.Checkpoints, err)
		}
		s.Close()
		if s, err = clew.Open(ctx, path, cfg); err != nil {
			t.Fatal(err)
		}
		began = allocations()
		two, err := s.Compact(ctx, clew.CompactOptions{DryRun: true, Keep: compact.Tokens(1_500)})
		cold := allocations() - began
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if !one.Plan.Act || one.Plan.Summary == nil || one.Plan.Summary.Text != two.Plan.Summary.Text || one.Plan.After != two.Plan.After {
			t.Errorf("seed %d: %v %v", seed, one.Plan.Why, two.Plan.Why)
		}
		if warm*10 > cold*9 {
			t.Errorf("seed %d: %d allocations with what was prepared, %d without: nothing is saved", seed, warm, cold)
		}
	}
}

func allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
