package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/transcript"
	"github.com/clew-dev/clew/wire"
)

// epochType is the type of the entries that hold an Epoch.
const epochType = "clew.gateway.epoch"

// conversation is a session in which everything is kept that left the context of one
// conversation: the lists as they were whenever an epoch was made, as branches, the
// engine's passes, and the epochs. Ids of messages are made from the chain, so each
// replica gives a message the same one.
type conversation struct {
	mu     sync.Mutex
	log    *session.Log      // nil while it is not in use
	loaded bool              // its epochs are known
	owner  map[string]string // entry → the message it follows, itself for a message
	tip    map[string]string // message → the newest entry after it that is no message
	items  map[string]int    // entry → item of the list that is worked on
}

// conversation returns that of the request; it may be new.
func (r *request) conversation() *conversation {
	if c, ok := r.talks.get(r.root); ok {
		return c
	}
	return r.talks.put(r.root, &conversation{}, true)
}

// path is where the session of a conversation lies.
func (r *request) path() string { return filepath.Join(r.cfg.Dir, r.root.String()[:32]+".jsonl") }

// dir is the folder that is written to, "" for none.
func (r *request) dir() string {
	if r.watched || r.volatile {
		return ""
	}
	return r.cfg.Dir
}

// load reads the epochs of a conversation that another process has kept.
func (r *request) load(ctx context.Context) {
	if r.cfg.Dir == "" {
		return
	}
	c := r.conversation()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded {
		return
	}
	c.loaded = true
	f, err := jsonl.Open(ctx, r.path(), jsonl.Options{ReadOnly: true})
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err == nil {
		err = errors.Join(c.read(ctx, r, f), f.Close())
	}
	if err != nil {
		r.cfg.Logger.Warn("the session of a conversation could not be read", "conversation", r.event.Conversation, "error", err)
	}
}

// open opens or makes the session. One in a file is closed after each use, so that other
// processes can write to it.
func (c *conversation) open(ctx context.Context, r *request, h session.Header) error {
	if c.log != nil {
		return nil
	}
	var store session.Store = session.NewMemory(h)
	if dir := r.dir(); dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		f, err := jsonl.Open(ctx, r.path(), jsonl.Options{Program: "clew gateway"})
		if errors.Is(err, os.ErrNotExist) {
			f, err = jsonl.Create(ctx, r.path(), h, jsonl.Options{Program: "clew gateway"})
		}
		if err != nil {
			return err
		}
		store = f
	}
	log, err := session.NewLog(ctx, store, session.Options{Clock: r.cfg.Now})
	if err == nil {
		err = c.read(ctx, r, store)
	}
	if err != nil {
		return errors.Join(err, store.Close())
	}
	c.log, c.loaded = log, true
	return nil
}

// close ends the use of a session that is kept in a file.
func (c *conversation) close(r *request) {
	if c.log == nil || r.cfg.Dir == "" {
		return
	}
	if err := c.log.Store().Close(); err != nil {
		r.cfg.Logger.Warn("the session of a conversation was not closed well", "conversation", r.event.Conversation, "error", err)
	}
	c.log = nil
}

// read notes the entries of the session and takes its epochs into use.
func (c *conversation) read(ctx context.Context, r *request, store session.Store) error {
	c.owner, c.tip = map[string]string{}, map[string]string{}
	last := map[wire.Digest]*Epoch{} // one that was refused as too long has another after it
	for e, err := range store.All(ctx) {
		if err != nil {
			return err
		}
		c.note(e)
		if custom, ok := e.Custom(); ok && custom.CustomType == epochType {
			var kept Epoch
			if err := json.Unmarshal(custom.Data, &kept); err != nil {
				return fmt.Errorf("entry %s holds no epoch: %w", e.ID, err)
			}
			last[kept.Head] = &kept
		}
	}
	for head, e := range last {
		r.epochs.put(head, e, true)
	}
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
func (c *conversation) take(ctx context.Context, r *request, t *transcript.Transcript) (*session.Log, error) {
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
			return nil, fmt.Errorf("message %d of the list stands nowhere in it", t.Lines[i])
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
		return nil, errNoCut
	}
	added, err := c.log.Append(ctx, drafts...)
	if err != nil {
		return nil, err
	}
	for _, e := range added {
		c.note(e)
	}
	if c.log.Leaf() != parent {
		if err := c.log.Navigate(ctx, parent, "gateway"); err != nil {
			return nil, err
		}
		m := c.owner[parent]
		c.owner[c.log.Leaf()], c.tip[m] = m, c.log.Leaf()
	}
	return c.log, nil
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

// item returns where in the list an entry comes from.
func (c *conversation) item(entry string) (int, bool) {
	at, ok := c.items[entry]
	return at, ok
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
	added, err := log.Append(ctx, session.NewCustom(epochType, data))
	if err != nil {
		return err
	}
	c.note(added[0])
	return nil
}
