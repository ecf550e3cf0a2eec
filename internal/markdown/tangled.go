package markdown

import (
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// Bounds of what is rendered: beyond them a text was made to be hard to read, for a
// browser, which stops at some hundreds of levels, or for goldmark, which compares
// each mark of a block with the others.
const (
	maxLevels = 50   // quotes and lists in each other
	maxMarks  = 500  // of emphasis and links in a block
	maxFenced = 5000 // likewise in code, which has marks of its own
)

// Tangled reports whether a text goes beyond the bounds.
func Tangled(s string) bool {
	marks, fence := 0, ""
	for l := range strings.Lines(s) {
		bare := strings.TrimLeft(l, " \t")
		if levels(l) > maxLevels && strings.Trim(l, "-*+_ \t\r\n") != "" || len(l)-len(bare) > 8*maxLevels {
			return true
		}
		switch f := bare[:len(bare)-len(strings.TrimLeft(bare, "`~"))]; {
		case fence != "" && strings.HasPrefix(f, fence):
			fence, marks = "", 0
		case fence == "" && len(f) >= 3 && strings.Trim(f, f[:1]) == "":
			fence, marks = f, 0
		case strings.TrimSpace(l) == "", text.ListMark(l) != "", text.TableRow(l):
			marks = 0
		}
		for i := range len(l) {
			if strings.IndexByte("[]*_~<`!", l[i]) >= 0 {
				marks++
			}
		}
		if marks > maxFenced || marks > maxMarks && fence == "" {
			return true
		}
	}
	return false
}

// levels counts the marks that a line begins with.
func levels(l string) (n int) {
	for i := 0; i < len(l) && strings.IndexByte("> \t-*+0123456789.)", l[i]) >= 0; i++ {
		if strings.IndexByte(">-*+.)", l[i]) >= 0 {
			n++
		}
	}
	return n
}
