package clew

import (
	"context"
	"errors"

	"github.com/clew-dev/clew/session"
)

// SessionStart is told that a session was opened or made.
type SessionStart interface {
	SessionStart(ctx context.Context, e SessionEvent) error
}

// SessionEnd is told that a session is about to be closed. What goes wrong there is
// in the error of Close, where nothing else is.
type SessionEnd interface {
	SessionEnd(ctx context.Context, e SessionEvent) error
}

// Functions as hooks.
type (
	// SessionStartFunc is a SessionStart.
	SessionStartFunc func(ctx context.Context, e SessionEvent) error
	// SessionEndFunc is a SessionEnd.
	SessionEndFunc func(ctx context.Context, e SessionEvent) error
)

// SessionStart implements the interface of that name.
func (f SessionStartFunc) SessionStart(ctx context.Context, e SessionEvent) error { return f(ctx, e) }

// SessionEnd implements the interface of that name.
func (f SessionEndFunc) SessionEnd(ctx context.Context, e SessionEvent) error { return f(ctx, e) }

// StartReason says how a session came into use.
type StartReason string

// The reasons.
const (
	StartNew    StartReason = "new"    // it has no entry yet
	StartResume StartReason = "resume" // it goes on
)

// SessionEvent is what is said of a session that begins or ends.
type SessionEvent struct {
	// Session is the id, Cwd the working directory that it was made with, Parent the
	// session it was forked from, "" for none.
	Session, Cwd, Parent string
	// Reason is empty at the end.
	Reason StartReason
	// Leaf is where the conversation stands, "" before the first entry.
	Leaf string
	// Model is the one that is called, as far as it is known.
	Model session.Model
}

func (s *Session) event() SessionEvent {
	h := s.log.Store().Header()
	e := SessionEvent{Session: h.ID, Cwd: h.Cwd, Parent: h.ParentSession, Leaf: s.log.Leaf(), Model: s.cfg.setup().Model}
	if s.snap != nil {
		e.Model = s.snap.Model
	}
	return e
}

// tellStart tells the hooks that the session is in use.
func (s *Session) tellStart(ctx context.Context) {
	e := s.event()
	e.Reason = StartResume
	if e.Leaf == "" {
		e.Reason = StartNew
	}
	eachHook(s.cfg.Hooks, func(i int, h Hook, hook SessionStart) bool {
		call("SessionStart", i, h, &s.warnings, func() error { return hook.SessionStart(s.inside(ctx), e) })
		return true
	})
}

// tellEnd tells the hooks that the session is about to be closed.
func (s *Session) tellEnd() error {
	var warnings []error
	e := s.event()
	eachHook(s.cfg.Hooks, func(i int, h Hook, hook SessionEnd) bool {
		call("SessionEnd", i, h, &warnings, func() error { return hook.SessionEnd(s.inside(context.Background()), e) })
		return true
	})
	return errors.Join(warnings...)
}
