//go:build !race

package transcript_test

func seeds(n uint64) uint64 { return n }

const underRace = false
