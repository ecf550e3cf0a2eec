//go:build race

package wire

// Fewer cases under the race detector, which is 30 times slower on loops over
// bytes and has nothing to find in pure functions but shared state.
const underRace = true
