package compact

import (
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
