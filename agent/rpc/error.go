package rpc

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// Code says what kind of error an answer has.
type Code string

// The codes.
const (
	CodeBadLine       Code = "bad_line"       // the line is no request; nothing was done
	CodeUnknownMethod Code = "unknown_method" // nothing was done
	CodeBadParams     Code = "bad_params"     // nothing was done
	CodeBusy          Code = "busy"           // the agent is at work: wait, or cancel
	CodeTooMany       Code = "too_many"       // too many requests are under way
	CodeClosed        Code = "closed"         // the session is not in use any more
	CodeNotFound      Code = "not_found"      // no entry, question, file or queued message has the name
	CodeLater         Code = "later"          // turns came after the pass: undo with keepLater, or navigate
	CodeLocked        Code = "locked"         // another program has the session open
	CodeCancelled     Code = "cancelled"      // it was cancelled, and changed nothing
	CodeFailed        Code = "failed"         // anything else; the message says what
)

// Error is what an answer has in place of a result.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Hint says what to do; it may be empty.
	Hint string `json:"hint,omitempty"`
}

func (e *Error) Error() string {
	if e.Hint != "" {
		return e.Message + "; " + e.Hint
	}
	return e.Message
}

func badParams(message, hint string) *Error { return &Error{CodeBadParams, message, hint} }

// errorOf makes an Error of what a method returned.
func errorOf(err error) *Error {
	if own := (*Error)(nil); errors.As(err, &own) {
		return own
	}
	e := &Error{Code: CodeFailed, Message: err.Error()}
	if rich := (*agent.Error)(nil); errors.As(err, &rich) && rich.Hint != "" {
		if cut, ok := strings.CutSuffix(e.Message, "; "+rich.Hint); ok {
			e.Message, e.Hint = cut, rich.Hint
		}
	}
	switch {
	case errors.Is(err, agent.ErrBusy):
		e.Code = CodeBusy
	case errors.Is(err, agent.ErrClosed):
		e.Code = CodeClosed
	case errors.As(err, new(*session.LaterError)):
		e.Code = CodeLater
		if e.Hint == "" {
			e.Hint = "undo with keepLater, or navigate to before the pass"
		}
	case errors.Is(err, jsonl.ErrLocked):
		e.Code = CodeLocked
	case errors.Is(err, session.ErrNotFound), errors.Is(err, agent.ErrNotAsked), errors.Is(err, agent.ErrNotQueued), errors.Is(err, fs.ErrNotExist):
		e.Code = CodeNotFound
	case agent.IsCancelled(err), errors.Is(err, context.Canceled):
		e.Code = CodeCancelled
	}
	return e
}
