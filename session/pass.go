package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// PassInfo is what a clew.pass entry says about the pass it begins.
type PassInfo struct {
	// Lines is how many records follow and belong to the pass. One with fewer at the end of a log did not happen.
	Lines  int             `json:"lines"`
	Reason string          `json:"reason,omitempty"` // what set the pass off: "threshold", "overflow", "manual", ...
	Policy json.RawMessage `json:"policy,omitempty"` // names the policy and its settings
	Meter  json.RawMessage `json:"meter,omitempty"`  // the reading the pass was decided on
	Edits  []string        `json:"edits,omitempty"`  // says for each edit, in order, which stage made it
}

// Pass returns the data of a clew.pass entry; ok is false for others.
func (e *Entry) Pass() (p PassInfo, ok bool) {
	ok = e.customData(CustomPass, &p) && p.Lines >= 1
	return p, ok
}

func (e *Entry) customData(name string, data any) bool {
	c, ok := e.Custom()
	return ok && c.CustomType == name && json.Unmarshal(c.Data, data) == nil
}

// leafMove is the data of a clew.leaf entry.
type leafMove struct {
	From   string `json:"from"` // the leaf before
	Reason string `json:"reason,omitempty"`
	Pass   string `json:"pass,omitempty"` // undo, redo: the pass concerned
	// Lines is the number of records that follow and belong to the move: copies of
	// what came after the pass. A move with fewer at the end of a log did not happen.
	Lines int `json:"lines,omitempty"`
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
	ok = e.customData(CustomLeaf, &m)
	return m, ok
}

// AppendPass writes a pass as one batch: a clew.pass entry and the drafts, which must be those of PassEntry, for a
// pass that was not written to its end is told by them. last is the newest entry the pass was computed on; when the
// log has grown since, nothing is written and the error is ErrConflict.
func (l *Log) AppendPass(ctx context.Context, last string, info PassInfo, drafts ...Draft) ([]*Entry, error) {
	if err := checkPass(drafts); err != nil {
		return nil, fmt.Errorf("append pass: %w", err)
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

func checkPass(drafts []Draft) error {
	compactions := 0
	for _, d := range drafts {
		if !passBody(d.Type, d.customType()) {
			return fmt.Errorf("a %s is no part of a pass", d.Type)
		}
		if d.Type == TypeCompaction {
			compactions++
		}
	}
	switch {
	case len(drafts) == 0:
		return errors.New("a pass needs at least one entry")
	case compactions > 1:
		return fmt.Errorf("%d compactions in one pass", compactions)
	}
	return nil
}

// Group returns how many of the records that follow e must be in a log with it, or none of them: the body of a
// pass, or what an undo has appended again. ok is false for entries that begin nothing.
func (e *Entry) Group() (lines int, ok bool) {
	if p, ok := e.Pass(); ok {
		return p.Lines, true
	}
	m, ok := e.leafMove()
	return m.Lines, ok && m.Lines > 0
}

// GroupEntry reports whether an entry may belong to a group that another one begins; see Group.
func GroupEntry(e *Entry) bool { return PassEntry(e) || e.CopyOf() != "" }

const memberClew = "clew"

// CopyOf returns the id of the entry that this one is a copy of, or "".
func (e *Entry) CopyOf() string { return jsonx.StringAt(e.Field(memberClew), "copyOf") }

func copyMark(of string) json.RawMessage { return jsonx.Set([]byte("{}"), "copyOf", jsonx.Quote(of)) }

// PassEntry reports whether an entry may belong to the body of a pass: an edit, a compaction, a custom one of clew.
func PassEntry(e *Entry) bool { return passBody(e.Type, str(e.Field("customType"))) }

func passBody(t Type, customType string) bool {
	switch t {
	case TypeContextEdit, TypeCompaction:
		return true
	case TypeCustom, TypeCustomMessage:
		return strings.HasPrefix(customType, "clew.") && customType != CustomLeaf && customType != CustomPass
	default:
		return false
	}
}

const customPin = "clew.pin"

type pinData struct {
	ID string `json:"id"`
	On bool   `json:"on"`
}

// NewPin drafts a pin: a mark that keeps an entry verbatim through every pass. on false takes the pin away.
func NewPin(id string, on bool) Draft {
	data, _ := json.Marshal(pinData{id, on}) // a string and a flag: it can't fail
	return NewCustom(customPin, data)
}

// Pins returns the ids of the entries that are pinned at the end of a path, in the order they were pinned. The path
// may be what ContextPath gives: a compaction says in its details what was pinned when it was made.
func Pins(path []*Entry) (pins []string) {
	for i, e := range slices.Backward(path) {
		if view, ok := e.Compaction(); ok {
			if json.Unmarshal(jsonx.Get(jsonx.Get(view.Details, memberClew), "pins"), &pins) != nil {
				pins = nil
			}
			path = path[i+1:]
			break
		}
	}
	for _, e := range path {
		var p pinData
		if !e.customData(customPin, &p) || p.ID == "" {
			continue
		}
		pins = slices.DeleteFunc(pins, func(id string) bool { return id == p.ID })
		if p.On {
			pins = append(pins, p.ID)
		}
	}
	return pins
}

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
	// KeepLater appends the messages after the pass again, behind where the leaf moves to, instead of refusing.
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
	move := leafMove{From: l.leaf, Reason: reasonUndo, Pass: found.pass, Lines: len(found.later)}
	if found.redo {
		move.Reason = reasonRedo
	}
	drafts := []Draft{leafDraft(found.target, move).As(l.opt.NewID())}
	renamed := map[string]string{}
	open := openLoop(found.later)
	for i, e := range found.later {
		id := l.opt.NewID()
		renamed[e.ID] = id
		drafts = append(drafts, copied(e, renamed, i >= open).As(id))
	}
	if _, err := l.append(ctx, AppendOptions{}, drafts); err != nil {
		return Undone{}, err
	}
	return Undone{Redo: found.redo, Pass: found.pass, Leaf: l.leaf, Kept: len(found.later)}, nil
}

// copied drafts a copy of an entry for another place in the tree, which says what it is a copy of. Ids of entries that
// were copied before it are brought up to date. Reported usage stays with the original: it was that of another context.
// Signed reasoning does too, unless it is thinks: see openLoop.
func copied(e *Entry, renamed map[string]string, thinks bool) Draft {
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
			if !thinks {
				d.fields[i].val = unsigned(d.fields[i].val)
			}
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

// openLoop returns where in entries the tool loop begins that is open at their end; see message.OpenLoop. Package compact
// takes its reasoning out of the copies when the loop is closed.
func openLoop(entries []*Entry) int {
	list := make([]*message.Message, len(entries))
	for i, e := range entries {
		if says := contributed(e, true); len(says) > 0 {
			list[i] = says[len(says)-1]
		}
	}
	return message.OpenLoop(list)
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

type foundPass struct {
	redo     bool
	pass     string
	target   string   // where the leaf goes
	later    []*Entry // that came after the pass, oldest first
	messages int      // how many of them the model sees
	edits    int      // how many of them change what it sees
}

func (l *Log) findPass(ctx context.Context) (*foundPass, error) {
	found := &foundPass{}
	compaction := -1  // index in path of the latest compaction seen
	var path []*Entry // the leaf first
	err := Walk(ctx, l.store, l.leaf, func(e *Entry) bool {
		n := len(path) // entries between e and the leaf, the leaf included
		path = append(path, e)
		if move, ok := e.leafMove(); ok && move.Reason == reasonUndo && compaction < 0 && untouched(path[:n]) && l.has(ctx, move.From) {
			*found = foundPass{redo: true, pass: move.Pass, target: move.From}
			return true
		}
		if p, ok := e.Pass(); ok && p.Lines <= n && (compaction < 0 || compaction >= n-p.Lines) {
			found.pass, found.target, found.later = e.ID, e.ParentID, path[:n-p.Lines]
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
		found.pass, found.target, found.later = path[compaction].ID, path[compaction].ParentID, path[:compaction]
	}
	if found.pass == "" {
		return nil, &Error{Op: "undo", Err: ErrNothingToUndo, Hint: "a pass is undone on the path that it was made on"}
	}
	found.messages, found.edits = shown(found.later)
	found.later = slices.DeleteFunc(found.later, func(e *Entry) bool {
		// A move is not made again; nor does the beginning of a pass, which may be a part here, begin one elsewhere.
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

func untouched(entries []*Entry) bool {
	messages, edits := shown(entries)
	return messages+edits == 0
}
