package otelclew_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/otelclew"
)

func TestSpans(t *testing.T) {
	rec := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(rec)).Tracer("test")
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	tick := at
	cfg := clew.Config{
		Provider: "anthropic", Model: "claude-opus-4-6", Policy: compact.Policy{Window: 8_000},
		Clock: func() time.Time { tick = tick.Add(time.Second); return tick },
		Hooks: []clew.Hooks{{BeforeCompact: func(context.Context, clew.BeforeCompactEvent) (clew.Decision, error) {
			return clew.Decision{}, errors.New("it is late")
		}}, otelclew.Spans(tracer)},
	}
	s, err := clew.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 30 {
		if _, err := s.Append(t.Context(), message.User("secret words: "+strings.Repeat("do it again. ", 60), at), message.Assistant(at, message.TextBlock(strings.Repeat("done as before. ", 60)))); err != nil {
			t.Fatal(err)
		}
	}
	ctx, parent := tracer.Start(t.Context(), "turn")
	p, err := s.Prepare(ctx)
	if err != nil || !p.Plan.Act {
		t.Fatal(err, p.Plan.Why)
	}
	parent.End()
	if _, err := s.Compact(t.Context(), clew.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	spans := rec.Ended()
	if len(spans) != 3 {
		t.Fatalf("%d spans", len(spans))
	}
	pass, declined := spans[0], spans[2]
	if pass.Name() != "compact claude-opus-4-6" || pass.Parent().SpanID() != parent.SpanContext().SpanID() || pass.EndTime().Sub(pass.StartTime()) <= 0 {
		t.Errorf("%s, parent %v, %v", pass.Name(), pass.Parent(), pass.EndTime().Sub(pass.StartTime()))
	}
	got := map[attribute.Key]attribute.Value{}
	for _, kv := range pass.Attributes() {
		got[kv.Key] = kv.Value
		if strings.Contains(kv.Value.String(), "secret words") {
			t.Errorf("%s has what was said", kv.Key)
		}
	}
	if got["gen_ai.conversation.id"].AsString() == "" || got["gen_ai.provider.name"].AsString() != "anthropic" || got["clew.reason"].AsString() != "threshold" ||
		got["clew.tokens.before"].AsInt64() != p.Plan.Before.Tokens || got["clew.tokens.after"].AsInt64() != p.Reading.Tokens || got["clew.summarizer"].AsString() != "deterministic" {
		t.Errorf("attributes %v", pass.Attributes())
	}
	if len(pass.Events()) != 1 || pass.Events()[0].Name != "clew.warning" {
		t.Errorf("events %v", pass.Events())
	}
	if k := attributesOf(declined.Attributes())["clew.event"]; k != "pass_declined" {
		t.Errorf("the last is %q", k)
	}
}

func TestFailedSpan(t *testing.T) {
	rec := tracetest.NewSpanRecorder()
	spans := otelclew.Spans(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(rec)).Tracer("test"))
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for err, want := range map[error]string{
		context.Canceled: "canceled", context.DeadlineExceeded: "timeout", clew.ErrConflict: "conflict",
		&clew.FixedPartError{}: "fixed_part_too_large", errors.New("x"): "_OTHER",
	} {
		rec.Reset()
		spans.OnEvent(t.Context(), clew.Event{Kind: clew.EventPassStart, Time: at})
		spans.OnEvent(t.Context(), clew.Event{Kind: clew.EventPassFailed, Time: at, Duration: time.Second, Err: err, Usage: &message.Usage{Input: 5, CacheRead: 7, Output: 3, Cost: 0.5}})
		ended := rec.Ended()
		if len(ended) != 1 || ended[0].Status().Code != codes.Error || !ended[0].StartTime().Equal(at.Add(-time.Second)) {
			t.Fatalf("%v: %d spans", err, len(ended))
		}
		got := attributesOf(ended[0].Attributes())
		if got["error.type"] != want || got["gen_ai.usage.input_tokens"] != "12" || got["gen_ai.usage.output_tokens"] != "3" || got["clew.cost"] != "0.5" {
			t.Errorf("%v: %v", err, got)
		}
	}
}

func attributesOf(list []attribute.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range list {
		out[string(kv.Key)] = kv.Value.String()
	}
	return out
}
