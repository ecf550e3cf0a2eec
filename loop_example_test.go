package clew_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/gemini"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/model/openai"
)

// answer is a turn of an agent. README.md has it word for word.
func answer(ctx context.Context, s *clew.Session, m model.Model, prompt string, run func(message.Block) string) (string, error) {
	if _, err := s.Append(ctx, message.User(prompt, time.Now())); err != nil {
		return "", err
	}
	for {
		p, err := s.Prepare(ctx) // compacts the conversation if that is due
		if err != nil {
			return "", err
		}
		resp, err := m.Complete(ctx, &model.Request{Messages: p.Messages, MaxOutput: p.MaxOutput})
		if err != nil {
			if err = s.Recover(ctx, err); err != nil {
				return "", err
			}
			continue // the request was too large, and there is room now
		}
		next := []*message.Message{resp.Message}
		for _, c := range resp.Message.ToolCalls() {
			next = append(next, message.ToolResult(c.ID, c.Name, run(c), false, time.Now()))
		}
		if _, err := s.Append(ctx, next...); err != nil || len(next) == 1 {
			return resp.Text(), err
		}
	}
}

// clients returns a client of each API at a server.
func clients(srv *modeltest.Server) map[string]func() (model.Model, error) {
	return map[string]func() (model.Model, error){
		"anthropic": func() (model.Model, error) {
			return anthropic.New(anthropic.Config{Endpoint: srv.Endpoint("claude-sonnet-4-5")})
		},
		"openai responses": func() (model.Model, error) {
			return openai.NewResponses(openai.Config{Endpoint: srv.Endpoint("gpt-4o")})
		},
		"openai chat": func() (model.Model, error) { return openai.NewChat(openai.Config{Endpoint: srv.Endpoint("gpt-4o")}) },
		"gemini": func() (model.Model, error) {
			return gemini.New(gemini.Config{Endpoint: srv.Endpoint("gemini-2.5-pro")})
		},
	}
}

var readTool = model.EncodeTools([]model.Tool{{Name: "read", Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)}})

// The loop of the README goes through tool calls, an overflow and passes with every API.
func TestLoopOfTheReadme(t *testing.T) {
	ctx := context.Background()
	for name := range clients(modeltest.Start(modeltest.Config{})) {
		t.Run(name, func(t *testing.T) {
			srv := modeltest.Start(modeltest.Config{})
			defer srv.Close()
			m, err := clients(srv)[name]()
			if err != nil {
				t.Fatal(err)
			}
			passes := 0
			i := m.Info()
			s, err := clew.Open(ctx, tempFile(t), clew.Config{
				Provider: i.Provider, Model: i.Model, System: "Be brief.", Tools: readTool,
				Hooks: []clew.Hooks{{OnEvent: func(_ context.Context, e clew.Event) {
					if e.Kind == clew.EventPassEnd {
						passes++
					}
				}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			read := func(message.Block) string { return strings.Repeat("a line of a file that was read\n", 2_000) }
			for turn := range 4 {
				srv.Add(modeltest.Answer(modeltest.Call(fmt.Sprint("call_", turn), "read", `{"path":"a.go"}`)))
				if turn == 3 {
					srv.Add(modeltest.Overflow(40_000, 30_000))
				}
				srv.Add(modeltest.Text(fmt.Sprint("That was turn ", turn)))
				got, err := answer(ctx, s, m, fmt.Sprint("do part ", turn), read)
				if err != nil || got != fmt.Sprint("That was turn ", turn) {
					t.Fatalf("turn %d: %q, %v", turn, got, err)
				}
			}
			if v := srv.Violations(); len(v) > 0 {
				t.Errorf("requests break the API's rules: %v", v)
			}
			if p := prepare(t, s); passes == 0 || p.Plan.Budget.Window > 70_000 { // an API that names no limit refused a request of about 62,000 tokens
				t.Errorf("%d passes, window %d", passes, p.Plan.Budget.Window)
			}
			for _, x := range srv.Exchanges() {
				if !strings.Contains(string(x.Request), "Be brief.") || !strings.Contains(string(x.Request), `"read"`) {
					t.Fatal("a request lacks the prompt or the tools")
				}
			}
		})
	}
}

// README.md shows the loop as it stands here, in at most 25 lines.
func TestReadmeShowsTheLoop(t *testing.T) {
	src, err := os.ReadFile("loop_example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(src), "word for word.\n")
	loop, _, ok := strings.Cut(rest, "\n}\n")
	if n := strings.Count(loop, "\n") + 2; !ok || n > 25 {
		t.Errorf("the loop has %d lines", n)
	}
	if !strings.Contains(string(readme), loop+"\n}\n") {
		t.Error("README.md shows another loop than this file has")
	}
}

func ExampleSession_loop() {
	ctx := context.Background()
	srv := modeltest.Start(modeltest.Config{}, modeltest.Answer(modeltest.Call("call_1", "read", `{"path":"go.mod"}`)), modeltest.Text("It is clew."))
	defer srv.Close()
	m, err := anthropic.New(anthropic.Config{Endpoint: srv.Endpoint("claude-sonnet-4-5")}) // for the real one, Endpoint{Model: ...}
	must(err)
	dir, err := os.MkdirTemp("", "clew")
	must(err)
	defer os.RemoveAll(dir)

	s, err := clew.Open(ctx, filepath.Join(dir, "session.jsonl"), clew.Config{Provider: "anthropic", Model: "claude-sonnet-4-5", Tools: readTool})
	must(err)
	defer s.Close()
	text, err := answer(ctx, s, m, "What is this module?", func(call message.Block) string { return "module github.com/clew-dev/clew" })
	fmt.Println(text, err)
	// Output:
	// It is clew. <nil>
}
