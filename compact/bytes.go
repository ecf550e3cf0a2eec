package compact

import (
	"fmt"
	"math"

	"github.com/clew-dev/clew/token"
)

// A request has two limits, in tokens and in bytes. The ladder knows one cost. So
// where there are too many bytes, a message costs its tokens or its share of the
// byte budget in tokens, whichever is more: what brings the sum of that within
// the limit brings both there.

// overBytes reports whether a request takes more bytes than it may.
func (p *planner) overBytes(r token.Reading) bool {
	return p.budget.Bytes > 0 && r.Bytes > p.budget.Bytes
}

// fits reports whether a context is within both limits.
func (p *planner) fits(r token.Reading) bool {
	return r.Guarded() <= p.budget.Limit && !p.overBytes(r)
}

// inBytes is the cost of bytes: 0 where there are not too many of them.
func (p *planner) inBytes(n int64) int64 {
	if p.byteRate == 0 {
		return 0
	}
	return int64(math.Ceil(float64(n) * p.byteRate))
}

// fixedBytes are those of a request that no message has.
func (p *planner) fixedBytes() int64 {
	n := p.sizes.reading.Bytes
	for _, it := range p.context.Items {
		n -= token.RequestBytes(it.Message)
	}
	return n
}

// told is a cut as reports show it: found by bytes, its costs were those of bytes.
func (p *planner) told(w *work, cut *Cut) *Cut {
	if p.byteRate == 0 {
		return cut
	}
	c := *cut
	c.Tokens = 0
	bytes := int64(0)
	for i := cut.at; i < len(w.now); i++ {
		if !w.taken[i] {
			c.Tokens += w.tokens(w.now[i])
			bytes += token.RequestBytes(w.now[i])
		}
	}
	c.Why = fmt.Sprintf("the newest %d messages take %d tokens in about %d bytes", c.Kept, c.Tokens, bytes)
	return &c
}
