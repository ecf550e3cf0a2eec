package compact_test

import (
	"fmt"
	"testing"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// TestWhyIsTrue: whatever makes a context too large, the sentence that says so names a size
// that is over what it is compared with, and is the size that was compared.
func TestWhyIsTrue(t *testing.T) {
	l := caseLog(t)
	for range 12 {
		l.user(prose(60))
		l.call("read", `{"path":"a.go"}`, prose(150))
	}
	// pi goes by whatever usage was reported, also that of a model that counts in another way.
	answer := message.Assistant(l.clock, message.TextBlock("I see."))
	answer.Provider, answer.Model = "openai", "gpt-5"
	answer.Usage = &message.Usage{Input: 32_000, Output: 5}
	l.append(session.Message(answer))
	seen := map[string]int{}
	for _, name := range compact.PresetNames() {
		for window := int64(6_000); window < 40_000; window += 97 {
			policy, err := compact.Preset(name)
			if err != nil {
				t.Fatal(err)
			}
			policy.Window = window
			if name == compact.PresetClew && window%2 == 0 {
				policy.Trigger = compact.Percent(70)
			}
			if name == compact.PresetSynapse {
				policy.Trigger = compact.Tokens(window - 2_000)
			}
			plan, err := compact.Check(l.snapshot(), compact.Request{Reason: compact.Threshold, Policy: &policy})
			if err != nil {
				t.Fatal(err)
			}
			kind, ok := trueWhy(plan)
			if !ok {
				t.Errorf("%s, window %d: %q of %d tokens, %d guarded, limit %d", name, window, plan.Why, plan.Before.Tokens, plan.Before.Guarded(), plan.Budget.Limit)
			}
			seen[kind]++
		}
		// A trigger is reached from its number on.
		policy := compact.Policy{Name: name, Window: 60_000, Trigger: compact.Tokens(l.make(compact.Threshold, compact.Policy{Window: 60_000}).Before.Tokens)}
		if name == compact.PresetPi {
			continue
		}
		plan, err := compact.Check(l.snapshot(), compact.Request{Reason: compact.Threshold, Policy: &policy})
		if err != nil {
			t.Fatal(err)
		}
		kind, ok := trueWhy(plan)
		if !ok || kind != "reached" {
			t.Errorf("%s: %q", name, plan.Why)
		}
	}
	t.Log(seen)
	for _, kind := range []string{"over", "margin", "pi", "within"} {
		if seen[kind] < 3 {
			t.Errorf("%s: only %d cases", kind, seen[kind])
		}
	}
}

// trueWhy tells which sentence a plan says, and whether it holds.
func trueWhy(plan *compact.Plan) (kind string, ok bool) {
	var tokens, counted, most int64
	said := func(format string, into ...any) bool {
		n, err := fmt.Sscanf(plan.Why, format, into...)
		return err == nil && n == len(into)
	}
	switch {
	case said("the context of %d tokens is over %d", &tokens, &most):
		return "over", plan.Act && tokens == plan.Before.Tokens && tokens > most
	case said("the context of %d tokens, %d with the margin for what is estimated, is over %d", &tokens, &counted, &most):
		return "margin", plan.Act && tokens == plan.Before.Tokens && tokens <= most && counted == plan.Before.Guarded() && counted > most
	case said("the context of %d tokens, %d as pi counts, is over %d", &tokens, &counted, &most):
		return "pi", plan.Act && tokens == plan.Before.Tokens && tokens <= most && counted > most
	case said("the context of %d tokens has reached %d", &tokens, &most):
		return "reached", plan.Act && tokens == plan.Before.Tokens && tokens == most
	case said("the context of %d tokens is within %d", &tokens, &most):
		return "within", !plan.Act && tokens == plan.Before.Tokens && tokens <= most && plan.Before.Guarded() <= plan.Budget.Limit
	}
	return plan.Why, false
}
