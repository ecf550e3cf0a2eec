package text

import "strings"

// Nearest returns the name that is most like another one, which was mistyped; "" where
// none is. Of two that are equally near it is the one that begins alike.
func Nearest(name string, names []string) string {
	best, least := "", 1+max(2, len(name)/3)
	first := name[:min(1, len(name))]
	for _, n := range names {
		d := Distance(strings.ToLower(name), strings.ToLower(n))
		if d < least || d == least && best != "" && strings.HasPrefix(n, first) && !strings.HasPrefix(best, first) {
			best, least = n, d
		}
	}
	return best
}

// Distance is how many bytes must be put in, taken out or changed to make b of a.
func Distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return 100
	}
	row := make([]int, len(b)+1)
	for k := range row {
		row[k] = k
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for k := range len(b) {
			d := corner
			if a[i] != b[k] {
				d = 1 + min(corner, row[k], row[k+1])
			}
			corner, row[k+1] = row[k+1], d
		}
	}
	return row[len(b)]
}
