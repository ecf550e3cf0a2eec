// Package session stores a conversation as a tree of immutable entries and projects its paths to the messages that the
// model sees.
//
// An [Entry] is one record of the log, kept as the bytes that were written. A [Store] keeps the records (package
// session/jsonl in a file, [Memory] in memory); a [Log] adds the leaf and builds new entries. [Project] is the one
// function that turns a path into a context: it applies the latest compaction and the edits, and changes nothing.
//
//	log, err := session.NewLog(ctx, store, session.Options{})
//	log.Append(ctx, session.Message(message.User("fix the flaky test", time.Now())))
//	c, err := log.Context(ctx)
//	for _, it := range c.Items {
//		fmt.Println(it.Entry.ID, it.Message.Role)
//	}
//
// The records are those of pi's session format, version 3; docs/FORMAT.md describes them.
package session

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// Options changes how a Log builds entries. The zero value is ready for use.
type Options struct {
	Clock func() time.Time // gives the time of new entries. Default: time.Now
	// NewID gives ids of new entries. Default: 16 random hex digits, so that uniqueness needs no look at the whole log.
	NewID func() string
}

// Log is a session in use: a store and the leaf. Several goroutines may use it; what changes it is done one at a time.
type Log struct {
	store Store
	opt   Options

	mu   sync.Mutex
	leaf string
}

// NewLog takes a store into use. The leaf is the newest entry.
func NewLog(ctx context.Context, s Store, opt Options) (*Log, error) {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.NewID == nil {
		opt.NewID = NewID
	}
	l := &Log{store: s, opt: opt}
	last, err := s.Last(ctx)
	if err != nil {
		return nil, err
	}
	if last != nil {
		l.leaf = last.ID
	}
	return l, nil
}

// NewID returns a new id for an entry or a session.
func NewID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand.Read
	return hex.EncodeToString(b[:])
}

// Store returns the store of the log.
func (l *Log) Store() Store { return l.store }

// Leaf returns the id of the entry where the conversation stands, "" before the first.
func (l *Log) Leaf() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leaf
}

// Now returns the time of the log's clock.
func (l *Log) Now() time.Time { return l.opt.Clock() }

// Context projects the path to the leaf.
func (l *Log) Context(ctx context.Context) (*Context, error) {
	return ContextAt(ctx, l.store, l.Leaf())
}

// Path returns the entries from the root to the leaf.
func (l *Log) Path(ctx context.Context) ([]*Entry, error) { return Path(ctx, l.store, l.Leaf()) }

// Append writes drafts as one durable batch, all or nothing, and moves the leaf to the last of them. The first hangs
// under the leaf, each other under the one before it, unless a draft says otherwise. What other programs wrote
// meanwhile stays as a branch of its own.
func (l *Log) Append(ctx context.Context, drafts ...Draft) ([]*Entry, error) {
	return l.appendPlain(ctx, AppendOptions{}, drafts)
}

// AppendNoSync is Append without waiting for the disk; see Store.Sync.
func (l *Log) AppendNoSync(ctx context.Context, drafts ...Draft) ([]*Entry, error) {
	return l.appendPlain(ctx, AppendOptions{NoSync: true}, drafts)
}

// appendPlain is append for what is no pass: the beginning of a pass alone would be taken for one that broke off.
func (l *Log) appendPlain(ctx context.Context, opt AppendOptions, drafts []Draft) ([]*Entry, error) {
	for _, d := range drafts {
		if d.customType() == CustomPass {
			return nil, &Error{Op: "append", Err: fmt.Errorf("%w: a %s by itself", ErrBadEntry, CustomPass), Hint: "AppendPass writes passes"}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(ctx, opt, drafts)
}

func (l *Log) append(ctx context.Context, opt AppendOptions, drafts []Draft) ([]*Entry, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	batch := build(drafts, l.leaf, l.opt.Clock(), l.opt.NewID)
	if err := l.store.Append(ctx, batch, opt); err != nil {
		return nil, err
	}
	l.leaf = batch[len(batch)-1].ID
	return batch, nil
}

// Navigate moves the leaf to target, "" for before the first entry, and writes
// that down: a clew.leaf entry under the target. reason is for the reader.
func (l *Log) Navigate(ctx context.Context, target, reason string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if target != "" {
		if _, err := l.store.Get(ctx, target); err != nil {
			return err
		}
	}
	_, err := l.append(ctx, AppendOptions{}, []Draft{leafDraft(target, leafMove{From: l.leaf, Reason: reason})})
	return err
}
