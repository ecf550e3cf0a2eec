package replay

import (
	"cmp"
	"fmt"
	"slices"
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

// settle fills in the defaults.
func (c *CostOptions) settle(opt *Options) error {
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
	Policy, About string
	Sessions      int
	// Pooled is the sum of the costs divided by that without rewrites, Median the
	// middle one of the sessions' ratios; Untaxed is Pooled without the tax of
	// forgetting.
	Pooled, Median, Untaxed float64
	Rewrites                int
	Peak                    int     // largest context
	Mean                    float64 // context at a call
	Invalidated             float64 // tokens per rewrite
	Recall                  float64 // contextual recall that scaled the tax; -1 for none
	Dollars                 float64
}

func costRow(s *shaper, recall float64, costs []Cost) CostRow {
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
		row.Invalidated = float64(invalidated) / float64(row.Rewrites)
	}
	if calls > 0 {
		row.Mean = sum / float64(calls)
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
