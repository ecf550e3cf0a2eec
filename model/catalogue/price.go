package catalogue

import "github.com/clew-dev/clew/message"

// Price is what a model costs, in US dollars for a million tokens. A zero is
// free, or not known.
type Price struct {
	Input      float64
	Output     float64
	CacheRead  float64
	CacheWrite float64 // for minutes; an hour costs more where that can be had

	// Above has the prices of requests with more input than OverInput tokens; nil
	// where the size makes no difference.
	Above     *Price
	OverInput int64
}

// Cost returns what a call cost in US dollars; 0 for an unknown price. Where a
// provider has no price for writing to its cache, that is input.
func (p *Price) Cost(u *message.Usage) float64 {
	if p == nil || u == nil {
		return 0
	}
	if p.Above != nil && p.OverInput > 0 && u.Prompt() > p.OverInput {
		return p.Above.Cost(u)
	}
	read, write := p.CacheRead, p.CacheWrite
	if write == 0 {
		write = p.Input
	}
	if read == 0 {
		read = p.Input
	}
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*read + float64(u.CacheWrite)*write) / 1e6
}
