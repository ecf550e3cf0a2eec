package clew_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
)

func TestNoAuto(t *testing.T) {
	s := fullSession(t, clew.Config{NoAuto: true})
	p := prepare(t, s)
	if p.Plan.Act || len(p.Entries) != 0 || !strings.Contains(p.Plan.Why, "switched off") || p.Reading.Tokens <= p.Plan.Budget.Limit {
		t.Errorf("act %v, %s", p.Plan.Act, p.Plan.Why)
	}
	for _, reason := range []compact.Reason{compact.Overflow, compact.Manual} {
		if r, err := s.Compact(context.Background(), clew.CompactOptions{Reason: reason, DryRun: true}); err != nil || !r.Plan.Act || r.Plan.After.Tokens >= r.Plan.Before.Tokens {
			t.Errorf("%s: %v, %+v", reason, err, r.Plan)
		}
	}
}

// Passes for one message of the user end, but where the context would not fit.
func TestMaxPasses(t *testing.T) {
	cfg := clew.Config{MaxPasses: 1, Policy: compact.Policy{Window: 16_000, Trigger: compact.Tokens(4_000), Target: compact.Tokens(3_000)}}
	s := newSession(t, cfg)
	r := rand.New(rand.NewPCG(5, 5))
	made, declined := 0, 0
	for k := range 20 {
		msgs := turn(r, k)
		if k > 0 {
			msgs = msgs[1:] // the user says nothing more
		}
		add(t, s, msgs...)
		p := prepare(t, s)
		if p.Plan.Act {
			made++
			if made > 1 && p.Plan.Before.Guarded() <= p.Plan.Budget.Limit {
				t.Errorf("pass %d for one message, of %d tokens", made, p.Plan.Before.Tokens)
			}
		} else if strings.Contains(p.Plan.Why, "no more are allowed") {
			declined++
		}
		if p.Reading.Guarded() > p.Plan.Budget.Limit {
			t.Errorf("I3: %d tokens", p.Reading.Guarded())
		}
	}
	if made < 2 || declined < 2 {
		t.Errorf("%d passes, %d declined: the test shows little", made, declined)
	}
	if _, err := clew.New(clew.Config{MaxPasses: -1}); err == nil {
		t.Error("no error")
	}
}
