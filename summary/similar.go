package summary

import (
	"bytes"
	"slices"
	"strings"
)

// spoken holds what a document says already, so that nothing is said twice.
type spoken struct {
	text  []byte           // all of it in lower case, each statement before a zero byte
	sizes []int            // how many words each statement has
	with  map[string][]int // the statements with a word
	both  []int            // for has: how many words of each statement the new one has
}

func (s *spoken) add(t string) {
	s.text = append(append(s.text, strings.ToLower(t)...), 0)
	words := wordSet(t)
	if s.with == nil {
		s.with = map[string][]int{}
	}
	for _, w := range words {
		s.with[w] = append(s.with[w], len(s.sizes))
	}
	s.sizes = append(s.sizes, len(words))
	s.both = append(s.both, 0)
}

// has reports whether a statement is a part of one that is there, or says nearly
// the same: two thirds of the words of both are in both.
func (s *spoken) has(t string) bool {
	low := strings.ToLower(strings.TrimRight(t, ".:!… "))
	if len(s.sizes) > 0 && bytes.Contains(s.text, []byte(low)) {
		return true
	}
	words := wordSet(t)
	if len(words) < 4 {
		return false
	}
	clear(s.both)
	for _, w := range words {
		for _, i := range s.with[w] {
			s.both[i]++
		}
	}
	for i, both := range s.both {
		if both*3 >= (len(words)+s.sizes[i]-both)*2 {
			return true
		}
	}
	return false
}

func wordSet(t string) []string {
	words := slices.Collect(contentWords(t))
	slices.Sort(words)
	return slices.Compact(words)
}
