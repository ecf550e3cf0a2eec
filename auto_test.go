package clew_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
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
	cfg := clew.Config{Policy: compact.Policy{MaxPasses: 1, Window: 16_000, Trigger: compact.Tokens(4_000), Target: compact.Tokens(3_000)}}
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
	if _, err := clew.New(clew.Config{Policy: compact.Policy{MaxPasses: -1}}); err == nil {
		t.Error("no error")
	}
}

// Preset turns makes two passes between two messages of the user. What a program says as the user begins turns too.
func TestPassesOfPresetTurns(t *testing.T) {
	policy, err := compact.Preset(compact.PresetTurns)
	if err != nil {
		t.Fatal(err)
	}
	policy.Trigger, policy.Target, policy.KeepTurns = compact.Tokens(4_000), compact.Tokens(3_000), 1
	s := newSession(t, clew.Config{Policy: policy})
	r := rand.New(rand.NewPCG(5, 5))
	made, declined := 0, 0
	for k := range 40 {
		msgs := turn(r, k)
		if k > 0 {
			msgs[0].Origin = message.OriginInjected
		}
		add(t, s, msgs...)
		if p := prepare(t, s); p.Plan.Act {
			made++
		} else if strings.Contains(p.Plan.Why, "2 passes were made for the user's last message, and no more") {
			declined++
		}
	}
	if made != 2 || declined == 0 {
		t.Errorf("%d passes, %d declined", made, declined)
	}
	add(t, s, message.User("go on", start))
	if p := prepare(t, s); !p.Plan.Act {
		t.Errorf("after another message of the user, of %d tokens: %s", p.Reading.Tokens, p.Plan.Why)
	}
}
