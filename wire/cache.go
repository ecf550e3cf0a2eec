package wire

import (
	"hash/maphash"
	"reflect"
	"strings"
	"sync"
)

// Cache remembers what was found in the parts of requests that were read and found
// sound, so that the check of a request costs what is new in it. Parts are known
// by a hash of their bytes: what was changed since, by whomever, is read again.
// A Cache holds what the latest requests had, and no message. It may be used by
// several goroutines.
type Cache struct {
	mu      sync.Mutex
	seed    maphash.Seed
	profile Profile
	round   int
	read    map[partKey]*knownPart
	misses  int // parts that were not known
}

// NewCache returns an empty cache, for [Options]. Use one for each conversation.
func NewCache() *Cache { return &Cache{seed: maphash.MakeSeed()} }

type partKey struct {
	part string // "system", "tools", or empty for a message
	size int
	hash uint64
}

type knownPart struct {
	round int // of the last request that had it
	seenMessage
}

// begin starts a request, end ends it. The cache is locked in between.
func (c *Cache) begin(p *Profile) {
	c.mu.Lock()
	c.round++
	if c.read == nil || !reflect.DeepEqual(c.profile, *p) {
		c.profile, c.read = *p, map[partKey]*knownPart{}
	}
}

// end forgets parts of earlier requests when they are more than the half.
func (c *Cache) end() {
	defer c.mu.Unlock()
	now := 0
	for _, k := range c.read {
		if k.round == c.round {
			now++
		}
	}
	for key, k := range c.read {
		if len(c.read) > 2*now && k.round != c.round {
			delete(c.read, key)
		}
	}
}

func (c *Cache) lookup(part string, raw []byte) (key partKey, m seenMessage, ok bool) {
	key = partKey{part, len(raw), maphash.Bytes(c.seed, raw)}
	k, ok := c.read[key]
	if !ok {
		c.misses++
		return key, m, false
	}
	k.round = c.round
	return key, k.seenMessage, true
}

// store keeps what was read, without the bytes that it was read from.
func (c *Cache) store(key partKey, m seenMessage) {
	for i := range m.blocks {
		b := &m.blocks[i]
		b.id, b.name, b.signature = strings.Clone(b.id), strings.Clone(b.name), strings.Clone(b.signature)
	}
	c.read[key] = &knownPart{c.round, m}
}
