//go:build race

package transcript_test

// seeds is how many sessions of n a test makes: fewer under the race detector, which
// is many times slower on loops over bytes, and has nothing to find in functions that
// share nothing.
func seeds(n uint64) uint64 { return max(n/8, 4) }

const underRace = true
