package clew_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/wire"
)

func TestFit(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(6, 6))
	cfg := small(8_000)
	list := []*message.Message{message.System("be brief", start)}
	passes := 0
	for k := range 40 {
		list = append(list, turn(r, k)...)
		list[len(list)-1].Usage = &message.Usage{Input: 100 * int64(len(list)), Output: 10}
		before, headers := shown(list), slices.Clone(list)
		out, res, err := clew.Fit(ctx, list, cfg)
		if err != nil {
			t.Fatal(k, err)
		}
		if shown(list) != before || !slices.Equal(list, headers) {
			t.Fatal("Fit changed its input")
		}
		again, _, err := clew.Fit(ctx, list, cfg)
		if err != nil || shown(again) != shown(out) {
			t.Fatal("I6: the same list gave another result", err)
		}
		if _, _, err := wire.Build(out, wire.Anthropic, wire.Target{}, wire.Options{}); err != nil {
			t.Fatalf("round %d: %v", k, err)
		}
		if !res.Plan.Act {
			if !slices.Equal(out, list) {
				t.Fatal("a list that fits was changed")
			}
			continue
		}
		passes++
		if res.Plan.After.Guarded() > res.Plan.Budget.Limit || !strings.Contains(shown(out), "be brief") {
			t.Errorf("round %d: %+v", k, res.Plan)
		}
		n := 0
		for _, m := range out {
			if m.Role == message.RoleCompactionSummary {
				n++
			}
			if m.Usage.Total() > 0 {
				t.Error("usage of another context is reported")
			}
		}
		if n > 1 {
			t.Errorf("round %d: %d summaries", k, n)
		}
		if next, again, err := clew.Fit(ctx, out, cfg); err != nil || again.Plan.Act || !slices.Equal(next, out) {
			t.Errorf("I10: round %d: what fits is compacted again: %v", k, err)
		}
		list = out // what goes on is the result
	}
	if passes < 3 {
		t.Errorf("only %d passes", passes)
	}
	if !strings.Contains(shown(list), "request 39") {
		t.Error("the user's last words are gone")
	}
}

func TestFitRefuses(t *testing.T) {
	ctx := context.Background()
	pending := []*message.Message{message.User("go", start), message.Assistant(start, message.ToolCallBlock("c", "ls", []byte("{}")))}
	if _, _, err := clew.Fit(ctx, pending, clew.Config{}); !errors.Is(err, clew.ErrPending) {
		t.Errorf("pending: %v", err)
	}
	if out, res, err := clew.Fit(ctx, nil, clew.Config{}); err != nil || len(out) != 0 || res.Plan.Act {
		t.Errorf("nothing: %v", err)
	}
	cfg := small(1_000)
	cfg.System = strings.Repeat("rule ", 2_000)
	var fixed *clew.FixedPartError
	if _, _, err := clew.Fit(ctx, []*message.Message{message.User("hello", start)}, cfg); !errors.As(err, &fixed) {
		t.Errorf("fixed part: %v", err)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := clew.Fit(done, pending[:1], clew.Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, _, err := clew.Fit(ctx, pending[:1], small(5)); err == nil {
		t.Error("a window of 5 tokens was taken")
	}
}

func TestValidate(t *testing.T) {
	for want, cfg := range map[string]clew.Config{
		`no preset "best"; there are clew, pi`: {Policy: compact.Policy{Name: "best"}},
		"a window of 12 tokens":                {Policy: compact.Policy{Window: 12}},
		"a window of -5 tokens":                {Policy: compact.Policy{Window: -5}},
		"reserve is -1: requests would":        {Policy: compact.Policy{Reserve: compact.Tokens(-1)}},
		"keep is -3%":                          {Policy: compact.Policy{Keep: compact.Percent(-3)}},
		"must not be negative":                 {Policy: compact.Policy{KeepTurns: -1}},
		"requests of at most 5 bytes":          {Policy: compact.Policy{MaxBytes: 5}},
		`Models["m"]: a window of 9 tokens`:    {Models: map[string]clew.Override{"m": {Window: 9}}},
		`Models["m"]: the target is -2`:        {Models: map[string]clew.Override{"m": {Target: compact.Tokens(-2)}}},
		`Models[""]`:                           {Models: map[string]clew.Override{"": {}}},
		"Tools is not JSON":                    {Tools: []byte("{")},
		`Hooks[0] ("x") has no function`:       {Hooks: []clew.Hooks{{Name: "x"}}},
	} {
		err := cfg.Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
		if _, newErr := clew.New(cfg); newErr == nil {
			t.Errorf("%q: New takes it", want)
		}
		path := tempFile(t)
		if _, err := clew.Open(context.Background(), path, cfg); err == nil {
			t.Errorf("%q: Create takes it", want)
		}
	}
	for _, name := range compact.PresetNames() {
		p, err := compact.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := (&clew.Config{Policy: p}).Validate(); err != nil {
			t.Errorf("preset %s: %v", name, err)
		}
	}
}
