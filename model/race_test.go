//go:build race

package model_test

// underRace says that the race detector slows the tests down.
const underRace = true
