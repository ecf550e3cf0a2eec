// Package clew keeps a long agent conversation inside the model's window. It stores the conversation as a tree in an
// append-only log and loses nothing.
//
//	s, err := clew.Open(ctx, "session.jsonl", clew.Config{Provider: "anthropic", Model: "claude-sonnet-4-5"})
//	_, err = s.Append(ctx, message.User("fix the flaky test", time.Now()))
//	p, err := s.Prepare(ctx) // makes a pass if one is due
//	resp, err := m.Complete(ctx, &model.Request{Messages: p.Messages, MaxOutput: p.MaxOutput})
//	_, err = s.Append(ctx, resp.Message) // with its usage; and so on
//
// # The loop of an agent
//
// Call [Session.Prepare] before every request and [Session.Append] after it: with the answer, then with the result of
// each call. The example Loop of Session shows the whole loop. A client of package model fills in the answer's Usage,
// Provider and Model; another renders with [Prepared.Render] and fills them in itself, so that the next Prepare knows
// the size of the context. Between two passes each request begins with the whole of the one before, so that providers
// can cache it.
//
// When the provider refuses a request as too large, [Session.Recover] learns the limit and makes room. While a call has
// no result, Prepare fails with a [PendingError]; after an interruption, call [Session.CloseOpenCalls].
//
// # What a pass does
//
// A pass takes old tool results, reasoning and long arguments out of the context, and, if that is not enough, replaces
// the oldest part with a summary; see package compact. The log keeps everything. No model is asked, unless
// Config.Policy.Summarizer says otherwise. [Session.Explain] says what would be done and what happened to every entry,
// [Session.Undo] undoes a pass, [Session.Pin] keeps an entry word for word, [Session.Recall] reads one as it was
// written, [Session.Search] finds one by words, and [Session.Compact] makes a pass on demand. If nothing needs to be
// done, or a hook stopped a pass, that is not an error: Result.Plan says so.
//
// # Settings
//
// The zero [Config] works. Provider and Model are enough for the window, the room for the answer and the prices. Policy
// says when to compact and how far; Models overrides it for single models. Amounts are tokens or a share of the window.
// [Hooks] observe what the session does and may change it; [LogEvents] logs it.
//
// # Without a session
//
// [Fit] takes a list of messages and returns one that fits. What leaves the list is the caller's to keep.
//
// # What not to use
//
// Most programs need this package, message and model. Clew is built on packages wire, session, token, summary and
// compact; use them for tools that inspect sessions or make their own decisions. Do not append to Session.Log from
// another goroutine while a Session is in use, and do not change messages that Prepare returned.
package clew

import (
	"errors"
	"fmt"
	"strings"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Error is the error of every failed operation: what was tried, on what, what went wrong, and what to do.
type Error = session.Error

// Errors at any time.
var (
	// ErrBusy: another operation is under way; or a hook or a summarizer called the session that called it.
	ErrBusy     = errors.New("another operation is under way")
	ErrClosed   = session.ErrClosed   // the session was closed
	ErrNotFound = session.ErrNotFound // no entry has the id
)

// Errors of Prepare and Compact.
var (
	// ErrPending: a tool call is waiting for its result. The error is a
	// *PendingError, which says which.
	ErrPending = compact.ErrPending
	// ErrUnknownModel is a warning: nobody knows the model's window, and compact.DefaultWindow is assumed.
	ErrUnknownModel = errors.New("the model's window is not known")
	ErrConflict     = session.ErrConflict // other programs write to the session all the time
)

// Errors of Append and Undo.
var (
	ErrBadMessage = errors.New("no message for a model") // a message that would never be sent
	// ErrNothingToUndo: no pass is on the path. When turns came after one, the error is a *session.LaterError.
	ErrNothingToUndo = session.ErrNothingToUndo
)

// FixedPartError says, with numbers, that the part of a context that can't be removed is too large by itself.
type FixedPartError = compact.FixedPartError

// PendingError says which calls of the last answer wait for their results. It is an ErrPending.
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

// HookError says that a hook failed or panicked. Its answer is ignored.
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
