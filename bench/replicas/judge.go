package main

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// fault is something that must not happen.
type fault int

const (
	refused fault = iota
	lost
	twice
	raced
	again
	foreign
	orphan
	altered
	unread // large output
	faults
)

var faultNames = [faults]string{
	refused: "requests refused that one process would have served",
	lost:    "acknowledged messages and epochs that are not in the store",
	twice:   "cuts with two renders in the store",
	raced:   "epochs made twice with different bytes",
	again:   "epochs made though a new one was in use",
	foreign: "lists or records with another's content",
	orphan:  "lists with orphan calls or results",
	altered: "prefixes that changed without an epoch",
	unread:  "acknowledged outputs that can't be read word for word",
}

// counts are what a run has found.
type counts struct {
	mu        sync.Mutex
	bad       [faults]int
	samples   [faults][]string
	overflows atomic.Int64 // lists that the upstream refused as too long
	broken    atomic.Int64 // attempts whose connection broke
}

const maxSamples = 5

func (c *counts) add(f fault, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bad[f]++
	if len(c.samples[f]) < maxSamples {
		c.samples[f] = append(c.samples[f], fmt.Sprintf(format, args...))
	}
}

// look goes over what the upstream has seen of a conversation, and returns in how many forms
// its beginnings came.
func (r *run) look(c *conversation, kept *stored) (forms int) {
	at := map[int][]sent{}
	for _, s := range c.went {
		at[s.node] = append(at[s.node], s)
	}
	missing := map[int]bool{}
	for _, s := range c.went {
		if s.form != (form{}) && c.seen[s.form] == s.came {
			forms++
		}
		for _, before := range at[c.before(s.node)] {
			r.stable(c, at, before, s)
			r.early(c, at, before, s)
		}
		for _, other := range at[s.node] {
			// Both were the first in their forms: each has made an epoch of its own for one list.
			if s.form != other.form && s.came < other.came && c.seen[s.form] == s.came && c.seen[other.form] == other.came {
				r.count.add(raced, "conversation %d, message %d: replicas %d and %d", c.id, s.node, s.replica, other.replica)
			}
		}
		if s.form.cut == 0 || !s.acked {
			continue
		}
		if !kept.renders[s.form.render] && !missing[-1] {
			missing[-1] = true
			r.count.add(lost, "conversation %d: the epoch of request %d by replica %d at %s", c.id, s.node, s.replica, s.came.Round(time.Millisecond))
		}
		for _, n := range c.path(s.form.cut - 1) {
			if !missing[n] && !kept.marks[c.nodes[n].mark] {
				missing[n] = true
				r.count.add(lost, "conversation %d, message %d: left the context in request %d by replica %d at %s", c.id, n, s.node, s.replica, s.came.Round(time.Millisecond))
			}
		}
	}
	return forms
}

// before returns the node of the request before that of a node, on its path; -1 for none.
func (c *conversation) before(at int) int {
	for at = c.nodes[at].parent; at >= 0 && !c.nodes[at].asked; at = c.nodes[at].parent {
	}
	return at
}

// stable compares a request with the one before it. A beginning in another form is a fault
// where that form was known already for as much of the conversation: then no epoch was made
// between the two.
func (r *run) stable(c *conversation, at map[int][]sent, before, s sent) {
	if s.form == before.form {
		return
	}
	for n := before.node; n >= 0; n = c.before(n) {
		for _, known := range at[n] {
			if known.form == s.form && known.came < before.start {
				r.count.add(altered, "conversation %d: message %d went out with another beginning (cut %d, replica %d) than message %d (cut %d, replica %d), and no epoch was made between them",
					c.id, s.node, s.form.cut, s.replica, before.node, before.form.cut, before.replica)
				return
			}
		}
	}
}

// early looks for an epoch that was made right after another one, by a replica that did not
// know it: the gateway lets a twelfth of the window grow between two.
func (r *run) early(c *conversation, at map[int][]sent, before, s sent) {
	if c.seen[s.form] != s.came || s.form == before.form || before.form == (form{}) {
		return
	}
	first := before.node // request under the form
	for n := first; n >= 0; n = c.before(n) {
		if slices.ContainsFunc(at[n], func(x sent) bool { return x.form == before.form }) {
			first = n
		}
	}
	grown := 0
	for n := s.node; n != first; n = c.nodes[n].parent {
		grown += c.nodes[n].size
	}
	if grown < 3*r.cfg.Window/12 { // a token has more than three bytes
		r.count.add(again, "conversation %d: for message %d by replica %d, %d bytes after that of replica %d", c.id, s.node, s.replica, grown, before.replica)
	}
}
