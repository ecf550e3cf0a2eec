package clew

import (
	"context"
	"log/slog"
)

// LogEvents returns a Config.Events that writes each event to a logger: failures as
// errors, warnings as warnings, the start of a pass for debugging, all else as
// information. Nothing of what was said in the conversation is logged.
func LogEvents(l *slog.Logger) func(context.Context, Event) {
	return func(ctx context.Context, e Event) {
		level := slog.LevelInfo
		switch e.Kind {
		case EventPassStart:
			level = slog.LevelDebug
		case EventPassFailed:
			level = slog.LevelError
		default:
		}
		if l.Enabled(ctx, level) {
			l.LogAttrs(ctx, level, "clew: "+string(e.Kind), e.attrs()...)
		}
		for _, w := range e.Warnings {
			l.LogAttrs(ctx, slog.LevelWarn, "clew: warning", slog.String("session", e.Session), slog.String("warning", w.Error()))
		}
	}
}

// attrs are those fields of an event that say something.
func (e *Event) attrs() []slog.Attr {
	a := []slog.Attr{slog.String("session", e.Session)}
	text := func(key, value string) {
		if value != "" {
			a = append(a, slog.String(key, value))
		}
	}
	number := func(key string, value int64) {
		if value != 0 {
			a = append(a, slog.Int64(key, value))
		}
	}
	text("reason", string(e.Reason))
	number("attempt", int64(e.Attempt))
	text("provider", e.Provider)
	text("model", e.Model)
	text("why", e.Why)
	number("before", e.Before.Tokens)
	number("after", e.After.Tokens)
	number("limit", e.Budget.Limit)
	if e.Duration > 0 {
		a = append(a, slog.Duration("duration", e.Duration))
	}
	text("summarizer", e.Summarizer)
	number("cacheKept", e.Cache.Kept)
	number("cacheNew", e.Cache.New)
	number("entries", int64(len(e.Entries)))
	if e.Usage != nil {
		number("inputTokens", e.Usage.Prompt())
		number("outputTokens", e.Usage.Output)
		if e.Usage.Cost > 0 {
			a = append(a, slog.Float64("cost", e.Usage.Cost))
		}
	}
	if e.Err != nil {
		a = append(a, slog.String("error", e.Err.Error()))
	}
	return a
}
