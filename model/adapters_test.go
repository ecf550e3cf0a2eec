package model_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/gemini"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/model/openai"
)

// adapter is one of the ways to a model, for tests that hold for all of them.
type adapter struct {
	name  string
	model string
	open  func(e model.Endpoint) (model.Model, error)
	at    func(s *modeltest.Server, name string) model.Endpoint
}

var adapters = []adapter{
	{
		"anthropic", "claude-sonnet-4-5",
		func(e model.Endpoint) (model.Model, error) { return anthropic.New(anthropic.Config{Endpoint: e}) },
		(*modeltest.Server).Endpoint,
	},
	{
		"chat", "gpt-4o",
		func(e model.Endpoint) (model.Model, error) { return openai.NewChat(openai.Config{Endpoint: e}) },
		(*modeltest.Server).OpenAI,
	},
	{
		"responses", "gpt-5.2",
		func(e model.Endpoint) (model.Model, error) { return openai.NewResponses(openai.Config{Endpoint: e}) },
		(*modeltest.Server).OpenAI,
	},
	{
		"gemini", "gemini-3-pro-preview",
		func(e model.Endpoint) (model.Model, error) { return gemini.New(gemini.Config{Endpoint: e}) },
		(*modeltest.Server).Gemini,
	},
}

// each runs a test for every adapter, against a server of its own.
func each(t *testing.T, c modeltest.Config, run func(t *testing.T, a adapter, s *modeltest.Server, m model.Model)) {
	t.Helper()
	for _, a := range adapters {
		t.Run(a.name, func(t *testing.T) {
			s := modeltest.Start(c)
			defer s.Close()
			run(t, a, s, a.connect(t, s))
		})
	}
}

var at = time.UnixMilli(1_700_000_000_000)

// connect returns the adapter's model at a server, with fixed ids and clock and
// without real waiting.
func (a adapter) connect(t testing.TB, s *modeltest.Server, change ...func(*model.Endpoint)) model.Model {
	t.Helper()
	e := a.at(s, a.model)
	e.Now = func() time.Time { return at }
	e.Transport = model.NewTransport(model.TransportConfig{Retry: model.Retry{
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}})
	for _, f := range change {
		f(&e)
	}
	m, err := a.open(e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ask(text string) *model.Request {
	return &model.Request{
		System:   "Be brief.",
		Messages: []*message.Message{message.User(text, at)},
		Tools: []model.Tool{{
			Name: "read", Description: "reads a file",
			Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
		}},
		MaxOutput: 1000,
	}
}

// sketch writes an answer so that it can be compared.
func sketch(r *model.Response) string {
	if r == nil {
		return "(none)"
	}
	s := string(r.Finish) + " " + string(r.Message.StopReason)
	for _, b := range r.Message.Content {
		switch b.Type {
		case message.BlockToolCall:
			s += fmt.Sprintf(" call(%s %s %s)", b.ID, b.Name, b.Arguments)
		case message.BlockText, message.BlockThinking:
			s += fmt.Sprintf(" %s(%q)", b.Type, b.Text)
		default:
			s += " " + string(b.Raw())
		}
	}
	for _, c := range r.BadCalls {
		s += fmt.Sprintf(" bad(%s %s)", c.Name, c.Text)
	}
	if r.Refusal != "" {
		s += fmt.Sprintf(" refusal(%q)", r.Refusal)
	}
	return s
}

// canonical is sketch with all that a message holds.
func canonical(r *model.Response) string {
	return sketch(r) + " " + string(r.Message.JSON())
}
