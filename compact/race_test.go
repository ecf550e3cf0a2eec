//go:build race

package compact_test

// underRace says that tests run with the race detector, several times slower.
const underRace = true
