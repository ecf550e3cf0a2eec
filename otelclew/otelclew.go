// Package otelclew makes OpenTelemetry spans of what happens to the context of a
// session.
//
//	tracer := otel.Tracer("my/agent")
//	s, err := clew.Open(ctx, path, clew.Config{Hooks: []clew.Hooks{otelclew.Spans(tracer)}})
//
// It is a module of its own, so that who does not use OpenTelemetry does not link it.
//
// Attributes that the semantic conventions for generative AI name have those names
// (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans), the others begin
// with clew. The conventions know no operation for a compaction, so
// gen_ai.operation.name is "compact", which they allow. Nothing of what was said in
// the conversation is in a span.
package otelclew

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/clew-dev/clew"
)

// Spans returns hooks that make a span of each pass, when it has ended,
// and of each move to another branch. A pass that was declined is a span with why in
// clew.why. The parent is the span in the context that the session was called with.
func Spans(tracer trace.Tracer) clew.Hooks {
	return clew.Hooks{Name: "otel", OnEvent: func(ctx context.Context, e clew.Event) {
		if e.Kind == clew.EventPassStart {
			return // its end says how long it took
		}
		_, span := tracer.Start(ctx, name(e),
			trace.WithSpanKind(trace.SpanKindInternal), trace.WithTimestamp(e.Time.Add(-e.Duration)), trace.WithAttributes(attributes(e)...))
		for _, w := range e.Warnings {
			span.AddEvent("clew.warning", trace.WithTimestamp(e.Time), trace.WithAttributes(attribute.String("clew.warning", w.Error())))
		}
		if e.Err != nil {
			span.RecordError(e.Err, trace.WithTimestamp(e.Time))
			span.SetStatus(codes.Error, e.Err.Error())
		}
		span.End(trace.WithTimestamp(e.Time))
	}}
}

// operation is what the conventions call the kind of work.
func operation(e clew.Event) string {
	if e.Kind == clew.EventBranch {
		return "branch"
	}
	return "compact"
}

// name is the operation and, as the conventions have it, the model.
func name(e clew.Event) string {
	if e.Model.ID == "" {
		return operation(e)
	}
	return operation(e) + " " + e.Model.ID
}

func attributes(e clew.Event) []attribute.KeyValue {
	a := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", operation(e)),
		attribute.String("gen_ai.conversation.id", e.Session),
		attribute.String("clew.event", e.Kind),
	}
	text := func(key, value string) {
		if value != "" {
			a = append(a, attribute.String(key, value))
		}
	}
	number := func(key string, value int64) {
		if value != 0 {
			a = append(a, attribute.Int64(key, value))
		}
	}
	text("gen_ai.provider.name", e.Model.Provider)
	text("gen_ai.request.model", e.Model.ID)
	text("clew.reason", string(e.Reason))
	text("clew.why", e.Why)
	text("clew.summarizer", e.Summarizer)
	number("clew.attempt", int64(e.Attempt))
	number("clew.tokens.before", e.Before.Tokens)
	number("clew.tokens.after", e.After.Tokens)
	number("clew.tokens.limit", e.Budget.Limit)
	number("clew.cache.kept", e.CacheKept)
	number("clew.cache.new", e.CacheNew)
	number("clew.entries", int64(len(e.Entries)))
	if e.Plan != nil {
		for _, r := range e.Plan.Stages {
			number("clew.freed."+r.Name, r.Freed)
		}
	}
	if u := e.Usage; u != nil {
		number("gen_ai.usage.input_tokens", u.Prompt())
		number("gen_ai.usage.output_tokens", u.Output)
		number("gen_ai.usage.cache_read.input_tokens", u.CacheRead)
		number("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite)
		if u.Cost > 0 {
			a = append(a, attribute.Float64("clew.cost", u.Cost))
		}
	}
	if e.Err != nil {
		text("error.type", errorType(e.Err))
	}
	return a
}
