//go:build !race

package replay

// underRace says that tests run with the race detector, several times slower.
const underRace = false
