package token_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

// accuracy is how far estimates are from what providers reported.
type accuracy struct {
	n                   int
	median, bias        float64 // of |estimate/real - 1| and estimate/real - 1
	p5, p95             float64 // of estimate/real - 1
	q95, q99            float64 // of real/estimate
	estimated, reported int64
}

func (a accuracy) String() string {
	return fmt.Sprintf("n %4d  median error %5.1f %%  bias %+6.1f %%  p5 %+6.1f %%  p95 %+6.1f %%  real/estimate p95 %.2f p99 %.2f  sum %+5.1f %%",
		a.n, 100*a.median, 100*a.bias, 100*a.p5, 100*a.p95, a.q95, a.q99, 100*(float64(a.estimated)/float64(a.reported)-1))
}

func measureAccuracy(c token.Counter, data []stretch) accuracy {
	a := accuracy{n: len(data)}
	var errs, sizes, factors []float64
	for _, s := range data {
		est := sum(c, s.msgs)
		a.estimated += est
		a.reported += s.grown
		e := float64(est)/float64(s.grown) - 1
		errs = append(errs, e)
		sizes = append(sizes, math.Abs(e))
		factors = append(factors, float64(s.grown)/float64(max(est, 1)))
	}
	a.median, a.bias = quantile(sizes, .5), quantile(errs, .5)
	a.p5, a.p95 = quantile(errs, .05), quantile(errs, .95)
	a.q95, a.q99 = quantile(factors, .95), quantile(factors, .99)
	return a
}

func sum(c token.Counter, msgs []*message.Message) (n int64) {
	for _, m := range msgs {
		n += c.Message(m)
	}
	return n
}

func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	return v[min(len(v)-1, int(q*float64(len(v))))]
}

// Real sessions tell how much the prompt grew between two answers. The estimate
// of what was added must come near it, and nearer than four characters to a token.
func TestAccuracy(t *testing.T) {
	dir := filepath.Join(corpusDir(t), "sessions")
	for _, c := range []struct {
		name, pattern, provider, model string
		read                           func(testing.TB, string) []step
		most                           float64 // median error of a pair
		few                            int     // pairs at least
		gaps                           bool    // the record leaves out part of what was sent
	}{
		{"pi", "pi/*.jsonl", "anthropic", "claude-opus-4-5", piSteps, .08, 500, false},
		{"claude-code", "claude-code/*.jsonl", "anthropic", "claude-opus-4-6", claudeCodeSteps, .11, 200, true},
		{"codex", "codex/*.jsonl", "openai", "gpt-5.6-sol", codexSteps, .09, 50, false},
		{"mini-swe-agent", "mini-swe-agent/*.json", "deepseek", "deepseek-chat", sweSteps, .08, 200, false},
	} {
		files := glob(t, dir, filepath.FromSlash(c.pattern))
		if len(files) == 0 {
			t.Errorf("%s: no sessions", c.name)
		}
		var pairs, slices []stretch
		for _, path := range files {
			steps := c.read(t, path)
			pairs = append(pairs, stretches(steps, 1)...)
			slices = append(slices, stretches(steps, 8)...)
		}
		counter := token.HeuristicFor(c.provider, c.model)
		ours, chars4 := measureAccuracy(counter, pairs), measureAccuracy(token.Chars4(), pairs)
		t.Logf("%-14s pairs  %-20s %v", c.name, counter.Name(), ours)
		t.Logf("%-14s pairs  %-20s %v", c.name, "chars4", chars4)
		longer := measureAccuracy(counter, slices)
		t.Logf("%-14s slices %-20s %v", c.name, counter.Name(), longer)
		t.Logf("%-14s slices %-20s %v", c.name, "chars4", measureAccuracy(token.Chars4(), slices))
		if ours.n < c.few {
			t.Errorf("%s: only %d pairs of calls", c.name, ours.n)
		}
		if !(ours.median <= c.most) {
			t.Errorf("%s: median error %.3f, want at most %.3f", c.name, ours.median, c.most)
		}
		if guard := guardOf(t, c.provider, c.model); !c.gaps && !(longer.q99 <= guard) {
			t.Errorf("%s: 1 of 100 estimates is low by more than a factor of %.2f, the guard is %.2f", c.name, longer.q99, guard)
		}
		if !(ours.median < chars4.median) {
			t.Errorf("%s: median error %.3f, of chars4 %.3f", c.name, ours.median, chars4.median)
		}
	}
}

func guardOf(t testing.TB, provider, model string) float64 {
	t.Helper()
	m, err := token.NewMeter(token.Config{Provider: provider, Model: model})
	if err != nil {
		t.Fatal(err)
	}
	return m.Guard()
}
