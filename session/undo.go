package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// ErrNothingToUndo is wrapped by the error of Undo when no pass is on the path.
var ErrNothingToUndo = errors.New("no pass on this path")

// LaterError is returned by Undo when the conversation went on after the pass.
type LaterError struct {
	Pass     string // id of the pass's first entry
	Messages int    // messages that came after it
	Edits    int    // edits, which are no part of a pass, that came after it
}

func (e *LaterError) Error() string {
	return fmt.Sprintf("%d messages and %d edits came after the pass %s: undoing it would leave them", e.Messages, e.Edits, e.Pass)
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
	Kept int    `json:"kept"` // entries that came after it, labels and the like included, appended again
}

// Undo moves the leaf to before the latest pass on the path, so that the context is what it was before that pass.
// Right after an undo it is a redo. When messages came after the pass it returns a *LaterError and changes nothing,
// unless opt says what to do. A compaction that another program wrote is a pass of one entry.
func (l *Log) Undo(ctx context.Context, opt UndoOptions) (Undone, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, err := l.findPass(ctx)
	if err != nil {
		return Undone{}, err
	}
	if found.messages+found.edits > 0 && !opt.KeepLater {
		return Undone{}, &LaterError{Pass: found.pass, Messages: found.messages, Edits: found.edits}
	}
	move := leafMove{From: l.leaf, Reason: reasonUndo, Pass: found.pass}
	if found.redo {
		move.Reason = reasonRedo
	}
	move.Lines = len(found.later)
	drafts := []Draft{leafDraft(found.target, move).As(l.opt.NewID())}
	renamed := map[string]string{}
	for _, e := range found.later {
		id := l.opt.NewID()
		renamed[e.ID] = id
		drafts = append(drafts, copied(e, renamed).As(id))
	}
	if _, err := l.append(ctx, AppendOptions{}, drafts); err != nil {
		return Undone{}, err
	}
	return Undone{Redo: found.redo, Pass: found.pass, Leaf: l.leaf, Kept: len(found.later)}, nil
}

// copied drafts a copy of an entry for another place in the tree, which says what it is a copy of. Ids of entries
// that were copied before it are brought up to date. Reported usage stays with the original: it was that of another
// context.
func copied(e *Entry, renamed map[string]string) Draft {
	d := Again(e)
	d.fields = slices.DeleteFunc(d.fields, func(f field) bool { return f.name == memberClew })
	for i, f := range d.fields {
		to, known := renamed[str(f.val)]
		switch f.name {
		case "targetId", "firstKeptEntryId", "fromId":
			if known {
				d.fields[i].val = jsonx.Quote(to)
			}
		case "message":
			if jsonx.IsObject(jsonx.Get(f.val, "usage")) {
				d.fields[i].val = jsonx.Set(f.val, "usage", (&message.Usage{}).JSON())
			}
			d.fields[i].val = unsigned(d.fields[i].val)
		case "usage":
			d.fields[i].val = (&message.Usage{}).JSON()
		case "data":
			var pin pinData
			if e.customData(customPin, &pin) && renamed[pin.ID] != "" {
				return NewPin(renamed[pin.ID], pin.On).raw(memberClew, copyMark(e.ID))
			}
		}
	}
	return d.raw(memberClew, copyMark(e.ID))
}

// unsigned takes signed reasoning out of an answer: the signature may be bound to what
// stood before it, which is something else where the copy stands. The original keeps it.
func unsigned(raw json.RawMessage) json.RawMessage {
	m, err := message.Parse(raw)
	if err != nil || m.Role != message.RoleAssistant {
		return raw
	}
	kept := slices.DeleteFunc(slices.Clone(m.Content), func(b message.Block) bool {
		return b.Type == message.BlockThinking && (b.Signature != "" || b.Redacted)
	})
	if len(kept) == len(m.Content) {
		return raw
	}
	return m.WithContent(kept).JSON()
}

// foundPass is what Undo is to undo.
type foundPass struct {
	redo     bool
	pass     string
	target   string   // where the leaf goes
	later    []*Entry // that came after the pass, oldest first
	messages int      // how many of them the model sees
	edits    int      // how many of them change what it sees
}

// findPass looks back from the leaf.
func (l *Log) findPass(ctx context.Context) (*foundPass, error) {
	found := &foundPass{}
	compaction := -1 // index in the walk of the latest compaction seen
	path, err := walk(ctx, l.store, l.leaf, func(path []*Entry, e *Entry) bool {
		n := len(path) - 1 // entries between e and the leaf, the leaf included
		if move, ok := e.leafMove(); ok && move.Reason == reasonUndo && compaction < 0 && untouched(path[:n]) && l.has(ctx, move.From) {
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
		return compaction >= 0 && n > compaction && !PassEntry(e)
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
		return nil, &Error{Op: "undo", Err: ErrNothingToUndo, Hint: "a pass is undone on the path that it was made on"}
	}
	found.messages, found.edits = shown(found.later)
	found.later = slices.DeleteFunc(found.later, func(e *Entry) bool {
		// A move is not to be made again; nor does the beginning of a pass, of which
		// the path may hold a part, begin one elsewhere.
		c, _ := e.Custom()
		return c.CustomType == CustomLeaf || c.CustomType == CustomPass
	})
	slices.Reverse(found.later)
	return found, nil
}

// has reports whether the log has an entry. What was undone is not in a log that was forked after the undo.
func (l *Log) has(ctx context.Context, id string) bool {
	_, err := l.store.Get(ctx, id)
	return !errors.Is(err, ErrNotFound)
}

// shown counts the entries that the model sees, and those that change what it sees.
func shown(entries []*Entry) (messages, edits int) {
	for _, e := range entries {
		switch e.Type {
		case TypeMessage, TypeCustomMessage, TypeBranchSummary:
			messages++
		case TypeContextEdit:
			edits++
		default:
		}
	}
	return messages, edits
}

// untouched reports that the entries leave the context as it is.
func untouched(entries []*Entry) bool {
	messages, edits := shown(entries)
	return messages+edits == 0
}
