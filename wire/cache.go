package wire

import (
	"hash/maphash"
	"reflect"
	"strings"
	"sync"
)

// Cache remembers what was found in the parts of the last request that were read and
// found sound, so that the check of the next costs what is new in it. A part is known by
// its place and a hash of its bytes: what was changed since, by whomever, is read again.
// A Cache holds no message. It may be used by several goroutines.
type Cache struct {
	mu      sync.Mutex
	seed    maphash.Seed
	profile Profile
	parts   []knownPart // the system text, the tools, the messages
	misses  int         // parts that were not known
}

// NewCache returns an empty cache, for [Options]. Use one for each conversation.
func NewCache() *Cache { return &Cache{seed: maphash.MakeSeed()} }

type knownPart struct {
	known bool
	size  int
	hash  uint64
	seenMessage
}

// begin starts a request of so many parts, with the cache locked.
func (c *Cache) begin(p *Profile, parts int) {
	if !reflect.DeepEqual(c.profile, *p) {
		c.profile, c.parts = *p, nil
	}
	same := min(parts, len(c.parts))
	clear(c.parts[same:])
	c.parts = append(c.parts[:same], make([]knownPart, parts-same)...)
}

// remember returns what read finds in the part at k, from the cache where the same bytes
// were found sound before. The bytes themselves are not kept.
func (v *validator) remember(k int, raw []byte, read func() seenMessage) seenMessage {
	if v.cache == nil {
		return read()
	}
	part, hash := &v.cache.parts[k], maphash.Bytes(v.cache.seed, raw)
	if part.known && part.size == len(raw) && part.hash == hash {
		return part.seenMessage
	}
	v.cache.misses++
	before := len(v.out)
	m := read()
	for i := range m.blocks {
		b := &m.blocks[i]
		b.id, b.name, b.signature = strings.Clone(b.id), strings.Clone(b.name), strings.Clone(b.signature)
	}
	*part = knownPart{len(v.out) == before, len(raw), hash, m}
	return m
}
