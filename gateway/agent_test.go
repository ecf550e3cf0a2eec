package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/gemini"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/model/openai"
)

// apis are the four APIs as an agent reaches them.
var apis = []struct {
	name string
	open func(s *modeltest.Server, base http.RoundTripper) (model.Model, error)
}{
	{"anthropic", func(s *modeltest.Server, base http.RoundTripper) (model.Model, error) {
		return anthropic.New(anthropic.Config{Endpoint: through(s.Endpoint("claude-sonnet-4-5"), base)})
	}},
	{"openai-chat", func(s *modeltest.Server, base http.RoundTripper) (model.Model, error) {
		return openai.NewChat(openai.Config{Endpoint: through(s.OpenAI("gpt-4.1"), base)})
	}},
	{"openai-responses", func(s *modeltest.Server, base http.RoundTripper) (model.Model, error) {
		return openai.NewResponses(openai.Config{Endpoint: through(s.OpenAI("gpt-5"), base)})
	}},
	{"gemini", func(s *modeltest.Server, base http.RoundTripper) (model.Model, error) {
		return gemini.New(gemini.Config{Endpoint: through(s.Gemini("gemini-2.5-pro"), base)})
	}},
}

func through(e model.Endpoint, base http.RoundTripper) model.Endpoint {
	e.Transport = model.NewTransport(model.TransportConfig{Base: base})
	return e
}

// agent is an agent that never compacts: it sends all that was said, each time.
type agent struct {
	t     testing.TB
	m     model.Model
	srv   *modeltest.Server
	rng   *rand.Rand
	msgs  []*message.Message
	think bool
	asked int
	calls int
	usage gateway.Usage // that it was shown
}

func newAgent(t testing.TB, m model.Model, srv *modeltest.Server, seed uint64) *agent {
	return &agent{t: t, m: m, srv: srv, rng: rand.New(rand.NewPCG(seed, 7))}
}

func (a *agent) say(m *message.Message) { a.msgs = append(a.msgs, m) }

// turn is one request of the user: a loop of tool calls, and a closing answer.
func (a *agent) turn(text string, loops int) error {
	a.say(&message.Message{Role: message.RoleUser, Content: []message.Block{{Type: message.BlockText, Text: text}}})
	for i := range loops + 1 {
		var blocks []message.Block
		if a.think {
			blocks = append(blocks, modeltest.Think(fmt.Sprintf("thought %d", a.calls)))
		}
		if i < loops {
			for range 1 + a.rng.IntN(2) {
				a.calls++
				blocks = append(blocks, modeltest.Call(fmt.Sprintf("call_%d", a.calls), "read", fmt.Sprintf(`{"path":"src/file%d.go"}`, a.calls)))
			}
		} else {
			blocks = append(blocks, message.Block{Type: message.BlockText, Text: fmt.Sprintf("Changed src/file%d.go; all tests pass.", a.calls)})
		}
		a.srv.Add(modeltest.Answer(blocks...))
		a.asked++
		req := &model.Request{System: "You are an agent.", Messages: a.msgs, MaxOutput: 1500}
		if a.think {
			req.Reasoning, req.ReasoningBudget = model.ReasoningHigh, 1024
		}
		resp, err := a.m.Complete(context.Background(), req)
		if err != nil {
			return fmt.Errorf("request %d: %w", a.asked, err)
		}
		a.say(resp.Message)
		u := resp.Message.Usage
		a.usage.Input += u.Prompt()
		a.usage.CacheRead += u.CacheRead
		a.usage.CacheWrite += u.CacheWrite
		a.usage.Output += u.Output
		for _, c := range resp.Message.ToolCalls() {
			lines := 20 + a.rng.IntN(100)
			a.say(&message.Message{
				Role: message.RoleToolResult, ToolCallID: c.ID, ToolName: c.Name,
				Content: []message.Block{{Type: message.BlockText, Text: strings.Repeat(fmt.Sprintf("func f%d() error { return nil } // line\n", a.calls), lines)}},
			})
		}
	}
	return nil
}

// An agent that never compacts works on at a model with a window of 32,000 tokens, which it
// takes for one of 200,000: it sees no error, with thinking and without, for each API, and
// the provider's prompt cache holds between the epochs. With CLEW_BENCH=1 it has 500 turns.
func TestAgentsThatWouldDie(t *testing.T) {
	turns, loops := 30, 8
	if testing.Short() {
		turns = 10
	}
	if os.Getenv("CLEW_BENCH") != "" {
		turns, loops = 500, 3
	}
	for _, api := range apis {
		for _, think := range []bool{false, true} {
			for _, known := range []bool{true, false} {
				if testing.Short() && known == think {
					continue
				}
				t.Run(fmt.Sprintf("%s/thinking=%v/known=%v", api.name, think, known), func(t *testing.T) {
					t.Parallel()
					srv := modeltest.Start(modeltest.Config{Window: 32_000, BindThinking: true})
					defer srv.Close()
					outcomes := map[gateway.Outcome]int{}
					var told gateway.Usage
					window := int64(32_000)
					if !known {
						window = 200_000
					}
					m, err := api.open(srv, gateway.Transport(nil, gateway.Config{
						Window: func(string, string) int64 { return window },
						OnEvent: func(e gateway.Event) {
							outcomes[e.Outcome]++
							if u := e.Usage; u != nil {
								told.Input += u.Input
								told.CacheRead += u.CacheRead
								told.CacheWrite += u.CacheWrite
								told.Output += u.Output
							}
						},
						Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
					}))
					if err != nil {
						t.Fatal(err)
					}
					a := newAgent(t, m, srv, 1)
					a.think = think
					for n := range turns {
						if err := a.turn(fmt.Sprintf("Please change part %d. Never touch the folder vendor.", n), a.rng.IntN(loops)); err != nil {
							t.Fatal(err, srv.Violations())
						}
					}
					refused, kept, sent := 0, 0, 0
					for _, x := range srv.Exchanges() {
						if x.Status != 200 {
							refused++
							continue
						}
						sent++
						if x.Kept {
							kept++
						}
					}
					t.Logf("%d turns, %d requests, 0 errors seen by the agent, %d refused upstream, %d of %d kept the start; %v", turns, a.asked, refused, kept, sent, outcomes)
					if bad := srv.Violations(); len(bad) > refused {
						t.Errorf("the upstream found: %s", bad[0])
					}
					if told != a.usage {
						t.Errorf("the agent is shown a usage of %+v, the gateway tells %+v", a.usage, told)
					}
					epochs := outcomes[gateway.Compacted] + outcomes[gateway.Rescued]
					if epochs == 0 {
						t.Error("no epoch was made")
					}
					if max := 2; known && refused > 0 || refused > max {
						t.Errorf("the upstream refused %d requests", refused)
					}
					changes := epochs
					if think && api.name == "anthropic" {
						changes *= 2 // an open loop kept its thinking until it ended
					}
					if sent-kept > changes+1 {
						t.Errorf("%d requests changed what was sent before, for %d epochs", sent-kept, epochs)
					}
				})
			}
		}
	}
}
