package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
)

// PassInfo is what a clew.pass entry says about the pass it begins.
type PassInfo struct {
	// Lines is the number of records that follow and belong to the pass. A pass
	// with fewer at the end of a log did not happen.
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

// customData decodes the data of a custom entry of the type name.
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

// memberClew is the member of a record that holds what clew adds to it.
const memberClew = "clew"

// CopyOf returns the id of the entry that this one is a copy of, or "".
func (e *Entry) CopyOf() string { return jsonx.StringAt(e.Field(memberClew), "copyOf") }

// copyMark is the member of a record that CopyOf reads.
func copyMark(of string) json.RawMessage {
	return jsonx.Set([]byte("{}"), "copyOf", jsonx.Quote(of))
}

// PassEntry reports whether an entry may belong to the body of a pass: an edit,
// a compaction, or a custom entry or custom message of clew's own.
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

// customPin is a custom entry that pins an entry or takes the pin away.
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
