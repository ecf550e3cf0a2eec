package sessiongen

import "math/bits"

// rng is the splitmix64 generator. It is written out here so that a seed means
// the same session under every Go version, and it uses integers only where a
// rounding difference between processors could change the result.
type rng struct{ state uint64 }

func (r *rng) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// n returns a number in [0, limit); 0 when limit is not positive.
func (r *rng) n(limit int) int {
	if limit <= 0 {
		return 0
	}
	hi, _ := bits.Mul64(r.next(), uint64(limit))
	return int(hi)
}

// between returns a number in [lo, hi].
func (r *rng) between(lo, hi int) int { return lo + r.n(hi-lo+1) }

// chance is true with probability p.
func (r *rng) chance(p float64) bool { return float64(r.next()>>11)/(1<<53) < p }

// size returns a number in [1, limit] of which each order of magnitude is equally likely.
func (r *rng) size(limit int) int {
	if limit <= 1 {
		return 1
	}
	top := 1 << r.between(1, bits.Len(uint(limit)))
	return min(limit, r.between(max(1, top/2), top))
}

func pick[T any](r *rng, from []T) T { return from[r.n(len(from))] }

const hexDigits = "0123456789abcdef"

func (r *rng) hex(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = hexDigits[r.n(16)]
	}
	return string(b)
}

// uuid returns text in the form of a version 7 UUID.
func (r *rng) uuid() string {
	return r.hex(8) + "-" + r.hex(4) + "-7" + r.hex(3) + "-" + pick(r, []string{"8", "9", "a", "b"}) + r.hex(3) + "-" + r.hex(12)
}

func (r *rng) base64(n int) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	b := make([]byte, n/4*4+4)
	for i := range b {
		b[i] = digits[r.n(64)]
	}
	return string(b)
}

// shuffle permutes the first n items by calls of swap.
func (r *rng) shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, r.n(i+1))
	}
}
