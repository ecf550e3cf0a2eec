package replay

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Sessions differ more than points of one session do, so it is sessions that are
// drawn again.
const draws = 2000

// Interval returns the 95 % interval of the mean contextual recall over sessions, by
// drawing sessions again with a fixed seed. ok is false for fewer than three.
func (r *Row) Interval() (low, high float64, ok bool) {
	n := len(r.bySession)
	if n < 3 {
		return 0, 0, false
	}
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	means := make([]float64, draws)
	for i := range means {
		for range n {
			means[i] += r.bySession[rng.IntN(n)]
		}
		means[i] /= float64(n)
	}
	slices.SortFunc(means, cmp.Compare[float64])
	return means[draws*25/1000], means[draws*975/1000-1], true
}
