package clew

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

// Event tells what happened to the context of a session, for logs and metrics; see
// Config.Events. Hooks are for those who want to have a say.
type Event struct {
	Kind EventKind
	// Time is that of the session's clock, Duration how long the pass took, by the same
	// clock; 0 at the start.
	Time     time.Time
	Duration time.Duration
	// PassInfo is what hooks are told. For a move to another branch it has Session alone.
	PassInfo
	// Provider and Model are called with the context.
	Provider, Model string
	// Why says in a sentence why a pass was begun, or why it was not made.
	Why string
	// After is what the context takes now; as Before where nothing changed.
	After token.Reading
	// Stages say what freed how much.
	Stages []compact.Stage
	// Summarizer made the summary; "" where there is none. Usage is what that cost,
	// with its price in US dollars if that is known; nil when no model was asked.
	Summarizer string
	Usage      *message.Usage
	// Cache is what the pass means for a provider's prompt cache.
	Cache CacheEffect
	// Entries are the ids of what was written.
	Entries []string
	// Err is why a pass failed.
	Err error
	// Warnings are what went wrong beside the point.
	Warnings []error
}

// EventKind names what happened.
type EventKind string

// The kinds.
const (
	EventPassStart    EventKind = "pass_start"    // a pass is due and is being made
	EventPassEnd      EventKind = "pass_end"      // it was written, or would be: a dry run has no Entries
	EventPassFailed   EventKind = "pass_failed"   // it failed, and Err says why
	EventPassDeclined EventKind = "pass_declined" // it was asked for or due and not made, and Why says why
	EventBranch       EventKind = "branch"        // the conversation has moved to another branch
)

// CacheEffect says how much of the next request begins as the one before did, in
// tokens, as estimated. Providers keep the beginning of requests, and charge little
// for what they kept.
type CacheEffect struct {
	Kept int64 // the same as before, prompt and tools included
	New  int64 // what follows, in the context as it is now
}

// receiver stands for Config.Events in warnings.
type receiver struct{}

// Name implements Named.
func (receiver) Name() string { return "Config.Events" }

// emit passes an event on. What the receiver does wrong is a warning.
func (s *Session) emit(ctx context.Context, e Event) {
	if s.cfg.Events == nil {
		return
	}
	e.Stages, e.Entries, e.Warnings = slices.Clone(e.Stages), slices.Clone(e.Entries), slices.Clone(e.Warnings)
	call("Events", -1, receiver{}, &s.warnings, func() error {
		s.cfg.Events(s.inside(context.WithoutCancel(ctx)), e)
		return nil
	})
}

// passEvent is what is known of a pass before it is made.
func (s *Session) passEvent(kind EventKind, v *compact.Snapshot, info PassInfo, plan *compact.Plan) Event {
	m := v.Model
	info.Session, info.Before, info.Budget = s.log.Store().Header().ID, plan.Before, plan.Budget
	return Event{
		Kind: kind, Time: s.log.Now(), PassInfo: info, Provider: m.Provider, Model: m.ID, Why: plan.Why, After: plan.Before,
	}
}

// passDeclined tells of a pass that was due or asked for and is not made.
func (s *Session) passDeclined(ctx context.Context, v *compact.Snapshot, info PassInfo, plan *compact.Plan) {
	if s.cfg.Events != nil {
		s.emit(ctx, s.passEvent(EventPassDeclined, v, info, plan))
	}
}

// passBegun tells of a pass that is being made. What it returns tells how it ended.
func (s *Session) passBegun(ctx context.Context, v *compact.Snapshot, info PassInfo, plan *compact.Plan) func(r *Result, err error) {
	if s.cfg.Events == nil {
		return func(*Result, error) {}
	}
	start := s.passEvent(EventPassStart, v, info, plan)
	s.emit(ctx, start)
	return func(r *Result, err error) {
		e := start
		e.Time = s.log.Now()
		e.Duration = e.Time.Sub(start.Time)
		switch {
		case err != nil:
			e.Kind, e.Err = EventPassFailed, err
		case !r.Plan.Act:
			e.Kind, e.Why, e.Warnings = EventPassDeclined, r.Plan.Why, r.Warnings
		default:
			e.Kind = EventPassEnd
			s.passEnded(ctx, v, &e, r)
		}
		s.emit(ctx, e)
	}
}

// passEnded says what a pass did.
func (s *Session) passEnded(ctx context.Context, before *compact.Snapshot, e *Event, r *Result) {
	e.Why, e.After, e.Stages, e.Entries, e.Warnings = r.Plan.Why, r.Plan.After, r.Plan.Stages, r.Entries, r.Warnings
	if sum := r.Plan.Summary; sum != nil {
		e.Summarizer, e.Usage = sum.Summarizer, sum.Usage
	}
	if len(r.Entries) == 0 {
		return // a dry run
	}
	if now, err := s.load(context.WithoutCancel(ctx)); err == nil {
		e.After, e.Cache = now.Reading, cacheEffect(before, now)
	}
}

// branched tells of a move to another branch.
func (s *Session) branched(ctx context.Context, b *Branched) {
	if s.cfg.Events == nil {
		return
	}
	e := Event{Kind: EventBranch, Time: s.log.Now(), PassInfo: PassInfo{Session: b.Session}, Why: b.Why, Entries: b.Entries, Warnings: b.Warnings}
	if b.Summary != nil {
		e.Usage = b.Summary.Entry.Usage
		if b.Summary.Output != nil {
			e.Summarizer = b.Summary.Output.Summarizer
		}
	}
	if now, err := s.load(context.WithoutCancel(ctx)); err == nil {
		m := now.Model
		e.Provider, e.Model, e.After = m.Provider, m.ID, now.Reading
	}
	s.emit(ctx, e)
}

// cacheEffect compares the beginnings of two contexts.
func cacheEffect(before, after *compact.Snapshot) CacheEffect {
	same := 0
	for same < len(before.Messages) && same < len(after.Messages) && equalMessages(before.Messages[same], after.Messages[same]) {
		same++
	}
	c := CacheEffect{Kept: after.Meter.Fixed()}
	for i, cost := range after.Costs {
		if i < same {
			c.Kept += cost
		} else {
			c.New += cost
		}
	}
	return c
}

func equalMessages(a, b *message.Message) bool { return a == b || bytes.Equal(a.JSON(), b.JSON()) }
