package transcript

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// script is what is to be written: messages, and where the context was compacted.
type script struct {
	header session.Header
	leaf   string
	path   []*session.Entry // the whole path, or the part that the context needs
	active []*session.Entry // of the context; nil for the whole path
	items  []session.Item
	breaks []cutting
	model  session.Model
	level  string
}

// cutting is a compaction in a script.
type cutting struct {
	entry   *session.Entry
	summary *message.Message
	before  int // it stands before this item
	kept    int // the first item that it kept; equal to before when it kept none
}

func newScript(ctx context.Context, s session.Store, opt WriteOptions) (*script, error) {
	leaf := opt.Leaf
	if leaf == "" {
		last, err := s.Last(ctx)
		if err != nil {
			return nil, err
		}
		if last == nil {
			return nil, fmt.Errorf("%w: the session is empty", ErrNothing)
		}
		leaf = last.ID
	}
	sc := &script{header: s.Header(), leaf: leaf}
	var err error
	if sc.model, sc.level, err = session.Settings(ctx, s, leaf); err != nil {
		return nil, err
	}
	if opt.Full {
		err = sc.full(ctx, s)
	} else {
		err = sc.context(ctx, s)
	}
	return sc, err
}

func (sc *script) context(ctx context.Context, s session.Store) (err error) {
	if sc.path, err = session.ContextPath(ctx, s, sc.leaf); err != nil {
		return err
	}
	c := session.Project(sc.path)
	sc.active = c.Active
	for _, it := range c.Items {
		if c.Compaction != nil && it.Entry == c.Compaction && it.Message.Role == message.RoleCompactionSummary {
			sc.breaks = []cutting{{entry: it.Entry, summary: it.Message, before: len(sc.items), kept: len(sc.items)}}
			continue
		}
		sc.items = append(sc.items, it)
	}
	return nil
}

func (sc *script) full(ctx context.Context, s session.Store) (err error) {
	if sc.path, err = session.Path(ctx, s, sc.leaf); err != nil {
		return err
	}
	var plain []*session.Entry
	for _, e := range sc.path {
		if e.Type != session.TypeCompaction && e.Type != session.TypeContextEdit {
			plain = append(plain, e)
		}
	}
	sc.items = session.Project(plain).Items
	at := map[string]int{} // the item that an entry is, or the next one
	next, item := map[string]int{}, 0
	for i, it := range sc.items {
		at[it.Entry.ID] = i
	}
	for _, e := range sc.path {
		next[e.ID] = item
		if i, ok := at[e.ID]; ok {
			item = i + 1
		}
		c, ok := e.Compaction()
		if !ok {
			continue
		}
		b := cutting{entry: e, before: item, kept: item}
		if n, known := next[c.FirstKeptEntryID]; known && c.FirstKeptEntryID != e.ID {
			b.kept = n
		}
		for _, it := range session.Project([]*session.Entry{e}).Items {
			if it.Message.Role == message.RoleCompactionSummary {
				b.summary = it.Message
			}
		}
		sc.breaks = append(sc.breaks, b)
	}
	return nil
}

// messages returns what a list for an API is made of: with the summary of the
// context, and without the places where the whole path was compacted.
func (sc *script) messages(full bool) (msgs []*message.Message, ids []string) {
	for i := range len(sc.items) + 1 {
		for _, b := range sc.breaks {
			if b.before == i && !full && b.summary != nil {
				msgs, ids = append(msgs, b.summary), append(ids, b.entry.ID)
			}
		}
		if i < len(sc.items) {
			msgs, ids = append(msgs, sc.items[i].Message), append(ids, sc.items[i].Entry.ID)
		}
	}
	return msgs, ids
}

// slot is what a message of a log stands for: an item, or a compaction.
type slot struct {
	item int
	cut  *cutting
	kept bool // a copy, right behind a compaction, of what that kept
}

// log returns the items with a user message in the place of each compaction, so
// that package wire sees the conversation as begun there.
func (sc *script) log() (msgs []*message.Message, slots []slot, ids []string) {
	next := 0
	cuts := func(before int) {
		for ; next < len(sc.breaks) && sc.breaks[next].before <= before; next++ {
			b := &sc.breaks[next]
			if b.summary != nil {
				msgs = append(msgs, message.User("compaction", time.Time{}))
				slots = append(slots, slot{cut: b})
				ids = append(ids, b.entry.ID)
			}
		}
	}
	for i, it := range sc.items {
		cuts(i)
		kept := false
		if n := len(slots); n > 0 && it.Entry.CopyOf() != "" {
			kept = slots[n-1].cut != nil || slots[n-1].kept
		}
		msgs = append(msgs, it.Message)
		slots = append(slots, slot{item: i, kept: kept})
		ids = append(ids, it.Entry.ID)
	}
	cuts(len(sc.items))
	return msgs, slots, ids
}

// target returns the model that a request is for.
func (sc *script) target(opt WriteOptions) session.Model {
	if opt.Model.ID != "" {
		return opt.Model
	}
	for i := len(sc.items) - 1; i >= 0; i-- {
		if m := sc.items[i].Message; m.Role == message.RoleAssistant && m.Model != "" {
			return session.Model{Provider: m.Provider, ID: m.Model}
		}
	}
	return sc.model
}

// when returns the time of an item: that of its message, or that of its entry.
func when(it session.Item) time.Time {
	if t := it.Message.Time(); !t.IsZero() && t.Unix() > 0 {
		return t
	}
	return it.Entry.Time()
}

func stamp(t time.Time) string {
	if t.IsZero() {
		t = time.UnixMilli(0)
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// derived returns an id of the form of a UUID that depends on the session and on
// the parts alone.
func (sc *script) derived(parts ...any) string {
	sum := sha256.Sum256(fmt.Append([]byte(sc.header.ID+"\n"), parts...))
	return uuid(sum[:])
}

// sessionID returns the session's id, or one made of it where it is no UUID.
func (sc *script) sessionID() string {
	if uuidText().MatchString(sc.header.ID) {
		return sc.header.ID
	}
	return sc.derived("session")
}

var uuidText = text.Pattern(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// aside counts the entries that a format has no place for.
func (w *writer) aside() {
	list := w.active
	if list == nil {
		list = w.path
	}
	for _, e := range list {
		switch e.Type {
		case session.TypeMessage, session.TypeCustomMessage, session.TypeBranchSummary, session.TypeCompaction:
		case session.TypeContextEdit:
			if w.opt.Full {
				w.report.add(Aside, "entry:context_edit", 0, e.ID, "edits; what they changed is written as it was")
			}
		default:
			w.report.add(Aside, "entry:"+string(e.Type), 0, e.ID, "entries of the type "+printable(string(e.Type), 40)+", which the format has no place for")
		}
	}
}
