package replay

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// A session of four answers, worked out by hand: the user's message has 100 tokens,
// each answer 10, each result 1,000; the overhead is 500.
func smallRecording() *recording {
	r := &recording{model: "m"}
	add := func(tokens int, result bool) {
		b := block{id: blockID{src: len(r.blocks)}, tokens: tokens, result: result}
		if result {
			b.parts[KindResults] = tokens
		}
		r.blocks = append(r.blocks, b)
	}
	add(100, false)
	for range 4 {
		r.calls = append(r.calls, call{upTo: len(r.blocks), out: 10})
		add(10, false)
		add(1000, true)
	}
	return r
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

func TestCostByHand(t *testing.T) {
	prices, _ := NamedPrices("anthropic")
	opt := &CostOptions{Window: 2000, Tail: 1100, Summary: 50, Overhead: 500, Prices: prices}
	plain := shapers()[0]

	// Contexts 600, 1610, 2620, 3630. First call: 600 written. Then what was there
	// is read and 1,010 are written, three times. Output 40 at five times the price.
	c := costOf(smallRecording(), &plain, 0, opt)
	want := 1.25*600 + .1*600 + 1.25*1010 + .1*1610 + 1.25*1010 + .1*2620 + 1.25*1010 + 5*40
	if !near(c.Total, want) || c.Peak != 3630 || len(c.Rewrites) != 0 {
		t.Errorf("append only: %v, wanted %v; %+v", c.Total, want, c)
	}

	// Before the third call there are 2,620: the newest answer with its result stays,
	// the 1,110 before it become 50. Of what was cached, only the overhead holds.
	// Before the fourth there are 1,560 + 1,010 and it is done again.
	compacting := shaper{shape: compactTo(tailTokens), tax: true}
	c = costOf(smallRecording(), &compacting, 100, opt)
	want = 1.25*600 + .1*600 + 1.25*1010 + 2*(.1*500+1.25*(50+1010)+1.25*100) + 5*40
	if !near(c.Total, want) || len(c.Rewrites) != 2 || c.Peak != 1610 || !near(c.Tax, 250) {
		t.Errorf("compacting: %v, wanted %v; %+v", c.Total, want, c)
	}
	if rw := c.Rewrites[0]; rw != (Rewrite{Call: 2, Before: 2620, After: 1560, Invalidated: 1110}) {
		t.Errorf("the first rewrite: %+v", rw)
	}
	if got := c.Parts[2]; got[KindOverhead] != 500 || got[KindSummary] != 50 || got[KindResults] != 1000 {
		t.Errorf("parts at the third call: %v", got)
	}

	// A model's summary also costs its call: the context read, the summary written.
	model := shaper{shape: compactTo(tailTokens), tax: true, model: true}
	m := costOf(smallRecording(), &model, 100, opt)
	if want := c.Total + .1*2620 + .1*(1560+1010) + 2*5*50; !near(m.Total, want) {
		t.Errorf("with a model: %v, wanted %v", m.Total, want)
	}
}

// After five minutes the cache is gone.
func TestCacheExpires(t *testing.T) {
	prices, _ := NamedPrices("anthropic")
	opt := &CostOptions{Window: 1e6, Tail: 1, Summary: 1, Overhead: 500, Prices: prices}
	plain := shapers()[0]
	r := smallRecording()
	warm := costOf(r, &plain, 0, opt).Total
	r.calls[2].gap = cacheLife + 1
	if cold := costOf(r, &plain, 0, opt).Total; !near(cold-warm, (1.25-.1)*1610) {
		t.Errorf("a cold cache costs %v more", cold-warm)
	}
	r.calls[2].gap = cacheLife
	if still := costOf(r, &plain, 0, opt).Total; !near(still, warm) {
		t.Errorf("at five minutes exactly: %v, not %v", still, warm)
	}
}

// A window that is never reached: every policy that waits for it costs the same as
// none. Without a cache the cost is the sum of the contexts and answers.
func TestCostProperties(t *testing.T) {
	s := longSession(t, 21, 60)
	r := record(&s)
	for _, name := range []string{"anthropic", "openai", "none"} {
		prices, ok := NamedPrices(name)
		if !ok {
			t.Fatal(name)
		}
		opt := &CostOptions{Window: 1e7, Tail: 8000, Summary: 4000, Overhead: 12000, Prices: prices}
		base := costOf(r, &shapers()[0], 0, opt)
		for _, s := range shapers() {
			if s.name == "mask-rolling" {
				continue
			}
			if c := costOf(r, &s, 1e6, opt); !near(c.Total, base.Total) || len(c.Rewrites) > 0 {
				t.Errorf("%s with prices %s: %v, not %v", s.name, name, c.Total, base.Total)
			}
		}
		if name == "none" {
			sum := 0.0
			for i, n := range base.Sizes {
				sum += float64(n) + 5*float64(r.calls[i].out)
			}
			if !near(sum, base.Total) {
				t.Errorf("without a cache %v, not %v", base.Total, sum)
			}
		}
		small := *opt
		small.Window = 40_000
		for _, s := range shapers() {
			c := costOf(r, &s, 0, &small)
			for i, parts := range c.Parts {
				sum := 0
				for _, n := range parts {
					sum += n
				}
				if sum != c.Sizes[i] {
					t.Fatalf("%s: the parts of call %d add up to %d of %d", s.name, i, sum, c.Sizes[i])
				}
			}
			if compacts := s.tax; compacts && c.Peak > small.Window+2000 {
				t.Errorf("%s: a peak of %d in a window of %d", s.name, c.Peak, small.Window)
			}
			if s.name != appendPolicy && len(c.Rewrites) == 0 {
				t.Errorf("%s never rewrites", s.name)
			}
		}
	}
}

// Whatever a policy does, a result stays with its call, and the overhead in front.
func TestShapersKeepCallsWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	opt := &CostOptions{Window: 3000, Tail: 700, Summary: 200, Overhead: 300}
	for range 200 {
		for _, s := range shapers() {
			c := &shaped{}
			c.add(block{id: blockID{src: srcOverhead}, tokens: 300})
			total := 300
			for i := range 1 + rng.IntN(40) {
				b := block{id: blockID{src: i}, tokens: rng.IntN(600), result: i > 0 && rng.IntN(2) == 0, turn: rng.IntN(5) == 0}
				total += b.tokens
				c.add(b)
				rewrote := s.shape(c, opt)
				if c.blocks[0].id.src != srcOverhead {
					t.Fatalf("%s: the overhead is gone", s.name)
				}
				for k := 1; k < len(c.blocks); k++ {
					b := c.blocks[k]
					if b.result && (k == 1 || c.blocks[k-1].id.src == srcSummary && rewrote) {
						t.Fatalf("%s: a result without its call behind %v", s.name, c.blocks[k-1].id)
					}
				}
				if last := c.blocks[len(c.blocks)-1]; last.id.src != i {
					t.Fatalf("%s: the newest message is gone", s.name)
				}
				sum := 0
				for _, b := range c.blocks {
					sum += b.tokens
				}
				if sum != c.total || c.total > total {
					t.Fatalf("%s: a total of %d, and %d counted, of %d", s.name, c.total, sum, total)
				}
			}
		}
	}
}

// What a rewrite put into a recorded session is not said again: copies and
// summaries do not count.
func TestRecordLeavesRewritesOut(t *testing.T) {
	l := newLogged(t)
	l.talk(rand.New(rand.NewPCG(1, 1)), 5)
	before := l.session("a")
	blocks := len(record(&before).blocks)
	l.append(session.NewCompaction(session.Compaction{Summary: "short", FirstKeptEntryID: before.Path[len(before.Path)-2].ID}))
	l.append(session.Message(message.User("go on", l.at)))
	after := l.session("b")
	r := record(&after)
	if len(r.blocks) != blocks+1 || len(r.calls) != 5 || r.model != "model-x" {
		t.Errorf("%d blocks for %d messages, %d calls, model %q", len(r.blocks), blocks+1, len(r.calls), r.model)
	}
}

func TestTax(t *testing.T) {
	if v := taxOf(forgettingRecall); !near(v, forgettingTax) {
		t.Errorf("what a model forgets costs %v", v)
	}
	if v := taxOf(1); v != 0 {
		t.Errorf("who forgets nothing pays %v", v)
	}
	if a, b := taxOf(.2), taxOf(.6); a <= b {
		t.Errorf("who forgets more pays less: %v, %v", a, b)
	}
}

func TestCostsInAReport(t *testing.T) {
	prices, err := ParsePrices([]byte(`{"model-x": {"input": 3, "cacheRead": 0.3, "cacheWrite": 3.75, "output": 15}}`))
	if err != nil {
		t.Fatal(err)
	}
	policies, err := FindPolicies([]string{"clew", "tail"})
	if err != nil {
		t.Fatal(err)
	}
	sessions := []Session{longSession(t, 22, 60), longSession(t, 23, 6)}
	r, err := Run(context.Background(), sessions, Options{Policies: policies, Cost: CostOptions{Window: 40_000, MinTokens: 20_000, Prices: prices}})
	if err != nil {
		t.Fatal(err)
	}
	c := r.Costs
	if len(c.Sessions) != 1 || len(c.Unpriced) != 0 {
		t.Fatalf("%d sessions, without prices: %v", len(c.Sessions), c.Unpriced)
	}
	var names []string
	for _, row := range c.Rows {
		names = append(names, row.Policy)
		if row.Dollars <= 0 || row.Pooled <= 0 || row.Sessions != 1 {
			t.Errorf("%+v", row)
		}
		if row.Policy == appendPolicy && (row.Pooled != 1 || row.Median != 1) {
			t.Errorf("%+v", row)
		}
		if row.Policy == "clew" && (row.Pooled >= 1 || row.Untaxed >= row.Pooled || row.Rewrites == 0 || !row.Recall.OK) {
			t.Errorf("%+v", row)
		}
	}
	if got := strings.Join(names, " "); got != "append clew clew+offload clew-default model" {
		t.Errorf("rows: %s", got)
	}
}

func TestParsePrices(t *testing.T) {
	for _, c := range []struct{ data, gaps, err string }{
		{`{"m": {"input": 3, "cacheRead": 0.3, "cacheWrite": 3.75, "output": 15}}`, "", ""},
		{`{"m": {"input": 4, "output": 20, "note": "x"}}`, "m has no cacheRead; 0.1 times its input price was taken; m has no cacheWrite; 1.25 times its input price was taken", ""},
		{`{"m": {"output": 15}}`, "", "no input price"},
		{`{"m": {"input": 0}}`, "", "no input price"},
		{`{"m": {"input": "3"}}`, "", `input is "3"`},
		{`{"m": {"input": -3}}`, "", "input is -3"},
		{`{"m": {"input": 1e-300, "output": 1}}`, "", "input is 1e-300"},
		{`{"m": 3}`, "", "must be an object"},
		{`{}`, "", "names no model"},
		{`[1]`, "", "one JSON object"},
		{`{"m": {"input": 3}} {}`, "", "one JSON object"},
		{`{"m": `, "", "is not JSON"},
		{``, "", "is not JSON"},
	} {
		p, err := ParsePrices([]byte(c.data))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, not an error with %q", c.data, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.data, err)
			continue
		}
		if got := strings.Join(p.Gaps, "; "); got != c.gaps {
			t.Errorf("%s: gaps %q, not %q", c.data, got, c.gaps)
		}
	}
	p, err := ParsePrices([]byte(`{"m": {"input": 4, "output": 20}, "*": {"input": 1, "cacheRead": 1, "cacheWrite": 1, "output": 2}}`))
	if err != nil {
		t.Fatal(err)
	}
	if rel, dollars := p.of("m"); fmt.Sprint(rel) != "{1 0.1 1.25 5}" || dollars != 4 {
		t.Errorf("m: %v, %v", rel, dollars)
	}
	if rel, dollars := p.of("other"); fmt.Sprint(rel) != "{1 1 1 2}" || dollars != 1 {
		t.Errorf("*: %v, %v", rel, dollars)
	}
	named, _ := NamedPrices("openai")
	if rel, dollars := named.of("m"); rel != OpenAIPrice || dollars != 0 {
		t.Errorf("a named list: %v, %v", rel, dollars)
	}
	if _, ok := NamedPrices("nope"); ok {
		t.Error("a list called nope")
	}
}

func FuzzParsePrices(f *testing.F) {
	f.Add([]byte(`{"m": {"input": 3, "cacheRead": 0.3}, "*": {"input": 1e-9}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePrices(data)
		if err != nil {
			return
		}
		for m := range p.Models {
			rel, dollars := p.of(m)
			for _, v := range []float64{rel.Input, rel.CacheRead, rel.CacheWrite, rel.Output, dollars} {
				if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("%s: %v %v", data, rel, dollars)
				}
			}
		}
	})
}

// TestParsePricesAgainAndAgain: what was not in the list is named the same each time.
// It was read before it was complete once, which showed one time in thousands.
func TestParsePricesAgainAndAgain(t *testing.T) {
	want := ""
	for i := range 5000 {
		p, err := ParsePrices([]byte(`{"m": {"input": 4, "output": 20}, "n": {"input": 1}}`))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(p.Gaps, "; ")
		if i == 0 {
			want = got
		}
		if got != want || len(p.Gaps) != 5 {
			t.Fatalf("time %d: %q", i, got)
		}
	}
}
