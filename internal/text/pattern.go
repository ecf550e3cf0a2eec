package text

import (
	"regexp"
	"sync"
)

// Pattern returns what returns a regular expression. It is compiled when it is asked for
// first: a program that needs none should not start later for it. An expression that is
// no good panics then.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
