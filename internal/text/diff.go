package text

import (
	"strconv"
	"strings"
)

var hunkHead = Pattern(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// DiffLines returns what says of the lines of a unified diff, one after the other, what they
// are: '+', '-' or ' ' for one of a file, '@' for the head of a hunk, 'f' for the name of a file. What
// a hunk has is a line of a file, whatever it begins with.
func DiffLines() func(line string) byte {
	before, after := 0, 0 // lines that the hunk still has of the file as it was, and as it is
	length := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil { // it is left out
			return 1
		}
		return n
	}
	return func(line string) byte {
		inHunk := before > 0 || after > 0
		switch {
		case !inHunk && hunkHead().MatchString(line):
			m := hunkHead().FindStringSubmatch(line)
			before, after = length(m[1]), length(m[2])
			return '@'
		case !inHunk && (strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ")):
			return 'f'
		case strings.HasPrefix(line, "+"):
			after--
			return '+'
		case strings.HasPrefix(line, "-"):
			before--
			return '-'
		case strings.HasPrefix(line, "@@"):
			return '@'
		case !strings.HasPrefix(line, `\`): // that the line before it has no line end
			before, after = before-1, after-1
		}
		return ' '
	}
}
