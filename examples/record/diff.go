package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// replacement is one edit of a file: text that stands in it once, and what
// comes in its place.
type replacement struct {
	OldText string `json:"oldText"`
	NewText string `json:"newText"`
}

// applyEdits replaces the texts, each of which must stand in s once, and
// returns the differences in the unified form.
func applyEdits(s string, edits []replacement) (after, diff string, err error) {
	type place struct{ from, to, edit int }
	var places []place
	for i, e := range edits {
		from := strings.Index(s, e.OldText)
		places = append(places, place{from, from + len(e.OldText), i})
	}
	slices.SortFunc(places, func(a, b place) int { return a.from - b.from })
	var out, hunks strings.Builder
	end, shift := 0, 0
	for _, p := range places {
		if p.from < end {
			return "", "", errors.New("two edits overlap")
		}
		out.WriteString(s[end:p.from])
		e := edits[p.edit]
		before := out.String() + s[p.from:]
		out.WriteString(e.NewText)
		hunks.WriteString(hunk(before, out.String()+s[p.to:], shift))
		shift += strings.Count(e.NewText, "\n") - strings.Count(e.OldText, "\n")
		end = p.to
	}
	out.WriteString(s[end:])
	return out.String(), hunks.String(), nil
}

// hunk shows the one region in which two texts differ, with three lines around
// it. shift is how many lines earlier hunks added.
func hunk(before, after string, shift int) string {
	old, now := strings.Split(before, "\n"), strings.Split(after, "\n")
	head := 0
	for head < len(old) && head < len(now) && old[head] == now[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(now)-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	if head == len(old) && head == len(now) {
		return "" // nothing differs
	}
	from := max(0, head-3)
	until := min(len(old), len(old)-tail+3)
	added := len(now) - len(old)
	var b strings.Builder
	fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", from+1-shift, until-from, from+1, until+added-from)
	put(&b, " ", old[from:head])
	between(&b, old[head:len(old)-tail], now[head:len(now)-tail])
	put(&b, " ", old[len(old)-tail:until])
	return b.String()
}

func put(b *strings.Builder, mark string, lines []string) {
	for _, l := range lines {
		b.WriteString(mark + l + "\n")
	}
}

// between writes the lines of a region: those of the longest common subsequence
// stay, what is left is removed or added.
func between(b *strings.Builder, old, now []string) {
	// common[i][j] is the length of the longest common subsequence of old[i:] and now[j:].
	common := make([][]int, len(old)+1)
	for i := range common {
		common[i] = make([]int, len(now)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(now) - 1; j >= 0; j-- {
			if old[i] == now[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(old) || j < len(now); {
		switch {
		case i < len(old) && j < len(now) && old[i] == now[j]:
			put(b, " ", old[i:i+1])
			i, j = i+1, j+1
		case j == len(now) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			put(b, "-", old[i:i+1])
			i++
		default:
			put(b, "+", now[j:j+1])
			j++
		}
	}
}
