package clew_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

// TestCalibrates: a model that counts 1.4 times what is estimated. What a session
// learns of that it keeps over a pass and over a restart, and it depends on the
// log alone.
func TestCalibrates(t *testing.T) {
	ctx := context.Background()
	const factor = 1.4
	for _, learns := range []bool{true, false} {
		path := tempFile(t)
		cfg := small(60_000)
		cfg.Provider, cfg.Model = "anthropic", "claude-opus-4-5"
		plain := token.HeuristicFor(cfg.Provider, cfg.Model)
		if !learns {
			cfg.Counter = plain
		}
		cfg = fixed(cfg)
		s, err := clew.Open(ctx, path, cfg)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(3, 3))
		size := func(msgs []*message.Message) float64 {
			n := int64(0)
			for _, m := range msgs {
				n += plain.Message(m)
			}
			return factor * float64(n)
		}
		add(t, s, message.User("go through the files", start))
		passes, checked, same := 0, 0, 0
		calls := 400
		if testing.Short() || !learns {
			calls = 60
		}
		for k := range calls {
			p := prepare(t, s)
			truth := size(p.Messages) + 5_000 // prompt and tools that the log lacks
			if p.Plan.Act {
				passes++
			}
			if p.Plan.Act && k > calls/8 {
				// Right after a pass nothing was reported about the context: all of it is
				// estimated.
				off := float64(p.Reading.Estimated)/size(p.Messages) - 1
				checked++
				if learns != (off > -.1 && off < .1) {
					t.Errorf("call %d: off by %.0f %%", k, 100*off)
				}
			}
			id := fmt.Sprint("c", k)
			answer := message.Assistant(start, message.TextBlock(text(r, 20)), message.ToolCallBlock(id, "read", []byte(`{"path":"x.go"}`)))
			answer.Provider, answer.Model = cfg.Provider, cfg.Model
			out := int64(size([]*message.Message{answer}))
			answer.Usage = &message.Usage{Input: int64(truth), Output: out}
			add(t, s, answer, message.ToolResult(id, "read", text(r, 900), false, start))
			if k%37 == 20 {
				before := prepare(t, s).Reading
				s.Close()
				if s, err = clew.Open(ctx, path, cfg); err != nil {
					t.Fatal(err)
				}
				if after := prepare(t, s).Reading; after != before {
					t.Errorf("call %d: opened again it is %+v, it was %+v", k, after, before)
				}
				same++
			}
		}
		s.Close()
		t.Logf("learns %v: %d passes, %d checked, %d times opened again", learns, passes, checked, same)
		if passes < calls/40 || checked == 0 || checked < calls/60 {
			t.Error("too few passes")
		}
	}
}
