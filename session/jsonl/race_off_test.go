//go:build !race

package jsonl_test

// underRace is explained in race_on_test.go.
const underRace = false
