package clew_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/wire"
)

// Defect 1.9: the window of the model in force decides, without anyone looking it up.
func TestModelsWindowCounts(t *testing.T) {
	ctx := context.Background()
	s := newSession(t, clew.Config{})
	for k := range 15 {
		id := fmt.Sprint("c", k)
		add(t, s, message.User("read on", start), message.Assistant(start, message.ToolCallBlock(id, "read", []byte(`{"path":"a.txt"}`))),
			message.ToolResult(id, "read", strings.Repeat("ten thousand tokens of plain words\n", 1_250), false, start), message.Assistant(start, message.TextBlock("yes")))
	}
	if p := prepare(t, s); p.Plan.Act || p.Plan.Budget.Window != compact.DefaultWindow {
		t.Fatalf("without a model: %s, window %d", p.Plan.Why, p.Plan.Budget.Window)
	} else if p.Reading.Tokens < 120_000 || p.Reading.Tokens > 180_000 {
		t.Fatalf("the context takes %d tokens", p.Reading.Tokens)
	}
	if err := s.SetModel(ctx, "openai", "gpt-4o"); err != nil {
		t.Fatal(err)
	}
	p := prepare(t, s)
	if p.Plan.Budget.Window != 128_000 || !p.Plan.Act || p.Reading.Tokens > 128_000 {
		t.Errorf("with gpt-4o: window %d, %s; %d tokens", p.Plan.Budget.Window, p.Plan.Why, p.Reading.Tokens)
	}
	if len(p.Warnings) > 0 {
		t.Errorf("warnings about a known model: %v", p.Warnings)
	}
}

// A model that nobody knows gets the default window and one warning, and its window is
// learned from what the provider refuses.
func TestUnknownModelLearnsFromOverflows(t *testing.T) {
	ctx := context.Background()
	s := grown(t, clew.Config{Provider: "acme", Model: "m1"}, 12)
	p := prepare(t, s)
	if p.Plan.Budget.Window != compact.DefaultWindow || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].Error(), "acme/m1") {
		t.Fatalf("window %d, warnings %v", p.Plan.Budget.Window, p.Warnings)
	}
	if p = prepare(t, s); len(p.Warnings) > 0 {
		t.Errorf("warned again: %v", p.Warnings)
	}
	refused := &model.Error{Kind: model.KindOverflow, Overflow: &model.Overflow{Kind: model.OverflowTokens, Asked: p.Reading.Tokens, Limit: 8_000}}
	if err := s.Recover(ctx, fmt.Errorf("asking: %w", refused)); err != nil {
		t.Fatal(err)
	}
	if p = prepare(t, s); p.Plan.Budget.Window != 8_000 || p.Reading.Guarded() > p.Plan.Budget.Limit {
		t.Errorf("window %d, %d tokens", p.Plan.Budget.Window, p.Reading.Guarded())
	}
	other := errors.New("no connection")
	if err := s.Recover(ctx, other); !errors.Is(err, other) || err.Error() != other.Error() {
		t.Errorf("an error that no pass can mend became %v", err)
	}
	for range 20 { // it ends, whatever the provider refuses
		if err := s.Recover(ctx, &model.Error{Kind: model.KindOverflow}); err != nil {
			return
		}
	}
	t.Error("a provider that refuses everything is asked for ever")
}

// An answer to more than a guessed limit raises it.
func TestGuessedWindowIsRaisedByAnswers(t *testing.T) {
	ctx := context.Background()
	s := newSession(t, clew.Config{Provider: "acme", Model: "m1"})
	if _, err := s.Learn(ctx, model.Overflow{Kind: model.OverflowTokens, Asked: 9_001}); err != nil {
		t.Fatal(err)
	}
	m := message.Assistant(start, message.TextBlock("ok"))
	m.Provider, m.Model, m.Usage = "acme", "m1", &message.Usage{Input: 12_000, Output: 10}
	add(t, s, message.User("hi", start), m, message.User("go on", start))
	cfg, err := s.Config(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if p, from := cfg.PolicyFor(session.Model{Provider: "acme", ID: "m1"}); p.Window != 12_000 || from != clew.WindowLearned {
		t.Errorf("window %d, %s", p.Window, from)
	}
}

// One order decides: the override of the model, the policy, the catalogue, the default;
// and what was learned caps them.
func TestWindowIsResolvedInOrder(t *testing.T) {
	gpt, other := session.Model{Provider: "openai", ID: "gpt-4o"}, session.Model{Provider: "acme", ID: "m1"}
	learned := model.NewWindows(nil)
	learned.Refused(model.Route{Provider: "openai", Model: "gpt-4o"}, model.Overflow{Kind: model.OverflowTokens, Limit: 90_000}, 0)
	one := map[string]clew.Override{"openai/gpt-4o": {Window: 50_000}, "m1": {Window: 60_000}}
	turns, err := compact.Preset(compact.PresetTurns)
	if err != nil {
		t.Fatal(err)
	}
	given := turns
	given.Window = 100_000
	small32 := func(string, string) (model.Info, bool) { return model.Info{Window: 32_000}, true }
	tiny := model.NewWindows(nil)
	tiny.Refused(model.Route{Provider: "openai", Model: "gpt-4o"}, model.Overflow{Kind: model.OverflowTokens, Limit: 20_000}, 0)
	for _, x := range []struct {
		cfg    clew.Config
		model  session.Model
		window int64
		from   string
	}{
		{clew.Config{Policy: turns}, gpt, 64_000, clew.WindowPreset},
		{clew.Config{Policy: turns}, other, 64_000, clew.WindowPreset},
		{clew.Config{Policy: turns, Lookup: small32}, gpt, 32_000, clew.WindowCatalogue},
		{clew.Config{Policy: turns, Windows: learned}, gpt, 64_000, clew.WindowPreset},
		{clew.Config{Policy: turns, Windows: tiny}, gpt, 20_000, clew.WindowLearned},
		{clew.Config{Policy: turns, Models: map[string]clew.Override{"gpt-4o": {Window: 90_000}}}, gpt, 90_000, clew.WindowSet},
		{clew.Config{Policy: given, Lookup: small32}, gpt, 100_000, clew.WindowSet},
		{clew.Config{}, gpt, 128_000, clew.WindowCatalogue},
		{clew.Config{}, other, 0, clew.WindowAssumed},
		{clew.Config{}, session.Model{}, 0, clew.WindowAssumed},
		{small(100_000), gpt, 100_000, clew.WindowSet},
		{clew.Config{Policy: compact.Policy{Window: 100_000}, Models: one}, gpt, 50_000, clew.WindowSet},
		{clew.Config{Models: one}, other, 60_000, clew.WindowSet},
		{clew.Config{Windows: learned}, gpt, 90_000, clew.WindowLearned},
		{clew.Config{Windows: learned, Policy: compact.Policy{Window: 100_000}}, gpt, 90_000, clew.WindowLearned},
		{clew.Config{Windows: learned, Models: one}, gpt, 50_000, clew.WindowSet},
		{clew.Config{Lookup: func(string, string) (model.Info, bool) { return model.Info{Window: 400_000, MaxInput: 272_000}, true }}, other, 272_000 + compact.DefaultReserve, clew.WindowCatalogue},
	} {
		if p, from := x.cfg.PolicyFor(x.model); p.Window != x.window || from != x.from {
			t.Errorf("%v: %d, %s; want %d, %s", x.model, p.Window, from, x.window, x.from)
		}
	}
}

// What is given once is sent, and counted.
func TestPromptIsGivenOnce(t *testing.T) {
	s := newSession(t, clew.Config{System: "Be brief.", Tools: model.EncodeTools([]model.Tool{{Name: "read"}}), Provider: "openai", Model: "gpt-4o"})
	add(t, s, message.User("hi", start))
	p := prepare(t, s)
	req, _, err := p.Render(wire.Anthropic)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(req.System), "Be brief.") || !strings.Contains(string(req.Tools), `"read"`) || len(req.Messages) != 1 {
		t.Errorf("%s\n%s\n%d messages", req.System, req.Tools, len(req.Messages))
	}
	bare := newSession(t, clew.Config{})
	add(t, bare, message.User("hi", start))
	if q := prepare(t, bare); p.Reading.Tokens <= q.Reading.Tokens {
		t.Errorf("%d tokens with the prompt, %d without", p.Reading.Tokens, q.Reading.Tokens)
	}
	if p.MaxOutput != 16_384 {
		t.Errorf("room for an answer of %d tokens", p.MaxOutput)
	}
}

// Open makes the file where there is none, and goes on with the one that is there.
func TestOpenMakesOrGoesOn(t *testing.T) {
	ctx := context.Background()
	path := tempFile(t)
	for turn := range 2 {
		s, err := clew.Open(ctx, path, clew.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(prepare(t, s).Messages); got != turn {
			t.Errorf("%d messages when opened the %d. time", got, turn+1)
		}
		add(t, s, message.User("hello", start))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A field of a decision that has no effect at a point is refused, and says where it has.
func TestMisplacedDecisionIsRefused(t *testing.T) {
	s := newSession(t, clew.Config{Hooks: []clew.Hooks{{Name: "stopper", EditContext: func(context.Context, clew.ContextEvent) (clew.Decision, error) {
		return clew.Decision{Cancel: true, Add: "hidden"}, nil
	}}}})
	add(t, s, message.User("hello", start))
	p := prepare(t, s)
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].Error(), "hook stopper failed in EditContext: its answer was not taken: Cancel has no effect here; it counts in BeforeCompact") {
		t.Errorf("warnings %v", p.Warnings)
	}
	if strings.Contains(shown(p.Messages), "hidden") {
		t.Error("a part of a refused decision was taken")
	}
}
