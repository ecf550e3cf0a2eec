package model_test

import (
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

func builtIn(t testing.TB) *model.Catalogue {
	t.Helper()
	c, err := model.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCatalogue(t *testing.T) {
	c := builtIn(t)
	for _, x := range []struct {
		provider, id             string
		window, maxInput, output int64
		price                    float64 // of input
	}{
		{"anthropic", "claude-sonnet-4-5", 200_000, 0, 64_000, 3},
		{"anthropic", "claude-sonnet-4-5-20250929", 200_000, 0, 64_000, 3},
		{"openrouter", "anthropic/claude-sonnet-4.5", 200_000, 0, 64_000, 3},
		{"bedrock", "us.anthropic.claude-opus-4-6-v1:0", 1_000_000, 0, 128_000, 5},
		{"anthropic", "claude-opus-5-5", 1_000_000, 0, 128_000, 4},
		{"anthropic", "Claude-Opus-5", 1_000_000, 0, 128_000, 5},
		{"anthropic", "claude-2.1", 200_000, 0, 0, 0},
		{"openai", "gpt-5", 400_000, 272_000, 128_000, 1.25},
		{"openai", "gpt-5-mini-2025-08-07", 400_000, 272_000, 128_000, 0.25},
		{"openai", "gpt-5.2-2025-12-11", 400_000, 272_000, 128_000, 1.75},
		{"openrouter", "openai/gpt-5-2025-08-07", 400_000, 272_000, 128_000, 1.25},
		{"openai", "gpt-5-2025-13-07", 400_000, 272_000, 128_000, 0}, // no date
		{"openai", "gpt-5.4", 1_050_000, 272_000, 128_000, 2.5},
		{"openai", "gpt-5-nano", 400_000, 272_000, 128_000, 0}, // the family is known, its price is not
		{"openai", "o1-mini", 128_000, 0, 65_536, 0},
		{"google", "gemini-2.5-pro", 1_048_576, 0, 65_536, 1.25},
		{"google", "models/gemini-2.5-flash-lite", 1_048_576, 0, 65_536, 0.1},
		{"deepseek", "deepseek-chat", 1_000_000, 0, 8_192, 0.28},
		{"other", "deepseek-chat", 128_000, 0, 0, 0}, // one provider's limits are not another's
		{"ollama", "qwen3:8b", 0, 0, 0, 0},
		{"", "", 0, 0, 0, 0},
	} {
		i, ok := c.Lookup(x.provider, x.id)
		price := 0.0
		if i.Price != nil {
			price = i.Price.Input
		}
		if ok != (x.window > 0) || i.Window != x.window || i.MaxInput != x.maxInput || i.MaxOutput != x.output || price != x.price {
			t.Errorf("%s/%s: %v %+v, price %v", x.provider, x.id, ok, i, price)
		}
		if i.Provider != x.provider || i.Model != x.id {
			t.Errorf("%s/%s is called %s/%s", x.provider, x.id, i.Provider, i.Model)
		}
		if ok && !regexp.MustCompile(`^https://\S+ \(\d{4}-\d\d-\d\d\)$`).MatchString(i.Source) {
			t.Errorf("%s: no provenance in %q", x.id, i.Source)
		}
	}
}

// A catalogue of one's own comes first, and what it leaves open stays known.
func TestCatalogueOverride(t *testing.T) {
	own, err := model.ReadCatalogue(strings.NewReader(`{"models":[
		{"id":"claude-sonnet-4-5","window":150000,"source":"ours"},
		{"id":"qwen3*","window":40960,"images":false,"price":{"input":0,"output":0}},
		{"id":"gpt-5","provider":"azure","window":100000},
		{"id":"gemini-*","window":500000}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	c := builtIn(t).With(own)
	if i, _ := c.Lookup("anthropic", "claude-sonnet-4-5"); i.Window != 150_000 || i.MaxOutput != 64_000 || i.Price == nil || i.Source != "ours" {
		t.Errorf("%+v", i)
	}
	if i, ok := c.Lookup("ollama", "qwen3:8b"); !ok || i.Window != 40_960 || i.Price == nil {
		t.Errorf("%+v", i)
	}
	if i, _ := c.Lookup("azure", "gpt-5"); i.Window != 100_000 {
		t.Errorf("%+v", i)
	}
	if i, _ := c.Lookup("openai", "gpt-5"); i.Window != 400_000 {
		t.Errorf("%+v", i)
	}
	// A family of one's own comes before a single model of the built-in one.
	if i, _ := c.Lookup("google", "gemini-2.5-flash"); i.Window != 500_000 || i.MaxOutput != 65_536 {
		t.Errorf("%+v", i)
	}
	more, err := model.ReadCatalogue(strings.NewReader(`{"models":[{"id":"g*","window":300000}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if i, _ := c.With(more).Lookup("google", "gemini-2.5-flash"); i.Window != 300_000 {
		t.Errorf("%+v", i)
	}
	if i, _ := builtIn(t).With(c.With(more)).Lookup("google", "gemini-2.5-flash"); i.Window != 300_000 {
		t.Errorf("%+v", i)
	}
	if i, _ := builtIn(t).With(nil).Lookup("openai", "gpt-5"); i.Window != 400_000 {
		t.Errorf("%+v", i)
	}
}

func TestCatalogueRefuses(t *testing.T) {
	for _, bad := range []string{
		``, `[]`, `{"models":{}}`, `{"models":[{"id":"m","windw":5}]}`, `{"models":[{"id":""}]}`, `{"models":[{"id":"*"}]}`,
		`{"models":[{"id":"a*b"}]}`, `{"models":[{"id":"m","window":-1}]}`, `{"models":[{"id":"m","window":10,"maxOutput":11}]}`,
		`{"models":[{"id":"m","window":10,"maxInput":11}]}`, `{"models":[{"id":"m","thinking":"hard"}]}`,
		`{"models":[{"id":"m","price":{"input":-1}}]}`, `{"models":[{"id":"m","price":{"input":1,"above":{"output":-1}}}]}`, `{"models":[]} x`,
	} {
		if _, err := model.ReadCatalogue(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "catalogue") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func FuzzReadCatalogue(f *testing.F) {
	f.Add(`{"models":[{"id":"m*","window":5}]}`, "p", "m:x/y.z")
	f.Fuzz(func(t *testing.T, data, provider, id string) {
		c, err := model.ReadCatalogue(strings.NewReader(data))
		if err != nil {
			return
		}
		i, _ := c.Lookup(provider, id)
		if i.Window < 0 || i.Usable(-5) > i.Window && i.Window > 0 {
			t.Errorf("%+v", i)
		}
	})
}

func TestPrice(t *testing.T) {
	u := &message.Usage{Input: 1_000_000, Output: 100_000, CacheRead: 2_000_000, CacheWrite: 400_000}
	p := &model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	if got := p.Cost(u); math.Abs(got-(3+1.5+0.6+1.5)) > 1e-9 {
		t.Errorf("%v", got)
	}
	tiers := &model.Price{Input: 1, Output: 10, OverInput: 200_000, Above: &model.Price{Input: 2, Output: 20}}
	if got := tiers.Cost(&message.Usage{Input: 200_000}); math.Abs(got-0.2) > 1e-9 {
		t.Errorf("at the limit: %v", got)
	}
	// What was read from the cache counts towards the limit, and at the price of
	// input where it has none of its own.
	if got := tiers.Cost(&message.Usage{Input: 1, CacheRead: 200_000, Output: 1_000}); math.Abs(got-(2*0.200001+0.02)) > 1e-9 {
		t.Errorf("above the limit: %v", got)
	}
	var none *model.Price
	if none.Cost(u) != 0 || p.Cost(nil) != 0 {
		t.Error("an unknown price is not 0")
	}
}

func TestUsable(t *testing.T) {
	for _, c := range []struct {
		i             model.Info
		reserve, want int64
	}{
		{model.Info{Window: 200_000}, 16_384, 183_616},
		{model.Info{Window: 400_000, MaxInput: 272_000}, 16_384, 272_000},
		{model.Info{Window: 280_000, MaxInput: 272_000}, 16_384, 263_616},
		{model.Info{Window: 8_000}, 16_384, 0},
		{model.Info{}, 16_384, 0},
		{model.Info{Window: 10}, -5, 10},
	} {
		if got := c.i.Usable(c.reserve); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestWindows(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	w := model.NewWindows(func() time.Time { return now })
	r := model.Route{Provider: "openai", Model: "m"}
	other := model.Route{Provider: "openai", Model: "m", BaseURL: "http://localhost"}
	limit := func(r model.Route) int64 {
		n, ok := w.Limit(r)
		if !ok {
			return -1
		}
		return n
	}
	tokens := func(asked, limit int64) model.Overflow {
		return model.Overflow{Kind: model.OverflowTokens, Asked: asked, Limit: limit}
	}
	if limit(r) != -1 {
		t.Fatal("something is known of nothing")
	}
	for _, o := range []model.Overflow{{}, {Kind: model.OverflowBytes, Limit: 5}, {Kind: model.OverflowRate, Asked: 9, Limit: 5}, tokens(0, 0)} {
		if _, ok := w.Refused(r, o, 0); ok || limit(r) != -1 {
			t.Errorf("%+v taught something", o)
		}
	}
	// Without numbers it is a guess below what was sent.
	if n, ok := w.Refused(r, tokens(0, 0), 100_000); !ok || n != 90_000 || limit(other) != -1 {
		t.Errorf("guess %d, other route %d", n, limit(other))
	}
	// What was answered since is not too much; a second refusal can't go below it.
	w.Accepted(r, &message.Usage{Input: 50_000, CacheRead: 35_000})
	if n, _ := w.Refused(r, tokens(86_001, 0), 0); n != 86_000 {
		t.Errorf("refused at 86,001: %d", n)
	}
	if n, _ := w.Refused(r, tokens(0, 0), 60_000); n != 85_000 {
		t.Errorf("refused below what was answered: %d", n)
	}
	// A larger refusal does not widen it.
	if n, _ := w.Refused(r, tokens(0, 0), 500_000); n != 85_000 {
		t.Errorf("refused far above: %d", n)
	}
	// A number is better than any guess, and guesses do not replace it.
	if n, _ := w.Refused(r, tokens(140_004, 128_000), 70_000); n != 128_000 {
		t.Errorf("with a number: %d", n)
	}
	if n, _ := w.Refused(r, tokens(0, 0), 60_000); n != 128_000 {
		t.Errorf("a guess after a number: %d", n)
	}
	// A larger answer proves the limit wrong.
	w.Accepted(r, &message.Usage{Input: 130_000})
	if limit(r) != 130_000 {
		t.Errorf("after an answer to 130,000: %d", limit(r))
	}
	w.Accepted(r, nil)
	w.Accepted(other, &message.Usage{Input: 5})
	if limit(other) != -1 {
		t.Error("an answer alone taught a limit")
	}
	// It only lowers what is advertised.
	if i := w.Apply(r, model.Info{Window: 400_000, MaxInput: 272_000}); i.Window != 130_000 || i.MaxInput != 130_000 || i.Source == "" {
		t.Errorf("%+v", i)
	}
	if i := w.Apply(r, model.Info{Window: 8_000}); i.Window != 8_000 {
		t.Errorf("%+v", i)
	}
	if i := w.Apply(r, model.Info{}); i.Window != 130_000 || i.MaxInput != 0 {
		t.Errorf("%+v", i)
	}
	// It outlives the process.
	data, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	again := model.NewWindows(func() time.Time { return now })
	if err := json.Unmarshal(data, again); err != nil {
		t.Fatal(err)
	}
	if n, ok := again.Limit(r); !ok || n != 130_000 {
		t.Errorf("read again: %d", n)
	}
	// A guess is forgotten after a week, a number is not.
	if _, ok := w.Refused(other, tokens(0, 32_000), 0); !ok {
		t.Error("not learnt")
	}
	now = now.Add(8 * 24 * time.Hour)
	if limit(r) != -1 || limit(other) != 32_000 {
		t.Errorf("a week later: guess %d, number %d", limit(r), limit(other))
	}
	for _, bad := range []string{`{}`, `[{}]`, `[{"provider":"p","model":"m","limit":0}]`, `[{"provider":"","model":"m","limit":5}]`, `[{"provider":"p","model":"m","limit":5},{"limit":-1}]`} {
		var w model.Windows
		if err := json.Unmarshal([]byte(bad), &w); err == nil {
			t.Errorf("%s is taken", bad)
		}
		if _, ok := w.Limit(model.Route{Provider: "p", Model: "m"}); ok {
			t.Errorf("%s taught something", bad)
		}
	}
}

// The hints say what to do, and the text names everything there is to know.
func TestErrorText(t *testing.T) {
	e := &model.Error{Op: "complete", Provider: "anthropic", Model: "m", Kind: model.KindOverflow, Status: 400, Message: "prompt is too long", Attempts: 2}
	if got, want := e.Error(), "complete with anthropic/m: overflow (HTTP 400): prompt is too long; tried 2 times; compact the conversation, or send less"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	below := errors.New("below")
	e = &model.Error{Op: "stream", Provider: "p", Model: "m", Kind: model.KindNetwork, Err: below}
	if got := e.Error(); got != "stream with p/m: network: below; check the connection and try again" || !errors.Is(e, below) {
		t.Errorf("got %s", got)
	}
}
