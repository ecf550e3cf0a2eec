package measure

import (
	"cmp"
	"slices"
)

// Need is an identifier that the agent wrote after a point and could know only from
// what was dropped there.
type Need struct {
	Text  string
	Class Class
	// Uses counts the messages that use it.
	Uses int
}

// Needs returns what the agent needed of dropped: the identifiers that stand in
// dropped, neither in kept nor in always, and in what the agent itself wrote in
// future before any other message there showed them to it. They come in the order
// of their text.
func Needs(dropped, kept, always, future []*Digest) []Need {
	old, known := union(dropped), union(kept, always)
	shown := map[string]bool{}
	found := map[string]*Need{}
	for _, d := range future {
		for id, class := range d.ids {
			switch n := found[id]; {
			case d.Kind != Agent:
				shown[id] = true
			case n != nil:
				n.Uses++
			case old[id] && !known[id] && !shown[id]:
				found[id] = &Need{Text: id, Class: class, Uses: 1}
			}
		}
	}
	needs := make([]Need, 0, len(found))
	for _, n := range found {
		needs = append(needs, *n)
	}
	slices.SortFunc(needs, func(a, b Need) int { return cmp.Compare(a.Text, b.Text) })
	return needs
}
