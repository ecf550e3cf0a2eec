package bpe

// merger encodes pieces that are no token as a whole: it begins with single bytes and
// joins, again and again, the two neighbours that make the token of the lowest rank,
// the first such two where there are several. Its memory is used again.
//
// Each part that is left is known by the index of its first byte. next says where it
// ends, prev where the one before it begins, and joined the rank of the token that it
// makes with the one after it.
type merger struct {
	next, prev []int32
	joined     []uint32
	// queue is a heap of possible joins, joined<<32 | first byte. What has changed
	// since it was put in is skipped when it comes out.
	queue []uint64
}

// largest keeps indices within 31 bits: a longer piece is encoded in parts.
const largest = 1 << 30

func (m *merger) count(v *vocabulary, piece string) (n int) {
	for ; len(piece) > largest; piece = piece[largest:] {
		n += m.run(v, piece[:largest])
	}
	return n + m.run(v, piece)
}

// run encodes a piece and returns the number of parts, which m.next then has.
func (m *merger) run(v *vocabulary, s string) int {
	n := len(s)
	if cap(m.next) < n {
		m.next, m.prev, m.joined = make([]int32, n), make([]int32, n), make([]uint32, n)
	}
	m.next, m.prev, m.joined = m.next[:n], m.prev[:n], m.joined[:n]
	m.queue = m.queue[:0]
	for i := int32(n) - 1; i >= 0; i-- {
		m.next[i], m.prev[i] = i+1, i-1
		m.joined[i] = m.rank(v, s, i)
		m.push(i)
	}
	parts := n
	for len(m.queue) > 0 {
		top := m.queue[0]
		last := len(m.queue) - 1
		m.queue[0] = m.queue[last]
		m.queue = m.queue[:last]
		m.sink(0)
		rank, at := uint32(top>>32), int32(uint32(top))
		if m.joined[at] != rank {
			continue // joined with another since
		}
		before := m.join(v, s, at)
		parts--
		m.push(at)
		if before >= 0 {
			m.push(before)
		}
	}
	return parts
}

// join joins the part at i with the one after it, and returns the part before
// it, or -1.
func (m *merger) join(v *vocabulary, s string, i int32) (before int32) {
	gone := m.next[i]
	end := m.next[gone]
	m.joined[gone] = noRank
	m.next[i] = end
	if int(end) < len(s) {
		m.prev[end] = i
	}
	m.joined[i] = m.rank(v, s, i)
	before = m.prev[i]
	if before >= 0 {
		m.joined[before] = m.rank(v, s, before)
	}
	return before
}

func (m *merger) rank(v *vocabulary, s string, i int32) uint32 {
	second := int(m.next[i])
	if second >= len(s) {
		return noRank
	}
	rank, _ := v.find(s[i:m.next[second]])
	return rank
}

func (m *merger) push(i int32) {
	if m.joined[i] == noRank {
		return
	}
	m.queue = append(m.queue, uint64(m.joined[i])<<32|uint64(i))
	q := m.queue
	for at := len(q) - 1; at > 0; {
		up := (at - 1) / 2
		if q[up] <= q[at] {
			return
		}
		q[up], q[at] = q[at], q[up]
		at = up
	}
}

// sink moves an entry of the queue down to where it belongs.
func (m *merger) sink(at int) {
	q := m.queue
	for {
		low := 2*at + 1
		if low >= len(q) {
			return
		}
		if low+1 < len(q) && q[low+1] < q[low] {
			low++
		}
		if q[at] <= q[low] {
			return
		}
		q[at], q[low] = q[low], q[at]
		at = low
	}
}
