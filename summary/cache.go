package summary

import (
	"hash/maphash"
	"strings"
	"sync"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Cache keeps what the deterministic summarizer found in messages, so that the
// next summary of the same conversation, with another cut or budget or with more
// messages, looks only at those that are new. It never changes a summary. It may
// be used from several goroutines; one waits for the other.
//
// A cache belongs to one session. It holds a few times the text of the messages
// that were summarized last.
type Cache struct {
	mu    sync.Mutex
	seed  maphash.Seed
	found map[cacheKey]*cached
	names *names
	round int // the number of the use that is going on
	size  int // bytes, about
}

type cacheKey struct{ message, call, setting uint64 }

type cached struct {
	*facts
	round int // when it was used last
}

// maxCache is how many bytes a cache may hold, about, beyond what the latest use needs.
const maxCache = 64 << 20

// NewCache returns an empty cache; so is the zero value.
func NewCache() *Cache { return &Cache{} }

// Warm looks at messages ahead of the summary that will need them: at a
// checkpoint, say, see Checkpoints. cwd and instructions are those of the Input.
func (c *Cache) Warm(items []session.Item, cwd, instructions string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin()
	look := c.lookup(cwd, instructions)
	calls := calls{}
	for _, it := range items {
		if m := it.Message; m != nil && !m.ExcludeFromContext {
			look(m, calls.of(m))
		}
	}
	c.trim()
}

// calls are the calls that were read, by their ids; and commands that were left running, by running and theirs.
type calls map[string]*message.Block

const running = "running "

// of reads a message and returns the call that it answers, nil for none. What a poll brings is the output of its command.
func (c calls) of(m *message.Message) *message.Block {
	for _, b := range m.ToolCalls() {
		c[b.ID] = &b
		if command := c[running+ledger.Polls(b.Name, b.Arguments)]; command != nil {
			c[b.ID] = command
		}
	}
	if m.Role != message.RoleToolResult {
		return nil
	}
	call := c[m.ToolCallID]
	if id := ledger.LeftRunning(m.Text()); id != "" {
		c[running+id] = call
	}
	return call
}

func (c *Cache) begin() {
	c.round++
	if c.names == nil {
		c.seed = maphash.MakeSeed()
		c.forget()
	}
}

// lookup returns a function that gives the facts of a message.
func (c *Cache) lookup(cwd, instructions string) func(*message.Message, *message.Block) *facts {
	x := newExtractor(c.names, cwd, instructions)
	setting := maphash.String(c.seed, cwd+"\x00"+instructions)
	return func(m *message.Message, call *message.Block) *facts {
		key := cacheKey{message: maphash.Bytes(c.seed, m.JSON()), setting: setting}
		if call != nil && m.Role == message.RoleToolResult {
			key.call = maphash.String(c.seed, call.Name+"\x00"+string(call.Arguments))
		}
		hit := c.found[key]
		if hit == nil {
			hit = &cached{facts: x.extract(m, call)}
			c.found[key] = hit
			c.size += hit.size
		}
		hit.round = c.round
		return hit.facts
	}
}

// trim forgets what the latest use had no need of, when there is too much.
func (c *Cache) trim() {
	if c.size <= maxCache {
		return
	}
	for k, v := range c.found {
		if v.round != c.round {
			c.size -= v.size
			delete(c.found, k)
		}
	}
	if c.size > maxCache*2 { // one use alone needs so much
		c.forget()
	}
}

func (c *Cache) forget() {
	c.found, c.names, c.size = map[cacheKey]*cached{}, &names{ids: map[string]int32{}, lines: map[lineID]int32{}}, 0
}

// names gives numbers to identifiers and lines.
type names struct {
	ids   map[string]int32
	text  []string
	class []text.Class
	lines map[lineID]int32

	message int32   // the number of the one that is looked at
	seen    []place // of each identifier
}

// place is where an identifier stands among those of a message.
type place struct{ message, at int32 }

// lineID is the same for lines that say the same of the same source.
type lineID struct{ from, line string }

func (n *names) id(id text.Identifier) int32 {
	k, ok := n.ids[id.Text]
	if !ok {
		k = int32(len(n.text))
		t := strings.Clone(id.Text)
		n.ids[t] = k
		n.text = append(n.text, t)
		n.class = append(n.class, id.Class)
		n.seen = append(n.seen, place{})
	}
	return k
}

func (n *names) line(from, line string) int32 {
	if from == "" {
		line = strings.Trim(line, ".:;, ")
	}
	key := lineID{from, line}
	k, ok := n.lines[key]
	if !ok {
		k = int32(len(n.lines))
		n.lines[key] = k
	}
	return k
}
