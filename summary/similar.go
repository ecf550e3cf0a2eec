package summary

import (
	"slices"
	"strings"
)

// spoken holds what a document says already, so that nothing is said twice.
type spoken struct {
	texts []string
	words [][]string
}

func (s *spoken) add(t string) {
	s.texts = append(s.texts, strings.ToLower(t))
	s.words = append(s.words, wordSet(t))
}

// has reports whether a statement is a part of one that is there, or says nearly
// the same: two thirds of the words of both are in both.
func (s *spoken) has(t string) bool {
	low := strings.ToLower(strings.TrimRight(t, ".:!… "))
	words := wordSet(t)
	for i, other := range s.texts {
		if strings.Contains(other, low) {
			return true
		}
		w := s.words[i]
		if len(words) < 4 || len(w)*3 < len(words)*2 || len(words)*3 < len(w)*2 {
			continue
		}
		if both := common(words, w); both*3 >= (len(words)+len(w)-both)*2 {
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

// common counts what two sorted lists have in common.
func common(a, b []string) int {
	n := 0
	for i, k := 0, 0; i < len(a) && k < len(b); {
		switch {
		case a[i] == b[k]:
			n++
			i++
			k++
		case a[i] < b[k]:
			i++
		default:
			k++
		}
	}
	return n
}
