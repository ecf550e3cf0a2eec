package recall

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"unsafe"
)

// dict has every term, and for each the documents that have it and how often.
//
// What a term says of its newest document stands in the term itself, because more
// than half of all terms are in one document alone. What it says of the others is
// in a list of blocks of growing size: for each document the distance to the next,
// and the count.
type dict struct {
	seed  maphash.Seed
	slots []uint64 // open addressing: 32 bits of the hash, the index of the term plus one
	terms []term
	texts arena
	posts arena

	// hashes are the terms that are hexadecimal, for the search by beginning; the
	// first sorted of them are in order.
	hashes []uint32
	sorted int

	full bool // something did not fit
}

type term struct {
	text  uint32 // in texts
	doc   uint32 // newest document
	tf    uint32 // how often it has the term
	df    uint32 // documents that have it
	first uint32 // oldest document
	head  uint32 // first block; meaningful when df > 1
	tail  uint32 // where the next byte goes
	n     uint8  // length of the text
	left  uint8  // bytes left in the last block
	size  uint8  // of the last block
}

func newDict() *dict { return &dict{seed: maphash.MakeSeed(), slots: make([]uint64, 1<<8)} }

// find returns the index of a term, or -1.
func (d *dict) find(text []byte) int {
	hash := maphash.Bytes(d.seed, text)
	for i := hash; ; i++ {
		s := d.slots[i&uint64(len(d.slots)-1)]
		if s == 0 {
			return -1
		}
		if uint32(s>>32) == uint32(hash>>32) && bytes.Equal(d.text(int(uint32(s))-1), text) {
			return int(uint32(s)) - 1
		}
	}
}

func (d *dict) text(t int) []byte { return d.texts.bytes(d.terms[t].text, int(d.terms[t].n)) }

// add counts a term of a document. Documents come in ascending order.
func (d *dict) add(text []byte, doc uint32, isHash bool) {
	hash := maphash.Bytes(d.seed, text)
	i := hash
	for ; ; i++ {
		s := d.slots[i&uint64(len(d.slots)-1)]
		if s == 0 {
			break
		}
		if t := int(uint32(s)) - 1; uint32(s>>32) == uint32(hash>>32) && bytes.Equal(d.text(t), text) {
			d.count(&d.terms[t], doc)
			return
		}
	}
	at, ok := d.texts.alloc(len(text))
	if !ok || len(d.terms) >= 1<<32-2 {
		d.full = true
		return
	}
	copy(d.texts.bytes(at, len(text)), text)
	d.terms = append(d.terms, term{text: at, n: uint8(len(text)), doc: doc, first: doc, tf: 1, df: 1})
	d.slots[i&uint64(len(d.slots)-1)] = hash&^uint64(1<<32-1) | uint64(len(d.terms))
	if isHash {
		d.hashes = append(d.hashes, uint32(len(d.terms)-1))
	}
	if len(d.terms)*4 > len(d.slots)*3 {
		d.grow()
	}
}

func (d *dict) grow() {
	old := d.slots
	d.slots = make([]uint64, 2*len(old))
	for _, s := range old {
		if s == 0 {
			continue
		}
		// The place depends on low bits of the hash, which are not kept.
		i := maphash.Bytes(d.seed, d.text(int(uint32(s))-1))
		for d.slots[i&uint64(len(d.slots)-1)] != 0 {
			i++
		}
		d.slots[i&uint64(len(d.slots)-1)] = s
	}
}

// count adds one to what a term has for the newest document.
func (d *dict) count(t *term, doc uint32) {
	if t.doc == doc {
		t.tf++
		return
	}
	if d.posts.last() && t.left < 2*binary.MaxVarintLen64 {
		d.full = true
		return
	}
	// The count of the document before, and how far it is from there to this one.
	gap := uint64(doc-t.doc) << 1
	var b [2 * binary.MaxVarintLen64]byte
	if t.tf == 1 {
		d.write(t, binary.AppendUvarint(b[:0], gap|1))
	} else {
		d.write(t, binary.AppendUvarint(binary.AppendUvarint(b[:0], gap), uint64(t.tf)))
	}
	t.doc, t.tf = doc, 1
	t.df++
}

// Sizes of blocks, in bytes; the last four of each are the place of the next.
const (
	firstBlock = 12
	largeBlock = 252
)

func (d *dict) write(t *term, data []byte) {
	for _, c := range data {
		if t.left == 0 {
			d.extend(t)
		}
		d.posts.bytes(t.tail, 1)[0] = c
		t.tail++
		t.left--
	}
}

// extend gives a term another block. There is room for it, see count.
func (d *dict) extend(t *term) {
	size := firstBlock
	if t.size > 0 {
		size = min(2*int(t.size), largeBlock)
	}
	at, _ := d.posts.alloc(size)
	if t.size == 0 {
		t.head = at
	} else {
		binary.LittleEndian.PutUint32(d.posts.bytes(t.tail, 4), at)
	}
	t.tail, t.left, t.size = at, uint8(size-4), uint8(size)
}

// each calls fn with each document that has a term, oldest first, and how often.
func (d *dict) each(index int, fn func(doc, tf uint32)) {
	t := &d.terms[index]
	doc := t.first
	r := reader{d: d, at: t.head, left: firstBlock - 4, size: firstBlock}
	for range t.df - 1 {
		gap, tf := r.uvarint(), uint32(1)
		if gap&1 == 0 {
			tf = uint32(r.uvarint())
		}
		fn(doc, tf)
		doc += uint32(gap >> 1)
	}
	fn(t.doc, t.tf)
}

// reader reads a list of blocks.
type reader struct {
	d    *dict
	at   uint32
	left int
	size int
}

func (r *reader) uvarint() (v uint64) {
	for shift := 0; ; shift += 7 {
		if r.left == 0 {
			r.at = binary.LittleEndian.Uint32(r.d.posts.bytes(r.at, 4))
			r.size = min(2*r.size, largeBlock)
			r.left = r.size - 4
		}
		c := r.d.posts.bytes(r.at, 1)[0]
		r.at++
		r.left--
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
}

// beginning returns the hexadecimal terms that begin with text, most at most, in
// the order of their texts.
func (d *dict) beginning(text []byte, most int) (terms []int) {
	if d.sorted < len(d.hashes) {
		slices.SortFunc(d.hashes, func(a, b uint32) int { return bytes.Compare(d.text(int(a)), d.text(int(b))) })
		d.sorted = len(d.hashes)
	}
	i, _ := slices.BinarySearchFunc(d.hashes, text, func(t uint32, text []byte) int {
		return bytes.Compare(d.text(int(t)), text)
	})
	for ; i < len(d.hashes) && len(terms) < most; i++ {
		if !bytes.HasPrefix(d.text(int(d.hashes[i])), text) {
			break
		}
		terms = append(terms, int(d.hashes[i]))
	}
	return terms
}

// size returns about how much memory the dictionary takes, in bytes.
func (d *dict) size() int {
	return 8*cap(d.slots) + cap(d.terms)*int(unsafe.Sizeof(term{})) + d.texts.size() + d.posts.size() + 4*cap(d.hashes)
}
