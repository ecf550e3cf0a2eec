package text

import (
	"regexp"
	"strings"
	"sync"
)

// Pattern returns what returns a regular expression. It is compiled when it is asked for
// first: a program that needs none should not start later for it. An expression that is
// no good panics then.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Words returns a function that returns the words of a list, which are separated by
// white space. As with Pattern, the set is made when it is asked for first.
func Words(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for w := range strings.FieldsSeq(list) {
			m[w] = true
		}
		return m
	})
}
