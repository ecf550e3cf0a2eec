package wire

import "slices"

// Edit puts other bytes in the place of a range of the body.
type Edit struct {
	Range
	With []byte
}

// Splice returns a copy of the body with the edits made. Every byte outside their ranges
// stays. The edits must not overlap; their order does not matter but for those at the same place.
func (in *Inbound) Splice(edits ...Edit) []byte { return in.SpliceTo(nil, edits...) }

// SpliceTo is Splice into memory that is used again.
func (in *Inbound) SpliceTo(buf []byte, edits ...Edit) []byte {
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.From - b.From })
	size := len(in.Body)
	for _, e := range edits {
		size += len(e.With) - e.Len()
	}
	out, at := slices.Grow(buf[:0], size), 0
	for _, e := range edits {
		out = append(append(out, in.Body[at:e.From]...), e.With...)
		at = e.To
	}
	return append(out, in.Body[at:]...)
}

var comma = []byte{','}

// Replace are the edits that put elements, separated by commas, in the place of the nodes
// before the given one, from that of the item on. Where the given node is not the first of
// its item, the rest of the item stays as an item of its own, with the members that stand
// before its blocks; ok is false where an item has no such place to be parted.
func (in *Inbound) Replace(item, node int, elements []byte) (edits []Edit, ok bool) {
	from := in.Items[item].From
	if node == len(in.Nodes) {
		return []Edit{{Range{from, in.Items[len(in.Items)-1].To}, elements}}, true
	}
	it := in.Items[in.Nodes[node].Item]
	if node == it.First {
		return []Edit{{Range{from, it.From}, elements}, {Range{it.From, it.From}, comma}}, true
	}
	if in.Profile.form == formChat || in.Profile.form == formResponses && in.Nodes[node].Range == it.Range {
		return nil, false
	}
	return []Edit{
		{Range{from, it.From}, elements},
		{Range{it.From, it.From}, comma},
		{Range{in.Nodes[it.First].From, in.Nodes[node].From}, nil},
	}, true
}

// Without are the edits that take nodes out, given by their indexes in rising order, none of
// them before the item from. An item that loses all of its nodes goes with them. Nodes of
// Chat Completions can only be taken out with their item; ok is false for others, and where
// nothing of the list would stay from that item on.
func (in *Inbound) Without(from int, nodes []int) (edits []Edit, ok bool) {
	if len(nodes) == 0 {
		return nil, true
	}
	gone := make([]bool, len(in.Items))
	for len(nodes) > 0 {
		i := in.Nodes[nodes[0]].Item
		it, n := in.Items[i], 1
		for n < len(nodes) && in.Nodes[nodes[n]].Item == i {
			n++
		}
		own := nodes[:n]
		nodes = nodes[n:]
		switch {
		case n == it.Last-it.First:
			gone[i] = true
			continue
		case in.Profile.form == formChat:
			return nil, false
		}
		ranges := make([]Range, 0, it.Last-it.First)
		drop := make([]bool, it.Last-it.First)
		for k := it.First; k < it.Last; k++ {
			ranges = append(ranges, in.Nodes[k].Range)
		}
		for _, k := range own {
			drop[k-it.First] = true
		}
		edits = appendRemovals(edits, ranges, drop)
	}
	gone = gone[from:]
	if !slices.Contains(gone, false) {
		return nil, false
	}
	items := make([]Range, 0, len(gone))
	for _, it := range in.Items[from:] {
		items = append(items, it.Range)
	}
	return appendRemovals(edits, items, gone), true
}

// appendRemovals takes elements out of an array with the commas that went with them. Not
// all of them may go.
func appendRemovals(edits []Edit, elements []Range, gone []bool) []Edit {
	for i := 0; i < len(elements); i++ {
		if !gone[i] {
			continue
		}
		from := i
		for i+1 < len(elements) && gone[i+1] {
			i++
		}
		if from > 0 {
			edits = append(edits, Edit{Range: Range{elements[from-1].To, elements[i].To}})
		} else {
			edits = append(edits, Edit{Range: Range{elements[from].From, elements[i+1].From}})
		}
	}
	return edits
}
