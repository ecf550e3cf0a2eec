package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// node is one message of a conversation. The messages form a tree: forks, rewinds and
// subagents are branches.
type node struct {
	parent int // -1 for the first
	branch int
	mark   string // stands in it
	raw    string // as the client sends it; let go of when the conversation has ended
	size   int    // of raw
	asked  bool   // a request ended with it
}

// branch is a line of a conversation.
type branch struct {
	secret string // stands in each of its user's messages
	marks  int
	calls  int
}

// conversation is one agent with its subagents. What it says depends on the seed and its
// number alone.
type conversation struct {
	id, tenant int
	seed       uint64
	rng        *rand.Rand
	turns      int   // that are left
	line       int   // the node at which the main line stands
	ends       []int // of the main line's turns

	mu       sync.Mutex
	nodes    []node
	branches []branch
	seen     map[form]time.Duration // when each was seen first
	went     []sent
}

func newConversation(seed uint64, id, tenants, turns int) *conversation {
	c := &conversation{id: id, tenant: id % tenants, seed: seed, line: -1, rng: rand.New(rand.NewPCG(seed, uint64(id))), seen: map[form]time.Duration{}}
	c.turns = turns/2 + c.rng.IntN(turns)
	c.fork()
	return c
}

// secretOf makes a word that stands nowhere else.
func secretOf(kind string, seed uint64, numbers ...int) string {
	sum := sha256.Sum256(fmt.Append(nil, kind, seed, numbers))
	return kind + hex.EncodeToString(sum[:8])
}

const (
	secretMark = "SECRET-"
	tenantMark = "TENANT-"
	secretLen  = len(secretMark) + 16
)

// fork makes a branch.
func (c *conversation) fork() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.branches = append(c.branches, branch{secret: secretOf(secretMark, c.seed, c.id, len(c.branches))})
	return len(c.branches) - 1
}

// path returns the nodes from the first message to one of them.
func (c *conversation) path(at int) []int {
	var up []int
	for ; at >= 0; at = c.nodes[at].parent {
		up = append(up, at)
	}
	for i, j := 0, len(up)-1; i < j; i, j = i+1, j-1 {
		up[i], up[j] = up[j], up[i]
	}
	return up
}

// list returns the messages up to one of them, and the secrets that may stand in them.
func (c *conversation) list(at int) (raw []string, secrets map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	secrets = map[string]bool{}
	for _, n := range c.path(at) {
		raw = append(raw, c.nodes[n].raw)
		secrets[c.branches[c.nodes[n].branch].secret] = true
	}
	return raw, secrets
}

// add appends a message, which write makes: of its mark, which begins with a name, and of the branch.
func (c *conversation) add(name string, parent, on int, write func(mark string, b *branch) string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := &c.branches[on]
	n := node{parent: parent, branch: on, mark: fmt.Sprintf("[%s.%d.%d]", name, on, b.marks)}
	b.marks++
	n.raw = write(n.mark, b)
	n.size = len(n.raw)
	c.nodes = append(c.nodes, n)
	return len(c.nodes) - 1
}

var words = strings.Fields(`parser cache window token request answer session branch epoch summary writer reader error path
	test build index query table row lock lease retry limit stream event header body key value folder file name size`)

// prose writes about so many bytes.
func prose(rng *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "The %s of the %s in internal/%s/%s.go must keep its %s %d. ", words[rng.IntN(len(words))], words[rng.IntN(len(words))],
			words[rng.IntN(len(words))], words[rng.IntN(len(words))], words[rng.IntN(len(words))], rng.IntN(1000))
	}
	return b.String()
}

// turn lets the user say something after a node, and the agent work on it. It returns the last
// node. Two conversations of different tenants begin with the same turn.
func (c *conversation) turn(ctx context.Context, r *run, at, on int, rng *rand.Rand) (int, error) {
	name, secrets := fmt.Sprint("c", c.id), func(b *branch) string { return b.secret + " " + r.tenants[c.tenant] }
	if at < 0 && len(r.tenants)%2 == 0 {
		name, secrets = fmt.Sprint("t", c.id/2), func(*branch) string { return "" }
		rng = rand.New(rand.NewPCG(c.seed, uint64(c.id/2)|1<<41))
	}
	at = c.add(name, at, on, func(mark string, b *branch) string {
		return fmt.Sprintf(`{"role":"user","content":%q}`, fmt.Sprintf("%s Please mend part %d. %s %s", mark, rng.IntN(100), secrets(b), prose(rng, 100+rng.IntN(900))))
	})
	for calls := rng.IntN(4); ; calls-- {
		if err := r.ask(ctx, c, at, rng); err != nil {
			return at, err
		}
		if calls <= 0 {
			return c.add(name, at, on, func(mark string, _ *branch) string {
				return fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":%q}]}`, mark+" Done: "+prose(rng, 100+rng.IntN(300)))
			}), nil
		}
		n, first := 1+rng.IntN(3), 0
		at = c.add(name, at, on, func(mark string, b *branch) string {
			first = b.calls
			b.calls += n
			text := fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":%q}`, mark+" I look.")
			for i := range n {
				text += fmt.Sprintf(`,{"type":"tool_use","id":"toolu_%s_%d_%d","name":"read","input":{"path":"internal/%s/%d.go"}}`, name, on, first+i, words[rng.IntN(len(words))], first+i)
			}
			return text + "]}"
		})
		at = c.add(name, at, on, func(mark string, _ *branch) string {
			var results []string
			for i := range n {
				results = append(results, fmt.Sprintf(`{"type":"tool_result","tool_use_id":"toolu_%s_%d_%d","content":%q}`, name, on, first+i, mark+" "+prose(rng, 200+rng.IntN(1500))))
			}
			return `{"role":"user","content":[` + strings.Join(results, ",") + "]}"
		})
	}
}

// step does one turn of the main line, after a fork, a rewind or subagents where the dice say
// so. It reports whether there are more.
func (c *conversation) step(ctx context.Context, r *run) (more bool, err error) {
	rng, on := c.rng, 0
	if c.line >= 0 {
		on = c.nodes[c.line].branch
	}
	switch dice := rng.IntN(100); {
	case len(c.ends) < 2:
	case dice < 12: // a rewind: the main line goes on from an earlier point
		c.line, on = c.ends[rng.IntN(len(c.ends)-1)], c.fork()
	case dice < 24: // a fork lives beside it
		if _, err := c.turn(ctx, r, c.ends[rng.IntN(len(c.ends))], c.fork(), rng); err != nil {
			return false, err
		}
	case dice < 36: // subagents, all at once
		var all sync.WaitGroup
		errs := make([]error, 2+rng.IntN(2))
		for i := range errs {
			branch, own := c.fork(), rand.New(rand.NewPCG(rng.Uint64(), 1))
			all.Go(func() {
				at := c.line
				for range 1 + own.IntN(2) {
					if at, errs[i] = c.turn(ctx, r, at, branch, own); errs[i] != nil {
						return
					}
				}
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return false, err
		}
	}
	if c.line, err = c.turn(ctx, r, c.line, on, rng); err != nil {
		return false, err
	}
	c.ends = append(c.ends, c.line)
	c.turns--
	return c.turns > 0, nil
}

// forget lets go of what was said.
func (c *conversation) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.nodes {
		c.nodes[i].raw = ""
	}
}
