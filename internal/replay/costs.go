package replay

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

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
		if !ok || !s.tax || s.model {
			r = -1
		}
		out.Rows = append(out.Rows, costRow(&s, r, costs))
	}
	return out, nil
}
