package ledger

import (
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// errorWord matches the lines of an output that tell what went wrong.
var errorWord = text.Pattern(`(?i)\b(?:error|errors|exception|failed|failure|failing|panic|fatal|undefined|undeclared|cannot|can't|could not|couldn't|not found|no such|denied|refused|unexpected|invalid|missing|mismatch|timed? ?out|assert\w*|expected|conflict|segmentation fault)\b|got .*want|--- FAIL|[a-z]Error\b|错误|失败|异常`)

// errorLines returns the lines that tell an error, at most n: the first ones and
// the last. Without any such line it is the last line that says something.
func errorLines(out string, n int) []string {
	head, tail := ends(out)
	if len(head) < len(out) {
		head += "\n" + tail
	}
	var found []string
	last := ""
	for l := range strings.SplitSeq(text.Plain(head), "\n") {
		l = strings.TrimSpace(l)
		if !telling(l) {
			continue
		}
		if !exitLine().MatchString(l) {
			last = text.Clip(l, MaxText)
			if errorWord().MatchString(l) && (len(found) == 0 || found[len(found)-1] != last) {
				if len(found) == n {
					found = found[:n-1]
				}
				found = append(found, last)
			}
		}
	}
	if found == nil && last != "" {
		return []string{last}
	}
	return found
}

// telling reports whether a line has a word in it.
func telling(l string) bool {
	letters := 0
	for _, r := range l {
		if r|0x20 >= 'a' && r|0x20 <= 'z' || r > 0x7f {
			letters++
		}
		if letters >= 4 {
			return true
		}
	}
	return letters >= 2 && l[0] > 0x7f
}
