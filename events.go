package clew

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// Event describes a pass, or a move to another branch. What is not known yet, or has no meaning for its kind, is zero.
type Event struct {
	Kind     string // one of the constants whose names begin with Event
	Session  string
	Time     time.Time     // that of the session's clock
	Duration time.Duration // how long the pass took by that clock

	Reason    compact.Reason
	Attempt   int    // counts from 1 the passes that were begun since the last one that was written
	WillRetry bool   // says that a request which failed is sent again after the pass
	Why       string // says why the pass was begun, or why it was not made
	// Budget is what the pass keeps to, Before what the context took, After what it takes now.
	Budget        compact.Budget
	Before, After token.Reading

	Model      session.Model
	Plan       *compact.Plan  // what was done; nil before that and for a move
	Summarizer string         // made the summary, "" for none
	Usage      *message.Usage // what that cost; nil when no model was asked
	// How many tokens of the next request a provider's cache has, for they were in the one before, and how many follow.
	CacheKept, CacheNew int64
	Entries             []string // the ids of what was written
	Err                 error    // why a pass failed
	Aborted             bool     // the operation was cancelled or ran out of time
	Warnings            []error  // what went wrong beside the point
}

// The kinds of events.
const (
	EventPassStart    = "pass_start"    // a pass is due and is being made
	EventPassEnd      = "pass_end"      // it was written, or would be: a dry run has no Entries
	EventPassFailed   = "pass_failed"   // it failed, and Err says why
	EventPassDeclined = "pass_declined" // it was asked for or due and not made, and Why says why
	EventBranch       = "branch"        // the conversation has moved to another branch
)

func (s *Session) observed() bool {
	return s.asks(func(h Hooks) bool { return h.OnEvent != nil })
}

// emit passes an event on. What a receiver does wrong is a warning.
func (s *Session) emit(ctx context.Context, e Event) {
	e.Aborted = e.Err != nil && ctx.Err() != nil
	for i := range s.cfg.Hooks {
		h := &s.cfg.Hooks[i]
		if h.OnEvent == nil {
			continue
		}
		r := Result{Plan: e.Plan, Entries: e.Entries, Warnings: e.Warnings}
		c := r.clone()
		e.Plan, e.Entries, e.Warnings = c.Plan, c.Entries, c.Warnings
		HookError{Point: pointEvent, Hook: i, Name: h.Name}.call(&s.warnings, func() error {
			h.OnEvent(s.inside(context.WithoutCancel(ctx)), e)
			return nil
		})
	}
}

// passEvent is what is known of a pass before it is made.
func (s *Session) passEvent(kind string, v *compact.Snapshot, e Event, plan *compact.Plan) Event {
	e.Kind, e.Why, e.Model = kind, plan.Why, v.Model
	if s.observed() {
		e.Time = s.log.Now()
	}
	e.Session, e.Before, e.After, e.Budget = s.log.Store().Header().ID, plan.Before, plan.Before, plan.Budget
	return e
}

// passDone tells how a pass ended that e told the start of.
func (s *Session) passDone(ctx context.Context, before *compact.Snapshot, e Event, r *Result, err error) {
	if !s.observed() {
		return
	}
	start := e.Time
	e.Time = s.log.Now()
	e.Duration = e.Time.Sub(start)
	switch {
	case err != nil:
		e.Kind, e.Err = EventPassFailed, err
	case !r.Plan.Act:
		e.Kind, e.Why, e.Warnings = EventPassDeclined, r.Plan.Why, r.Warnings
	default:
		e.Kind, e.Why, e.After, e.Plan, e.Entries, e.Warnings = EventPassEnd, r.Plan.Why, r.Plan.After, r.Plan, r.Entries, r.Warnings
		if sum := r.Plan.Summary; sum != nil {
			e.Summarizer, e.Usage = sum.Summarizer, sum.Usage
		}
		if len(r.Entries) == 0 {
			break // a dry run
		}
		if now, err := s.load(context.WithoutCancel(ctx)); err == nil {
			e.After = now.Reading
			e.cacheEffect(before, now)
		}
	}
	s.emit(ctx, e)
}

func (s *Session) branched(ctx context.Context, b *Branched) {
	if !s.observed() {
		return
	}
	e := Event{
		Kind: EventBranch, Time: s.log.Now(), Session: b.Session, Why: b.Why,
		Entries: b.Entries, Warnings: b.Warnings,
	}
	if b.Summary != nil {
		e.Usage = b.Summary.Usage
	}
	if b.Output != nil {
		e.Summarizer = b.Output.Summarizer
	}
	if now, err := s.load(context.WithoutCancel(ctx)); err == nil {
		e.Model, e.After = now.Model, now.Reading
	}
	s.emit(ctx, e)
}

func (e *Event) cacheEffect(before, after *compact.Snapshot) {
	same := true
	e.CacheKept = after.Meter.Fixed()
	for i, m := range after.Messages {
		same = same && i < len(before.Messages) && (m == before.Messages[i] || bytes.Equal(m.JSON(), before.Messages[i].JSON()))
		if same {
			e.CacheKept += after.Costs[i]
		} else {
			e.CacheNew += after.Costs[i]
		}
	}
}

// LogEvents returns hooks that write each event to a logger: failures as errors, warnings as warnings, the start of a
// pass for debugging. Nothing of what was said in the conversation is logged.
func LogEvents(l *slog.Logger) Hooks {
	return Hooks{Name: "log", OnEvent: func(ctx context.Context, e Event) {
		level := map[string]slog.Level{EventPassStart: slog.LevelDebug, EventPassFailed: slog.LevelError}[e.Kind] // or information
		if l.Enabled(ctx, level) {
			l.LogAttrs(ctx, level, "clew: "+e.Kind, e.attrs()...)
		}
		for _, w := range e.Warnings {
			l.LogAttrs(ctx, slog.LevelWarn, "clew: warning", slog.String("session", e.Session), slog.String("warning", w.Error()))
		}
	}}
}

func (e *Event) attrs() []slog.Attr {
	usage := cmp.Or(e.Usage, &message.Usage{})
	failure := ""
	if e.Err != nil {
		failure = e.Err.Error()
	}
	all := []slog.Attr{
		slog.String("session", e.Session), slog.String("reason", string(e.Reason)), slog.Int("attempt", e.Attempt),
		slog.String("provider", e.Model.Provider), slog.String("model", e.Model.ID), slog.String("why", e.Why),
		slog.Int64("before", e.Before.Tokens), slog.Int64("after", e.After.Tokens), slog.Int64("limit", e.Budget.Limit),
		slog.Duration("duration", e.Duration), slog.String("summarizer", e.Summarizer),
		slog.Int64("cacheKept", e.CacheKept), slog.Int64("cacheNew", e.CacheNew), slog.Int("entries", len(e.Entries)),
		slog.Int64("inputTokens", usage.Prompt()), slog.Int64("outputTokens", usage.Output), slog.Float64("cost", usage.Cost),
		slog.String("error", failure),
	}
	return slices.DeleteFunc(all, func(a slog.Attr) bool { return reflect.ValueOf(a.Value.Any()).IsZero() && a.Key != "session" })
}
