package gateway

import (
	"context"
	"net/http"
)

// Middleware returns Transport in the form that the Go SDKs of Anthropic and OpenAI take:
//
//	client := anthropic.NewClient(option.WithMiddleware(gateway.Middleware(gateway.Config{})))
//
// Put it before what signs requests, such as bedrock.WithConfig: a signature covers the body.
func Middleware(cfg Config) func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	rt := Transport(nextInLine{}, cfg)
	return func(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		return rt.RoundTrip(req.WithContext(context.WithValue(req.Context(), nextKey{}, next)))
	}
}

type nextKey struct{}

// nextInLine sends a request to the middleware that comes next, which is in its context.
type nextInLine struct{}

func (nextInLine) RoundTrip(req *http.Request) (*http.Response, error) {
	return req.Context().Value(nextKey{}).(func(*http.Request) (*http.Response, error))(req)
}
