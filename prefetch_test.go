package clew_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
)

// TestCheckpointsChangeNothing: what is prepared at commits and passing tests gives
// the same pass as a session that is opened just before it.
func TestCheckpointsChangeNothing(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(4) {
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
		if n := s.Prepared(); n == 0 {
			t.Errorf("seed %d: nothing was prepared at a checkpoint", seed)
		}
		began := time.Now()
		one, err := s.Compact(ctx, clew.CompactOptions{DryRun: true, Keep: compact.Tokens(1_500)})
		warm := time.Since(began)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if s, err = clew.Open(ctx, path, cfg); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		two, err := s.Compact(ctx, clew.CompactOptions{DryRun: true, Keep: compact.Tokens(1_500)})
		cold := time.Since(began)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if !one.Plan.Act || one.Plan.Summary == nil || one.Plan.Summary.Text != two.Plan.Summary.Text || one.Plan.After != two.Plan.After {
			t.Errorf("seed %d: %v %v", seed, one.Plan.Why, two.Plan.Why)
		}
		t.Logf("prepared %v, not prepared %v", warm, cold)
	}
}
