package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// PassInfo is what a clew.pass entry says about the pass it begins.
type PassInfo struct {
	// Lines is the number of records that follow and belong to the pass. A pass
	// with fewer at the end of a log did not happen.
	Lines int `json:"lines"`
	// Reason is what set the pass off: "threshold", "overflow", "manual", ...
	Reason string `json:"reason,omitempty"`
	// Policy names the policy and its settings.
	Policy json.RawMessage `json:"policy,omitempty"`
	// Meter is the reading the pass was decided on.
	Meter json.RawMessage `json:"meter,omitempty"`
	// Edits says for each edit, in order, which rung made it.
	Edits []string `json:"edits,omitempty"`
}

// Pass returns the data of a clew.pass entry; ok is false for others.
func (e *Entry) Pass() (p PassInfo, ok bool) {
	c, ok := e.Custom()
	if !ok || c.CustomType != CustomPass {
		return p, false
	}
	if json.Unmarshal(c.Data, &p) != nil || p.Lines < 1 {
		return p, false
	}
	return p, true
}

// leafMove is the data of a clew.leaf entry.
type leafMove struct {
	From   string `json:"from"` // the leaf before
	Reason string `json:"reason,omitempty"`
	Pass   string `json:"pass,omitempty"` // undo, redo: the pass concerned
}

const (
	reasonUndo = "undo"
	reasonRedo = "redo"
)

func leafDraft(target string, move leafMove) Draft {
	data, _ := json.Marshal(move)
	return NewCustom(CustomLeaf, data).Under(target)
}

func (e *Entry) leafMove() (m leafMove, ok bool) {
	c, ok := e.Custom()
	if !ok || c.CustomType != CustomLeaf {
		return m, false
	}
	return m, json.Unmarshal(c.Data, &m) == nil
}

// AppendPass writes a pass: a clew.pass entry and the drafts, edits and at most
// one compaction, as one batch. last is the newest entry the pass was computed
// on; when the log has grown since, nothing is written and the error is
// ErrConflict.
func (l *Log) AppendPass(ctx context.Context, last string, info PassInfo, drafts ...Draft) ([]*Entry, error) {
	if len(drafts) == 0 {
		return nil, errors.New("append pass: a pass needs at least one entry")
	}
	info.Lines = len(drafts)
	data, err := json.Marshal(info)
	if err != nil {
		return nil, fmt.Errorf("append pass: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := append([]Draft{NewCustom(CustomPass, data)}, drafts...)
	return l.append(ctx, AppendOptions{IfLast: last}, all)
}

// PassEntry reports whether an entry may belong to the body of a pass: an edit,
// a compaction, or a custom entry of clew's own.
func PassEntry(e *Entry) bool {
	switch e.Type {
	case TypeContextEdit, TypeCompaction:
		return true
	case TypeCustom:
		c, _ := e.Custom()
		return strings.HasPrefix(c.CustomType, "clew.") && c.CustomType != CustomLeaf && c.CustomType != CustomPass
	default:
		return false
	}
}

// ErrNothingToUndo is returned by Undo when no pass is on the path.
var ErrNothingToUndo = errors.New("no pass on this path")

// LaterError is returned by Undo when the conversation went on after the pass.
type LaterError struct {
	Pass     string // id of the pass's first entry
	Messages int    // messages that came after it
}

func (e *LaterError) Error() string {
	return fmt.Sprintf("%d messages came after pass %s", e.Messages, e.Pass)
}

// Undone says what Undo did.
type Undone struct {
	Redo bool   // an undo was undone
	Pass string // id of the pass's first entry
	Leaf string // the new leaf
}

// Undo moves the leaf to before the latest pass on the path, so that the
// context is what it was before that pass. Right after an undo it is a redo.
// When messages came after the pass it changes nothing and returns a
// *LaterError. A compaction that another program wrote is a pass of one entry.
func (l *Log) Undo(ctx context.Context) (Undone, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, err := l.findPass(ctx)
	if err != nil {
		return Undone{}, err
	}
	move := leafMove{From: l.leaf, Reason: reasonUndo, Pass: found.Pass}
	if found.Redo {
		move.Reason = reasonRedo
	}
	if _, err := l.append(ctx, AppendOptions{}, []Draft{leafDraft(found.Leaf, move)}); err != nil {
		return Undone{}, err
	}
	found.Leaf = l.leaf
	return found, nil
}

// findPass looks back from the leaf for what Undo is to undo; Leaf of the
// answer is the target of the move.
func (l *Log) findPass(ctx context.Context) (found Undone, err error) {
	later := 0
	inBody := "" // the compaction or edit nearest to the root seen, of a pass not begun yet
	_, err = walk(ctx, l.store, l.leaf, func(_ []*Entry, e *Entry) bool {
		if move, ok := e.leafMove(); ok && later == 0 && inBody == "" && move.Reason == reasonUndo {
			found = Undone{Redo: true, Pass: move.Pass, Leaf: move.From}
			return true
		}
		if _, ok := e.Pass(); ok {
			found = Undone{Pass: e.ID, Leaf: e.ParentID}
			return true
		}
		switch e.Type {
		case TypeMessage, TypeCustomMessage, TypeBranchSummary:
			if inBody != "" {
				return true // a compaction without a clew.pass before it
			}
			later++
		case TypeCompaction:
			inBody = e.ID
			found = Undone{Pass: e.ID, Leaf: e.ParentID}
		default:
		}
		return false
	})
	switch {
	case err != nil:
		return Undone{}, err
	case found.Pass == "":
		return Undone{}, &Error{
			Op: "undo", Err: ErrNothingToUndo,
			Hint: "compact first, or name another leaf",
		}
	case later > 0:
		return Undone{}, &LaterError{Pass: found.Pass, Messages: later}
	}
	return found, nil
}
