package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// What can be wrong. Errors of this package are of type *Error and wrap one of
// these where it applies.
var (
	// ErrNotFound: there is no content with this address.
	ErrNotFound = errors.New("no such content")
	// ErrCorrupt: what is there is not what was stored.
	ErrCorrupt = errors.New("the content is damaged")
	// ErrFull: no room, on the disk or within the quota; then a *QuotaError has
	// the numbers.
	ErrFull = errors.New("no room")
	// ErrDenied: the system does not allow it: permissions, or a file system
	// that can only be read.
	ErrDenied = errors.New("not allowed")
	// ErrSource: what was to be stored could not be read.
	ErrSource = errors.New("the content could not be read")
)

// Error is the rich error of this package: what was tried, on what, what went
// wrong and what to do about it.
type Error struct {
	Op      string // "put", "open", "read", "stat", "delete", "list", "remove", "cache"
	Subject string // an address or a path
	Err     error
	Hint    string // what to do, a sentence without a full stop; may be empty
}

func (e *Error) Error() string {
	s := e.Op + " content"
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

// QuotaError says that content does not fit into a quota. errors.Is finds
// ErrFull in it.
type QuotaError struct {
	Quota int64 // what the store may hold, in bytes
	Used  int64 // what it holds, without the content
	Size  int64 // the content's
	// AtLeast says that the content may be larger than Size: it was not read any
	// further, because alone it does not fit.
	AtLeast bool
}

func (e *QuotaError) Error() string {
	more := ""
	if e.AtLeast {
		more = "at least "
	}
	return fmt.Sprintf("no room: the content is %s%d bytes, and of a quota of %d bytes %d are taken", more, e.Size, e.Quota, e.Used)
}

// Is reports whether target is ErrFull.
func (e *QuotaError) Is(target error) bool { return target == ErrFull }

// KeepInline reports whether err, of Store.Put or Cache.Path, says that a store
// or a cache could not take content with which nothing is wrong: no room, no
// permission, a failing disk. The caller then keeps the content where it has it,
// in the session, and reports err. It is false for nil, for a cancelled
// context, and where the content itself was missing, damaged or unreadable.
func KeepInline(err error) bool {
	if err == nil {
		return false
	}
	for _, not := range []error{context.Canceled, context.DeadlineExceeded, ErrSource, ErrNotFound, ErrCorrupt} {
		if errors.Is(err, not) {
			return false
		}
	}
	return true
}

// fail makes an *Error and classifies what the system said.
func fail(op, subject string, err error) error {
	if err == nil {
		return nil
	}
	var hint string
	var quota *QuotaError
	var not *notAError
	switch {
	case errors.As(err, &quota):
		hint = "raise the quota, or remove sessions that are not needed any more"
	case errors.Is(err, ErrSource), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	case errors.Is(err, ErrNotFound):
		hint = "it was deleted, or belongs to another session"
	case errors.Is(err, ErrCorrupt):
		hint = "the file was changed, or the disk fails; store the content again if there is another copy"
	case errors.As(err, &not):
		hint = "move it away and try again"
	case isFull(err):
		err = because(ErrFull, err)
		hint = "free some space on the disk"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		err = because(ErrDenied, err)
		hint = "check the owner and the permissions of the folder"
	}
	return &Error{Op: op, Subject: subject, Err: err, Hint: hint}
}

func because(kind, err error) error {
	if errors.Is(err, kind) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

func isFull(err error) bool {
	if errors.Is(err, ErrFull) {
		return true
	}
	for _, errno := range fullErrnos {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}
