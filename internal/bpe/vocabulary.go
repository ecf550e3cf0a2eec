package bpe

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"hash/maphash"
	"io"
	"math/bits"
)

//go:embed vocab/*.gz
var files embed.FS

// vocabulary is the tokens of an encoding in the order of their rank, which is also their
// number, and a hash table to find them: a map takes twice the time.
type vocabulary struct {
	text  string   // the tokens one after the other
	start []uint32 // where each begins in text, and the end
	// slots has, for a token, its rank + 1 in the low rankBits and part of its
	// hash above; 0 is a free slot. At most 39 % are taken, and nothing is added
	// later, so no input makes a search long.
	slots []uint32
	seed  maphash.Seed

	classes *classes // of characters
}

const rankBits = 18

// longest is the length of the longest token in both encodings, in bytes.
const longest = 128

// readVocabulary unpacks an embedded vocabulary. What is wrong with it is a defect of
// the program, which the tests would find.
func readVocabulary(name string) *vocabulary {
	packed := must(files.ReadFile("vocab/" + name + ".gz"))
	return must(newVocabulary(must(io.ReadAll(must(gzip.NewReader(bytes.NewReader(packed)))))))
}

func must[T any](val T, err error) T {
	if err != nil {
		panic(fmt.Errorf("reading a vocabulary: %w", err))
	}
	return val
}

// newVocabulary reads a list of tokens: for each, a byte with its length and
// then its bytes.
func newVocabulary(list []byte) (*vocabulary, error) {
	n := 0
	for i := 0; i < len(list); i += 1 + int(list[i]) {
		if list[i] == 0 || list[i] > longest || i+int(list[i]) >= len(list) {
			return nil, fmt.Errorf("token %d at byte %d has a length of %d", n, i, list[i])
		}
		n++
	}
	if n >= 1<<rankBits {
		return nil, fmt.Errorf("%d tokens are more than fit", n)
	}
	v := &vocabulary{
		start: make([]uint32, 1, n+1),
		slots: make([]uint32, 2<<bits.Len(uint(n))),
		seed:  maphash.MakeSeed(), classes: newClasses(),
	}
	text, mask := make([]byte, 0, len(list)-n), uint64(len(v.slots)-1)
	for i := 0; i < len(list); i += 1 + int(list[i]) {
		token := list[i+1 : i+1+int(list[i])]
		h := maphash.Bytes(v.seed, token)
		at := h & mask
		for v.slots[at] != 0 {
			at = (at + 1) & mask
		}
		v.slots[at] = mark(h) | uint32(len(v.start))
		text = append(text, token...)
		v.start = append(v.start, uint32(len(text)))
	}
	v.text = string(text)
	return v, nil
}

func (v *vocabulary) token(rank uint32) string { return v.text[v.start[rank]:v.start[rank+1]] }

func (v *vocabulary) find(s string) (rank uint32, ok bool) {
	if len(s) > longest {
		return noRank, false
	}
	h := maphash.String(v.seed, s)
	mask := uint64(len(v.slots) - 1)
	for at, m := h&mask, mark(h); ; at = (at + 1) & mask {
		slot := v.slots[at]
		if slot == 0 {
			return noRank, false
		}
		if slot>>rankBits == m>>rankBits {
			if rank := slot&(1<<rankBits-1) - 1; v.token(rank) == s {
				return rank, true
			}
		}
	}
}

// mark is the part of a hash that is kept in a slot.
func mark(h uint64) uint32 { return uint32(h>>32) &^ (1<<rankBits - 1) }
