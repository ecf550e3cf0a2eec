package summary

import (
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// earlier offers the text of a summary that is not in our form, cut at a line to
// at most limit tokens. What is cut off may come back as excerpts.
func (d *digest) earlier(limit int64, b *builder) []piece {
	t := d.foreign
	if t == "" && d.prev != nil {
		t, limit = d.prev.Earlier, limit/2
	}
	if t == "" {
		return nil
	}
	if b.price(t) > limit {
		lo, hi := 0, len(t)
		for lo < hi {
			mid := (lo + hi + 1) / 2
			if b.price(cutLines(t, mid)) <= limit {
				lo = mid
			} else {
				hi = mid - 1
			}
		}
		if t = cutLines(t, lo); t == "" {
			return nil
		}
	}
	return []piece{{kind: kindEarlier, line: Line{Text: t}}}
}

// cutLines returns the first whole lines of s within n bytes, and a mark.
func cutLines(s string, n int) string {
	if n >= len(s) {
		return s
	}
	k := strings.LastIndexByte(s[:n], '\n')
	if k <= 0 {
		return ""
	}
	return strings.TrimRight(s[:k], "\n") + "\n" + text.Ellipsis
}
