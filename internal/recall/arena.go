package recall

// arena is memory that is given out in small pieces and never taken back, without
// the garbage collector having to look at each.
type arena struct{ chunks [][]byte }

const (
	chunkBits = 16
	chunkSize = 1 << chunkBits
	maxChunks = 1 << (32 - chunkBits)
)

// alloc returns the place of n bytes in one piece, n at most chunkSize. ok is
// false when places can't be numbered any more, at 4 GiB.
func (a *arena) alloc(n int) (at uint32, ok bool) {
	k := len(a.chunks) - 1
	if k < 0 || len(a.chunks[k])+n > chunkSize {
		if k+1 >= maxChunks {
			return 0, false
		}
		a.chunks = append(a.chunks, make([]byte, 0, chunkSize))
		k++
	}
	c := a.chunks[k]
	at = uint32(k)<<chunkBits | uint32(len(c))
	a.chunks[k] = c[:len(c)+n]
	return at, true
}

func (a *arena) bytes(at uint32, n int) []byte {
	i := int(at & (chunkSize - 1))
	return a.chunks[at>>chunkBits][i : i+n]
}

// last reports whether there is no room but in the last chunk that can be.
func (a *arena) last() bool { return len(a.chunks) >= maxChunks-1 }

func (a *arena) size() int { return len(a.chunks) * chunkSize }
