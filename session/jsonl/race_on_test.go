//go:build race

package jsonl_test

// underRace makes the tests that go through all the cases of something with one
// goroutine go through fewer: the race detector would only slow them down.
const underRace = true
