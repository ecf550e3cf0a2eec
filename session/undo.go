package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
)

// ErrNothingToUndo is wrapped by the error of Undo when no pass is on the path.
var ErrNothingToUndo = errors.New("no pass on this path")

// LaterError is returned by Undo when the conversation went on after the pass.
type LaterError struct {
	Pass     string // id of the pass's first entry
	Messages int    // messages that came after it
}

func (e *LaterError) Error() string {
	return fmt.Sprintf("%d messages came after the pass %s: undoing it would leave them", e.Messages, e.Pass)
}

// UndoOptions changes one Undo.
type UndoOptions struct {
	// KeepLater appends the messages that came after the pass again, behind the
	// place the leaf moves to, instead of refusing.
	KeepLater bool
}

// Undone says what Undo did.
type Undone struct {
	Redo bool   `json:"redo"` // an undo was undone
	Pass string `json:"pass"` // id of the pass's first entry
	Leaf string `json:"leaf"` // the new leaf
	Kept int    `json:"kept"` // entries appended again
}

// Undo moves the leaf to before the latest pass on the path, so that the
// context is what it was before that pass. Right after an undo it is a redo.
// When messages came after the pass it returns a *LaterError and changes
// nothing, unless opt says what to do. A compaction that another program wrote
// is a pass of one entry.
func (l *Log) Undo(ctx context.Context, opt UndoOptions) (Undone, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, err := l.findPass(ctx)
	if err != nil {
		return Undone{}, err
	}
	if found.messages > 0 && !opt.KeepLater {
		return Undone{}, &LaterError{Pass: found.pass, Messages: found.messages}
	}
	move := leafMove{From: l.leaf, Reason: reasonUndo, Pass: found.pass}
	if found.redo {
		move.Reason = reasonRedo
	}
	drafts := []Draft{leafDraft(found.target, move)}
	if found.messages == 0 {
		found.later = nil
	}
	if _, err := l.appendAgain(ctx, drafts, found.later); err != nil {
		return Undone{}, err
	}
	return Undone{Redo: found.redo, Pass: found.pass, Leaf: l.leaf, Kept: len(found.later)}, nil
}

// appendAgain appends drafts and then copies of entries. What the copies say of
// each other's ids is brought up to date.
func (l *Log) appendAgain(ctx context.Context, drafts []Draft, again []*Entry) ([]*Entry, error) {
	ids := make([]string, 0, len(drafts)+len(again))
	renamed := map[string]string{}
	for range drafts {
		ids = append(ids, l.opt.NewID())
	}
	for _, e := range again {
		id := l.opt.NewID()
		ids = append(ids, id)
		renamed[e.ID] = id
		d := Again(e)
		for i, f := range d.fields {
			if to, ok := renamed[str(f.val)]; ok && (f.name == "targetId" || f.name == "firstKeptEntryId" || f.name == "fromId") {
				d.fields[i].val = jsonx.Quote(to)
			}
		}
		drafts = append(drafts, d)
	}
	return l.appendAs(ctx, AppendOptions{}, drafts, ids)
}

// foundPass is what Undo is to undo.
type foundPass struct {
	redo     bool
	pass     string
	target   string   // where the leaf goes
	later    []*Entry // that came after the pass, oldest first
	messages int      // how many of them the model sees
}

// findPass looks back from the leaf.
func (l *Log) findPass(ctx context.Context) (*foundPass, error) {
	found := &foundPass{}
	compaction := -1 // index in the walk of the latest compaction seen
	path, err := walk(ctx, l.store, l.leaf, func(path []*Entry, e *Entry) bool {
		n := len(path) - 1 // entries between e and the leaf, the leaf included
		if move, ok := e.leafMove(); ok && move.Reason == reasonUndo && compaction < 0 && shown(path[:n]) == 0 {
			*found = foundPass{redo: true, pass: move.Pass, target: move.From}
			return true
		}
		if p, ok := e.Pass(); ok && p.Lines <= n && (compaction < 0 || compaction >= n-p.Lines) {
			found.pass, found.target = e.ID, e.ParentID
			found.later = slices.Clone(path[:n-p.Lines])
			return true
		}
		if e.Type == TypeCompaction && compaction < 0 {
			compaction = n
		}
		// A compaction without a pass around it: what precedes it is no part of one.
		if compaction >= 0 && n > compaction && !PassEntry(e) {
			return true
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	if found.pass == "" && compaction >= 0 {
		e := path[len(path)-1-compaction]
		found.pass, found.target = e.ID, e.ParentID
		found.later = slices.Clone(path[len(path)-compaction:])
		slices.Reverse(found.later)
	}
	if found.pass == "" {
		return nil, &Error{Op: "undo", Err: ErrNothingToUndo, Hint: "clew tree shows what is there"}
	}
	found.messages = shown(found.later)
	slices.Reverse(found.later)
	return found, nil
}

// shown counts the entries that the model sees or that change what it sees.
func shown(entries []*Entry) int {
	n := 0
	for _, e := range entries {
		switch e.Type {
		case TypeMessage, TypeCustomMessage, TypeBranchSummary, TypeContextEdit:
			n++
		default:
		}
	}
	return n
}
