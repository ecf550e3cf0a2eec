package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/replay/measure"
)

// The defaults of CostOptions, and what was measured of forgetting.
const (
	DefaultWindow   = 100_000
	DefaultOverhead = 12_000
	DefaultMinCost  = 60_000
	cacheLife       = 300_000 // milliseconds

	// After a compaction by a model, agents read what they had read before again:
	// so many tokens, at so much contextual recall (docs/replay.md).
	forgettingTax    = 7_600
	forgettingRecall = .41
)

// CostOptions say how costs are replayed. The zero value is ready for use.
type CostOptions struct {
	// Window is the size at which a context is rewritten, the overhead included, in
	// tokens. Default: 100,000.
	Window int
	// MinTokens is the least that a session must hold to be counted: shorter ones
	// are never rewritten. Default: 60,000.
	MinTokens int
	// Tail and Summary are what stays and what a summary takes. Default: those of
	// Options.
	Tail, Summary int
	// Overhead is what every request carries beside the conversation: the system
	// prompt and the tools. Default: 12,000.
	Overhead int
	// Prices of tokens. Default: Anthropic's, relative to an input token.
	Prices Prices
}

// setDefaults fills in the defaults.
func (c *CostOptions) setDefaults(opt *Options) error {
	c.Window = cmp.Or(c.Window, DefaultWindow)
	c.MinTokens = cmp.Or(c.MinTokens, DefaultMinCost)
	c.Tail = cmp.Or(c.Tail, opt.Tail)
	c.Summary = cmp.Or(c.Summary, opt.Budget)
	c.Overhead = cmp.Or(c.Overhead, DefaultOverhead)
	if c.Prices.Default == (Price{}) {
		c.Prices, _ = NamedPrices("")
	}
	if least := c.Overhead + c.Tail + c.Summary; c.Window <= least {
		return fmt.Errorf("a window of %d tokens is too small: the overhead, the tail and a summary take %d", c.Window, least)
	}
	return nil
}

// Cost is what a session costs under a policy, in input tokens of the model.
type Cost struct {
	Total    float64 // of all calls and rewrites
	Tax      float64 // what is read again because it was forgotten; in Total
	Append   float64 // of the same session without any rewrite
	Calls    int
	Peak     int // largest context, in tokens
	Mean     float64
	Rewrites []Rewrite
	// Sizes are the contexts at each call, Parts the same by kind. In a report only
	// the longest sessions have them; see MaxDrawn.
	Sizes []int
	Parts [][NumKinds]int
	// Dollars is the total in dollars, 0 where the prices do not say.
	Dollars float64
}

// Rewrite is a place where a policy changed the context.
type Rewrite struct {
	Call        int // index of the call that it stands before
	Before      int // tokens of the context
	After       int
	Invalidated int // tokens of the context before it that can't be read from the cache any more
}

// costOf plays the calls of a session under a policy. taxed is what each rewrite
// makes the agent read again, in tokens.
func costOf(r *recording, s *shaper, taxed float64, opt *CostOptions) Cost {
	price, dollars := opt.Prices.of(r.model)
	overhead := block{id: blockID{src: srcOverhead}, tokens: opt.Overhead}
	overhead.parts[KindOverhead] = opt.Overhead
	ctx := &shaped{}
	ctx.add(overhead)
	var (
		c    Cost
		sent []sentBlock // the request before: what a cache may hold
		next int
		sum  int
	)
	for i, call := range r.calls {
		for ; next < call.upTo; next++ {
			ctx.add(r.blocks[next])
		}
		before, k := ctx.total, len(sent)
		if s.shape(ctx, opt) {
			k = common(sent, ctx.blocks)
			c.Rewrites = append(c.Rewrites, Rewrite{Call: i, Before: before, After: ctx.total, Invalidated: sizeOf(sent[k:])})
			if s.model {
				c.Total += price.CacheRead*float64(before) + price.Output*float64(opt.Summary)
			}
			if s.tax {
				c.Tax += price.CacheWrite * taxed
			}
		}
		sent = sent[:k]
		read := 0
		if call.gap <= cacheLife {
			read = sizeOf(sent)
		}
		for _, b := range ctx.blocks[k:] {
			sent = append(sent, sentBlock{b.id, b.tokens})
		}
		c.Total += price.CacheRead*float64(read) + price.CacheWrite*float64(ctx.total-read) + price.Output*float64(call.out)
		c.Peak = max(c.Peak, ctx.total)
		sum += ctx.total
		c.Sizes = append(c.Sizes, ctx.total)
		c.Parts = append(c.Parts, ctx.parts)
	}
	c.Total += c.Tax
	c.Calls = len(r.calls)
	if c.Calls > 0 {
		c.Mean = float64(sum) / float64(c.Calls)
	}
	c.Dollars = c.Total * dollars / 1e6
	return c
}

type sentBlock struct {
	id     blockID
	tokens int
}

// common returns how many blocks at the beginning are the same.
func common(sent []sentBlock, blocks []block) int {
	n := 0
	for n < len(sent) && n < len(blocks) && sent[n].id == blocks[n].id {
		n++
	}
	return n
}

func sizeOf(blocks []sentBlock) int {
	n := 0
	for _, b := range blocks {
		n += b.tokens
	}
	return n
}

// taxOf scales the tax of forgetting by how much a policy forgets.
func taxOf(contextual float64) float64 {
	return max(0, forgettingTax*(1-contextual)/(1-forgettingRecall))
}

// CostRow is what a policy costs over all sessions.
type CostRow struct {
	Policy   string `json:"policy"`
	About    string `json:"-"`
	Sessions int    `json:"sessions"`
	// Pooled is the sum of the costs divided by that without rewrites, Median the
	// middle one of the sessions' ratios; Untaxed is Pooled without the tax of
	// forgetting.
	Pooled      float64          `json:"pooled"`
	Median      float64          `json:"median"`
	Untaxed     float64          `json:"untaxed"`
	Rewrites    int              `json:"rewrites"`
	Peak        int              `json:"peak"`            // largest context
	Mean        int              `json:"context"`         // context at a call
	Invalidated int              `json:"invalidated"`     // tokens per rewrite
	Recall      measure.Measured `json:"recall,omitzero"` // contextual recall that scaled the tax
	Dollars     float64          `json:"dollars,omitempty"`
}

func costRow(s *shaper, recall measure.Measured, costs []Cost) CostRow {
	row := CostRow{Policy: s.name, About: s.about, Sessions: len(costs), Recall: recall}
	var total, plain, base float64
	var ratios []float64
	invalidated, calls, sum := 0, 0, 0.0
	for _, c := range costs {
		total, plain, base = total+c.Total, plain+c.Total-c.Tax, base+c.Append
		if c.Append > 0 {
			ratios = append(ratios, c.Total/c.Append)
		}
		row.Rewrites += len(c.Rewrites)
		for _, rw := range c.Rewrites {
			invalidated += rw.Invalidated
		}
		row.Peak = max(row.Peak, c.Peak)
		calls += c.Calls
		sum += c.Mean * float64(c.Calls)
		row.Dollars += c.Dollars
	}
	if base > 0 {
		row.Pooled, row.Untaxed = total/base, plain/base
	}
	row.Median = median(ratios)
	if row.Rewrites > 0 {
		row.Invalidated = invalidated / row.Rewrites
	}
	if calls > 0 {
		row.Mean = int(sum / float64(calls))
	}
	for _, f := range []*float64{&row.Pooled, &row.Median, &row.Untaxed, &row.Dollars} {
		*f = measure.Rounded(*f)
	}
	return row
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.SortFunc(v, cmp.Compare[float64])
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// SessionCost is what a session costs under each policy.
type SessionCost struct {
	Name   string
	Model  string
	Tokens int
	Costs  map[string]Cost // by the name of the policy
}

// MaxDrawn is of how many sessions, the longest, the sizes at each call are kept.
const MaxDrawn = 8

// longest returns the indexes of the sessions with the most tokens.
func longest(sessions []*played, n int) map[int]bool {
	order := make([]int, len(sessions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(sessions[b].recording.tokens(), sessions[a].recording.tokens())
	})
	out := map[int]bool{}
	for _, i := range order[:min(n, len(order))] {
		out[i] = true
	}
	return out
}

// Costs are the costs of the sessions that are long enough.
type Costs struct {
	Options  CostOptions
	Rows     []CostRow
	Sessions []SessionCost
	// Unpriced are the models of sessions that the price list does not name.
	Unpriced []string
}

// replayCosts plays the calls of all sessions under the shapers of some policies. recall
// is the contextual recall of each policy, where it was measured.
func replayCosts(ctx context.Context, sessions []*played, policies []string, recall map[string]float64, opt CostOptions, parallel int) (*Costs, error) {
	var use []shaper
	for _, s := range shapers() {
		if s.of == "" || slices.Contains(policies, s.of) {
			use = append(use, s)
		}
	}
	all := make([]*SessionCost, len(sessions))
	drawn := longest(sessions, MaxDrawn)
	taxed := func(s *shaper) float64 {
		if r, ok := recall[s.of]; ok && !s.model {
			return taxOf(r)
		}
		return taxOf(forgettingRecall)
	}
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(parallel, len(sessions)) {
		wg.Go(func() {
			for i := range next {
				r := sessions[i].recording
				tokens := r.tokens()
				if tokens < opt.MinTokens {
					continue
				}
				sc := &SessionCost{Name: sessions[i].Name, Model: r.model, Tokens: tokens, Costs: map[string]Cost{}}
				base := 0.0
				for _, s := range use {
					c := costOf(r, &s, taxed(&s), &opt)
					if s.name == appendPolicy {
						base = c.Total
					}
					c.Append = base
					if !drawn[i] {
						c.Sizes, c.Parts = nil, nil
					}
					sc.Costs[s.name] = c
				}
				all[i] = sc
			}
		})
	}
	for i := range sessions {
		if ctx.Err() == nil {
			next <- i
		}
	}
	close(next)
	wg.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out := &Costs{Options: opt}
	for _, sc := range all {
		if sc == nil {
			continue
		}
		out.Sessions = append(out.Sessions, *sc)
		if _, dollars := opt.Prices.of(sc.Model); dollars == 0 && opt.Prices.Models != nil && !slices.Contains(out.Unpriced, sc.Model) {
			out.Unpriced = append(out.Unpriced, sc.Model)
		}
	}
	slices.Sort(out.Unpriced)
	for _, s := range use {
		var costs []Cost
		for _, sc := range out.Sessions {
			costs = append(costs, sc.Costs[s.name])
		}
		r, ok := recall[s.of]
		out.Rows = append(out.Rows, costRow(&s, measure.Measured{Value: r, OK: ok && s.tax && !s.model}, costs))
	}
	return out, nil
}

// Price is what tokens cost, all in one unit: as multiples of an input token, or in
// dollars per million tokens.
type Price struct {
	Input      float64 `json:"input"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Output     float64 `json:"output"`
}

// The price lists that need no file, as multiples of an input token. Of two
// providers, and of none that caches.
var (
	AnthropicPrice = Price{1, .1, 1.25, 5}
	OpenAIPrice    = Price{1, .1, 1, 8}
	UncachedPrice  = Price{1, 1, 1, 5}
)

// Prices say what the calls of each model cost.
type Prices struct {
	// Name is how reports call them.
	Name string
	// Default is for models that Models does not name.
	Default Price
	// Models has prices by model, in dollars per million tokens.
	Models map[string]Price
	// Gaps say what the file did not, and what was taken in its place.
	Gaps []string
}

// NamedPrices returns a price list by name: anthropic, openai or none.
func NamedPrices(name string) (Prices, bool) {
	switch name {
	case "anthropic", "":
		return Prices{Name: "anthropic", Default: AnthropicPrice}, true
	case "openai":
		return Prices{Name: "openai", Default: OpenAIPrice}, true
	case "none":
		return Prices{Name: "none", Default: UncachedPrice}, true
	}
	return Prices{}, false
}

// ParsePrices reads a price list: a JSON object from the names of models to objects
// with input, cacheRead, cacheWrite and output in dollars per million tokens. The
// name "*" stands for every other model. A price that is not there is taken in
// proportion to the input price, as Anthropic's are; Gaps names it. An input price
// must be there.
func ParsePrices(data []byte) (Prices, error) {
	p := Prices{Name: "file", Default: AnthropicPrice, Models: map[string]Price{}}
	end, err := jsonx.Scan(data, 0)
	if err != nil {
		return p, fmt.Errorf("the price list is not JSON: %w", err)
	}
	if len(strings.TrimSpace(string(data[end:]))) > 0 || !jsonx.IsObject(data[jsonx.Space(data, 0):end]) {
		return p, errors.New(`the price list must be one JSON object, such as {"claude-opus-4-5": {"input": 5, "cacheRead": 0.5, "cacheWrite": 6.25, "output": 25}}`)
	}
	jsonx.Members(data[jsonx.Space(data, 0):end], func(key, val []byte) bool {
		var price Price
		var gaps []string
		if price, gaps, err = parsePrice(string(key), val); err != nil {
			return false
		}
		p.Gaps = append(p.Gaps, gaps...)
		p.Models[string(key)] = price
		return true
	})
	if err != nil {
		return p, err
	}
	if len(p.Models) == 0 {
		return p, errors.New("the price list names no model")
	}
	slices.Sort(p.Gaps)
	return p, nil
}

func parsePrice(model string, val []byte) (Price, []string, error) {
	if !jsonx.IsObject(val) {
		return Price{}, nil, fmt.Errorf("the price of %s must be an object with input, cacheRead, cacheWrite and output", model)
	}
	fields := map[string]float64{}
	var bad error
	jsonx.Members(val, func(key, v []byte) bool {
		switch name := string(key); name {
		case "input", "cacheRead", "cacheWrite", "output":
			f, ok := jsonx.Float(v)
			if !ok || f < 0 || f > 1e6 || f > 0 && f < 1e-9 {
				bad = fmt.Errorf("the price of %s: %s is %s, which is no number of dollars", model, name, v)
				return false
			}
			fields[name] = f
		}
		return true
	})
	if bad != nil {
		return Price{}, nil, bad
	}
	input, ok := fields["input"]
	if !ok || input == 0 {
		return Price{}, nil, fmt.Errorf("the price of %s has no input price; without it the others can't be filled in", model)
	}
	var gaps []string
	fill := func(name string, ratio float64) float64 {
		if f, ok := fields[name]; ok {
			return f
		}
		gaps = append(gaps, fmt.Sprintf("%s has no %s; %g times its input price was taken", model, name, ratio))
		return ratio * input
	}
	// One after the other: in a return statement gaps might be read before it is filled.
	price := Price{Input: input}
	price.CacheRead = fill("cacheRead", AnthropicPrice.CacheRead)
	price.CacheWrite = fill("cacheWrite", AnthropicPrice.CacheWrite)
	price.Output = fill("output", AnthropicPrice.Output)
	return price, gaps, nil
}

// of returns the price for a model, as multiples of an input token, and the dollars
// that a million of these cost, 0 where that is not known.
func (p *Prices) of(model string) (relative Price, dollars float64) {
	price, ok := p.Models[model]
	if !ok {
		price, ok = p.Models["*"]
	}
	if !ok {
		return p.Default, 0
	}
	in := price.Input
	return Price{1, price.CacheRead / in, price.CacheWrite / in, price.Output / in}, in
}

// MarshalJSON writes the list as ParsePrices reads it, or its name.
func (p Prices) MarshalJSON() ([]byte, error) {
	if p.Models == nil {
		return json.Marshal(p.Name)
	}
	var o jsonx.Object
	for _, name := range slices.Sorted(maps.Keys(p.Models)) {
		val, err := json.Marshal(p.Models[name])
		if err != nil {
			return nil, err
		}
		o.Raw(name, val)
	}
	return o.Bytes(), nil
}
