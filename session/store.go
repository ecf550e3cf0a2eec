package session

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/clew-dev/clew/internal/jsonx"
)

// Store keeps the records of one session. Implementations pass the suite in
// package storetest. All methods may be called from several goroutines.
//
// Entries come back as they were written. Where an id stands twice, the last record in the log has it.
type Store interface {
	// Header returns the first record.
	Header() Header

	// Last returns the newest entry, which is the leaf when a session is opened, or nil when there is none.
	Last(ctx context.Context) (*Entry, error)

	// Get returns an entry, reading further back in the log as needed; ErrNotFound when no record has the id.
	Get(ctx context.Context, id string) (*Entry, error)

	// Parent returns the entry that e hangs under, or nil when e is a root. An entry whose parent is nowhere in the
	// log hangs under the last sound record before the damage that took the parent away, and is a root when the log
	// shows no damage.
	Parent(ctx context.Context, e *Entry) (*Entry, error)

	// All yields every entry, oldest first. It reads the whole log.
	All(ctx context.Context) iter.Seq2[*Entry, error]

	// Append writes a batch: all of it or nothing. When it returns nil the batch is durable, unless opt.NoSync; when
	// it returns an error the log is as it was. Entries other programs wrote meanwhile are read first. An entry that
	// CheckAppend refuses, or whose id is taken, is not written; but ids of 16 hex digits are taken for random and
	// may be looked up in what was read of the log alone.
	Append(ctx context.Context, batch []*Entry, opt AppendOptions) error

	// Sync makes durable what was appended with NoSync.
	Sync(ctx context.Context) error

	// Refresh looks for entries that other programs wrote and returns how many there were.
	Refresh(ctx context.Context) (int, error)

	// Problems returns what was found wrong with the records read so far.
	Problems() []Problem

	// Close releases the store. What was appended with NoSync is synced first. Afterwards Header and Problems still
	// answer, a second Close does nothing, and everything else fails with ErrClosed.
	Close() error
}

// AppendOptions changes one Append. The zero value means: durable on return, whatever was written before.
type AppendOptions struct {
	NoSync bool // leaves the batch to the operating system until the next Sync, Append without NoSync, or Close
	// IfLast, if not empty, is the id that the newest entry must have; else the error is ErrConflict.
	IfLast string
}

// Errors of a Store.
var (
	ErrNotFound    = errors.New("no such entry")
	ErrConflict    = errors.New("the session has grown meanwhile")
	ErrReadOnly    = errors.New("the session is open for reading only")
	ErrDuplicateID = errors.New("the id is taken")
	ErrClosed      = errors.New("the session is closed")
	ErrBadEntry    = errors.New("no entry of a session")
)

// CheckAppend refuses, with ErrBadEntry, an entry that no store could give
// back: one that is no JSON, because a draft was given some that is none, one without
// an id, a second header, or one that Attached hung elsewhere than its record says.
func CheckAppend(e *Entry) error {
	var why string
	switch {
	case e == nil || len(e.raw) == 0:
		return &Error{Op: "append", Err: fmt.Errorf("%w: it is empty", ErrBadEntry)}
	case e.ID == "":
		why = "it has no id"
	case e.Type == "session":
		why = "it is a header"
	case e.moved:
		why = fmt.Sprintf("its record says another parent than %q; see Again", e.ParentID)
	default:
		if end, err := jsonx.Scan(e.raw, 0); err != nil {
			why = "it is no JSON: " + err.Error()
		} else if end != len(e.raw) {
			why = fmt.Sprintf("it is no JSON: more data after it at byte %d", end)
		}
	}
	if why == "" {
		return nil
	}
	return &Error{Op: "append entry", Subject: e.ID, Err: fmt.Errorf("%w: %s", ErrBadEntry, why)}
}

// Error is the error of this package and of session/jsonl: what was tried, on what, what went wrong and what to do.
type Error struct {
	Op      string // "open", "append", "undo", ...
	Subject string // a path or an entry id
	File    string // the session file that the entry is not in, where there is one
	Err     error
	Hint    string // what to do, a sentence without a full stop; may be empty
}

func (e *Error) Error() string {
	s := e.Op
	if e.Subject != "" {
		s += " " + e.Subject
	}
	s += ": " + e.Err.Error()
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
