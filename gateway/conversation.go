package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
	"github.com/clew-dev/clew/wire"
)

// conversation is a session in which everything is kept that left the context of one
// conversation: the lists as they were whenever an epoch was made, as branches, the
// engine's passes, and the epochs. Ids of messages are made from the chain, so each
// replica gives a message the same one.
type conversation struct {
	mu    sync.Mutex
	state atomic.Int64               // what was seen of it in Config.Store
	heads *recent[wire.Digest, bool] // of the epochs that are kept
	kept  *session.Memory            // where there is no store
	owner map[string]string          // entry → the message it follows, itself for a message
	tip   map[string]string          // message → the newest entry after it that is no message
	items map[string]int             // entry → item of the list that is worked on
}

// conversation returns that of the request; it may be new.
func (r *request) conversation() *conversation {
	return r.talks.put(r.root, &conversation{heads: newRecent[wire.Digest, bool](1_000)}, true)
}

// talk names the conversation of the request.
func (r *request) talk() Talk { return Talk{Tenant: r.tenant, ID: r.root.String()[:32]} }

// asked is how many ends of a chain a store is asked for at most: that of the last answer is
// among them, where not more blocks than these came since.
const askedEnds = 128

// load takes into use what other processes have kept of a conversation.
func (r *request) load(ctx context.Context) {
	if r.cfg.Store == nil {
		return
	}
	c := r.conversation()
	since := c.state.Load()
	e := r.current()
	if _, at := c.heads.last(r.chain, func(i int, _ bool) bool { return !r.isSpoiled(r.chain[i]) }); at >= 0 && (e == nil || e.Nodes <= at) {
		since = 0 // it was forgotten, for those of other conversations
	}
	seen, err := r.cfg.Store.Look(ctx, r.talk(), since, r.chain[max(0, len(r.chain)-askedEnds):])
	if err != nil {
		r.alone = true
		if !errors.Is(err, ErrStoreDown) && ctx.Err() == nil {
			r.cfg.Logger.Warn("the session of a conversation could not be read", "conversation", r.event.Conversation, "error", err)
		}
		return
	}
	r.looked = true
	c.state.Store(seen.State)
	r.adopt(seen.Epochs)
	for _, m := range seen.Measures {
		r.anchors.put(m.End, anchor{tokens: m.Tokens, env: m.Env, epoch: m.Epoch, at: m.Time}, false)
	}
	if e = r.current(); e != nil && !r.watched {
		if unkept, _ := r.unkept.get(e.Head); unkept {
			r.keepLate(ctx, c, e)
		}
	}
}

// adopt takes epochs into use, the oldest first: one that was refused as too long has
// another after it. What is known stays the same value.
func (r *request) adopt(epochs []*Epoch) {
	last := map[wire.Digest]*Epoch{}
	for _, e := range epochs {
		last[e.Head] = e
	}
	heads := r.conversation().heads
	for head, e := range last {
		heads.put(head, true, false)
		r.unkept.put(head, false, false)
		if had, ok := r.epochs.get(head); !ok || !reflect.DeepEqual(had, e) {
			r.epochs.put(head, e, false)
		}
	}
}

// write calls fn with the session of the conversation.
func (c *conversation) write(ctx context.Context, r *request, h session.Header, fn func(*session.Log) error) error {
	use := func(s session.Store) error {
		log, err := session.NewLog(ctx, s, session.Options{Clock: r.cfg.Now})
		if err == nil {
			err = c.read(ctx, r, s)
		}
		if err == nil {
			err = fn(log)
		}
		return err
	}
	switch {
	case r.cfg.Store == nil && c.kept == nil:
		c.kept = session.NewMemory(h)
		fallthrough
	case r.cfg.Store == nil:
		return use(c.kept)
	case r.watched || r.volatile:
		return use(session.NewMemory(h))
	}
	return r.cfg.Store.Write(ctx, r.talk(), h, use)
}

// read notes the entries of the session and takes its epochs into use.
func (c *conversation) read(ctx context.Context, r *request, store session.Store) error {
	c.owner, c.tip = map[string]string{}, map[string]string{}
	var epochs []*Epoch
	for e, err := range store.All(ctx) {
		if err != nil {
			return err
		}
		c.note(e)
		switch epoch, err := EpochOf(e); {
		case err != nil:
			return err
		case epoch != nil:
			epochs = append(epochs, epoch)
		}
	}
	r.adopt(epochs)
	return nil
}

// note remembers where an entry stands.
func (c *conversation) note(e *session.Entry) {
	if e.Type == session.TypeMessage {
		c.owner[e.ID] = e.ID
		return
	}
	if m, ok := c.owner[e.ParentID]; ok {
		c.owner[e.ID] = m
		c.tip[m] = e.ID
	}
}

// take puts the list into the session, as far as it is not there, and stands at its end.
func (c *conversation) take(ctx context.Context, r *request, log *session.Log, t *transcript.Transcript) error {
	c.items = map[string]int{}
	parent, nth := "", 0
	var drafts []session.Draft
	for i, e := range t.Entries {
		m, err := e.Message()
		if err != nil || e.Type != session.TypeMessage {
			continue
		}
		item := t.Lines[i] - 1
		if item < 0 || item >= len(r.in.Items) {
			return fmt.Errorf("message %d of the list stands nowhere in it", t.Lines[i])
		}
		if nth++; i == 0 || t.Lines[i] != t.Lines[i-1] {
			nth = 0
		}
		id := r.entryID(item, nth)
		c.items[id] = item
		if _, ok := c.owner[id]; !ok {
			drafts = append(drafts, session.Message(m).As(id).Under(parent))
		}
		parent = id
		if tip, ok := c.tip[id]; ok {
			parent = tip
		}
	}
	if parent == "" {
		return errNoCut
	}
	added, err := log.Append(ctx, drafts...)
	if err != nil {
		return err
	}
	for _, e := range added {
		c.note(e)
	}
	if log.Leaf() != parent {
		if err := log.Navigate(ctx, parent, "gateway"); err != nil {
			return err
		}
		m := c.owner[parent]
		c.owner[log.Leaf()], c.tip[m] = m, log.Leaf()
	}
	return nil
}

// entryID makes the id of the n-th message of an item from what the conversation is up to it.
func (r *request) entryID(item, n int) string {
	d := r.in.Nodes[r.in.Items[item].Last-1].Digest
	if last := r.in.Items[item].Last - 1; last >= r.first {
		d = r.chain[last-r.first]
	}
	sum := sha256.Sum256(binary.AppendUvarint(d[:], uint64(n)))
	return hex.EncodeToString(sum[:8])
}

// keep writes an epoch down, after the pass that it was made of.
func (c *conversation) keep(ctx context.Context, log *session.Log, pass []*session.Entry, e *Epoch) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	for _, p := range pass { // so that the next list hangs below it
		c.note(p)
	}
	added, err := log.Append(ctx, session.NewCustom(EpochType, data))
	if err != nil {
		return err
	}
	c.note(added[0])
	return nil
}

// keepLate writes down an epoch that was made while nothing could be kept. Where others made
// one for the same list meanwhile, theirs counts.
func (r *request) keepLate(ctx context.Context, c *conversation, e *Epoch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, h, err := r.transcript()
	if err == nil {
		err = c.write(ctx, r, h, func(log *session.Log) error {
			if unkept, _ := r.unkept.get(e.Head); !unkept {
				return nil
			}
			if err := c.take(ctx, r, log, t); err != nil {
				return err
			}
			return c.keep(ctx, log, nil, e)
		})
	}
	if err != nil {
		r.cfg.Logger.Warn("an epoch could not be kept", "conversation", r.event.Conversation, "error", err)
		return
	}
	r.unkept.put(e.Head, false, false)
}
