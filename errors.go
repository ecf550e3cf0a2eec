package clew

import (
	"errors"
	"fmt"
	"strings"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Error is what every operation returns that failed: what was tried, on what, what went
// wrong, and what to do.
type Error = session.Error

// Errors at any time.
var (
	// ErrBusy: another operation is under way, see Config.FailBusy; or a hook or
	// a summarizer called the session that called it.
	ErrBusy = errors.New("another operation is under way")
	// ErrClosed: the session was closed.
	ErrClosed = session.ErrClosed
	// ErrNotFound: no entry has the id.
	ErrNotFound = session.ErrNotFound
)

// Errors of Prepare and Compact.
var (
	// ErrPending: a tool call is waiting for its result. The error is a
	// *PendingError, which says which.
	ErrPending = compact.ErrPending
	// ErrUnknownModel is a warning: nobody knows the model's window, and
	// compact.DefaultWindow is assumed.
	ErrUnknownModel = errors.New("the model's window is not known")
	// ErrConflict: other programs write to the session all the time.
	ErrConflict = session.ErrConflict
)

// Errors of Append and Undo.
var (
	// ErrBadMessage: a message that would never be sent.
	ErrBadMessage = errors.New("no message for a model")
	// ErrNothingToUndo: there is no pass on the path. When turns came after the
	// pass, the error is a *session.LaterError instead.
	ErrNothingToUndo = session.ErrNothingToUndo
)

// FixedPartError says, with numbers, that what can't be taken out of a context is too
// large alone.
type FixedPartError = compact.FixedPartError

// PendingError says which calls of the last answer wait for their results. It is an
// ErrPending.
type PendingError struct {
	Calls []message.Block
}

func (e *PendingError) Error() string {
	names := make([]string, len(e.Calls))
	for i, c := range e.Calls {
		names[i] = fmt.Sprintf("%s (%s)", c.Name, c.ID)
	}
	return fmt.Sprintf("%v: %s", ErrPending, strings.Join(names, ", "))
}

func (e *PendingError) Unwrap() error { return ErrPending }

// HookError says that a hook failed or panicked. What it would have answered does not
// count.
type HookError struct {
	Point string // the field of Hooks: "BeforeCompact", ...
	Hook  int    // its index in Config.Hooks
	Name  string // Hooks.Name
	Err   error  // what it returned, or what it panicked with
	Panic bool
}

func (e *HookError) Error() string {
	did, who := "failed", fmt.Sprintf("hook %d", e.Hook)
	if e.Panic {
		did = "panicked"
	}
	if e.Name != "" {
		who = "hook " + e.Name
	}
	return fmt.Sprintf("%s %s in %s: %v", who, did, e.Point, e.Err)
}

func (e *HookError) Unwrap() error { return e.Err }

func pendingError(op string, calls []message.Block) error {
	return &Error{Op: op, Err: &PendingError{Calls: calls}, Hint: "append the results first, or call CloseOpenCalls if they will never come"}
}

// failed makes an Error of what an operation returned, unless it is one.
func failed(op, subject string, err error) error {
	if err == nil {
		return nil
	}
	if rich := (*Error)(nil); errors.As(err, &rich) {
		return err
	}
	e := &Error{Op: op, Subject: subject, Err: err}
	if errors.Is(err, ErrConflict) {
		e.Hint = "another program writes to the session; try again when it is done"
	}
	return e
}
