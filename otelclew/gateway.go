package otelclew

import (
	"cmp"
	"context"
	"net"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/clew-dev/clew/gateway"
)

// apis are the names that the conventions have for an API's provider and operation.
var apis = map[string]struct{ provider, operation string }{
	"anthropic": {"anthropic", "chat"}, "openai-chat": {"openai", "chat"}, "openai-responses": {"openai", "chat"},
	"gemini": {"gcp.gemini", "generate_content"},
}

// Gateway returns a function for gateway.Config.OnEvent that makes a span of each request to
// a model, and counts it:
//
//	observe, err := otelclew.Gateway(otel.Tracer("my/agent"), otel.Meter("my/agent"))
//	rt := gateway.Transport(nil, gateway.Config{OnEvent: observe})
//
// The parent is the span in the request's context. The instruments are those of the
// conventions, gen_ai.client.operation.duration and gen_ai.client.token.usage, and
// clew.gateway.added, the time that was added before a request was sent on. The names of
// models are attributes of both: those who choose them should be few.
func Gateway(tracer trace.Tracer, meter metric.Meter) (func(gateway.Event), error) {
	took, err := meter.Float64Histogram("gen_ai.client.operation.duration", metric.WithUnit("s"), metric.WithDescription("Duration of requests to models"),
		metric.WithExplicitBucketBoundaries(.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92))
	if err != nil {
		return nil, err
	}
	usage, err := meter.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"), metric.WithDescription("Tokens of requests to models"),
		metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304))
	if err != nil {
		return nil, err
	}
	added, err := meter.Float64Histogram("clew.gateway.added", metric.WithUnit("s"), metric.WithDescription("Time added before a request was sent on"),
		metric.WithExplicitBucketBoundaries(.0001, .0002, .0005, .001, .002, .005, .01, .02, .05, .1, .5))
	if err != nil {
		return nil, err
	}
	return func(e gateway.Event) {
		ctx := e.Context
		if ctx == nil {
			ctx = context.Background()
		}
		common := requestAttributes(&e)
		ctx, span := tracer.Start(ctx, common[0].Value.AsString()+" "+cmp.Or(e.Model, e.Host), trace.WithSpanKind(trace.SpanKindClient),
			trace.WithTimestamp(e.Time), trace.WithAttributes(common...), trace.WithAttributes(contextAttributes(&e)...))
		if e.Status >= 400 || e.Status == 0 {
			span.SetStatus(codes.Error, "")
		}
		span.End(trace.WithTimestamp(e.Time.Add(e.Total)))

		set := metric.WithAttributes(common...)
		took.Record(ctx, e.Total.Seconds(), set)
		added.Record(ctx, e.Took.Seconds(), set)
		if e.Usage != nil {
			for kind, n := range map[string]int64{"input": e.Usage.Input, "output": e.Usage.Output} {
				usage.Record(ctx, n, set, metric.WithAttributes(attribute.String("gen_ai.token.type", kind)))
			}
		}
	}, nil
}

// requestAttributes say what was asked of whom; the first is the operation.
func requestAttributes(e *gateway.Event) []attribute.KeyValue {
	api := apis[e.API]
	a := []attribute.KeyValue{attribute.String("gen_ai.operation.name", cmp.Or(api.operation, "chat"))}
	for key, value := range map[string]string{"gen_ai.provider.name": api.provider, "gen_ai.request.model": e.Model} {
		if value != "" {
			a = append(a, attribute.String(key, value))
		}
	}
	host, port, err := net.SplitHostPort(e.Host)
	if err != nil {
		host = e.Host
	}
	if host != "" {
		a = append(a, attribute.String("server.address", host))
	}
	if n, err := strconv.Atoi(port); err == nil {
		a = append(a, attribute.Int("server.port", n))
	}
	switch {
	case e.Status >= 400:
		a = append(a, attribute.String("error.type", strconv.Itoa(e.Status)))
	case e.Status == 0:
		a = append(a, attribute.String("error.type", "_OTHER"))
	}
	return a
}

// contextAttributes say what became of the context. They are of the span alone, for each
// conversation has its own.
func contextAttributes(e *gateway.Event) []attribute.KeyValue {
	a := []attribute.KeyValue{
		attribute.String("clew.outcome", string(e.Outcome)), attribute.Int64("clew.tokens.before", e.Before),
		attribute.Int64("clew.tokens.after", e.After), attribute.Int64("clew.tokens.limit", e.Window),
	}
	if e.Conversation != "" {
		a = append(a, attribute.String("gen_ai.conversation.id", e.Conversation))
	}
	if e.Why != "" {
		a = append(a, attribute.String("clew.why", e.Why))
	}
	if e.Status > 0 {
		a = append(a, attribute.Int("http.response.status_code", e.Status))
	}
	if u := e.Usage; u != nil {
		a = append(a, attribute.Int64("gen_ai.usage.input_tokens", u.Input), attribute.Int64("gen_ai.usage.output_tokens", u.Output),
			attribute.Int64("gen_ai.usage.cache_read.input_tokens", u.CacheRead), attribute.Int64("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite))
	}
	return a
}
