package otelclew_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/otelclew"
)

// A request through a gateway is a span below that of its context, with the conventions'
// names, and is counted; nothing of what was said, and no key, is in either.
func TestGateway(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Fail") != "" {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		fmt.Fprint(w, `{"id":"m","content":[{"type":"text","text":"secret words"}],"usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":2}}`)
	}))
	defer up.Close()
	rec, reader := tracetest.NewSpanRecorder(), sdkmetric.NewManualReader()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(rec)).Tracer("test")
	observe, err := otelclew.Gateway(tracer, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test"))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: gateway.Transport(nil, gateway.Config{OnEvent: observe})}
	ctx, parent := tracer.Start(t.Context(), "turn")
	for _, fail := range []string{"", "yes"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, up.URL+"/v1/messages", strings.NewReader(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"secret words"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", "secret key")
		req.Header.Set("X-Fail", fail)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	spans := rec.Ended()
	if len(spans) != 2 {
		t.Fatalf("%d spans", len(spans))
	}
	ok, bad := attributesOf(spans[0].Attributes()), attributesOf(spans[1].Attributes())
	if s := spans[0]; s.Name() != "chat claude-sonnet-4-5" || s.SpanKind() != trace.SpanKindClient || s.Parent().SpanID() != parent.SpanContext().SpanID() || !s.EndTime().After(s.StartTime()) {
		t.Errorf("%s %v below %v", s.Name(), s.SpanKind(), s.Parent())
	}
	for key, want := range map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "claude-sonnet-4-5", "server.address": "127.0.0.1",
		"gen_ai.usage.input_tokens": "100", "gen_ai.usage.output_tokens": "2", "gen_ai.usage.cache_read.input_tokens": "90", "clew.outcome": "passed", "error.type": "",
	} {
		if ok[key] != want {
			t.Errorf("%s is %q, want %q", key, ok[key], want)
		}
	}
	if bad["error.type"] != "429" || spans[1].Status().Code != codes.Error {
		t.Errorf("a failed request: %v", bad)
	}
	if ok["gen_ai.conversation.id"] == "" || bad["gen_ai.conversation.id"] != ok["gen_ai.conversation.id"] {
		t.Errorf("conversations %q and %q", ok["gen_ai.conversation.id"], bad["gen_ai.conversation.id"])
	}
	var got metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%+v %v %v", got.ScopeMetrics, ok, bad)
	for _, want := range []string{"gen_ai.client.operation.duration", "gen_ai.client.token.usage", "clew.gateway.added"} {
		if !strings.Contains(all, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(all, "secret") || strings.Contains(fmt.Sprintf("%+v", got.ScopeMetrics), ok["gen_ai.conversation.id"]) {
		t.Errorf("what was said, a key or a conversation is in a metric or a span: %s", all)
	}
}
