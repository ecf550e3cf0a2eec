package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"github.com/tmc/langchaingo/llms"
	langanthropic "github.com/tmc/langchaingo/llms/anthropic"
	langopenai "github.com/tmc/langchaingo/llms/openai"
	"google.golang.org/genai"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/modeltest"
)

// toolCall is what a model asks for.
type toolCall struct{ id, name, args string }

// talker is a program that talks to a model by an SDK, and sends all that was said each time.
type talker interface {
	user(text string)
	ask(stream bool) ([]toolCall, error)
	result(c toolCall, text string)
}

// Programs with the vendors' SDKs, and with langchaingo, work on for a hundred turns at a
// model with a window of 32,000 tokens and see no error, by one line: the client, or the
// middleware. The servers check pairs, roles, signatures and size.
func TestSDKsThroughTheGateway(t *testing.T) {
	const turns = 100
	for _, sdk := range []struct {
		name string
		open func(*modeltest.Server, gateway.Config) (talker, error)
	}{
		{"anthropic", func(s *modeltest.Server, cfg gateway.Config) (talker, error) {
			return newAnthropicTalker(s, anthropicoption.WithHTTPClient(through(cfg))), nil
		}},
		{"anthropic, middleware", func(s *modeltest.Server, cfg gateway.Config) (talker, error) {
			return newAnthropicTalker(s, anthropicoption.WithMiddleware(gateway.Middleware(cfg))), nil
		}},
		{"openai chat", func(s *modeltest.Server, cfg gateway.Config) (talker, error) {
			return &chatTalker{c: newOpenAI(s, option.WithHTTPClient(through(cfg))), p: chatStart()}, nil
		}},
		{"openai chat, middleware", func(s *modeltest.Server, cfg gateway.Config) (talker, error) {
			return &chatTalker{c: newOpenAI(s, option.WithMiddleware(gateway.Middleware(cfg))), p: chatStart()}, nil
		}},
		{"openai responses", func(s *modeltest.Server, cfg gateway.Config) (talker, error) {
			return &responsesTalker{c: newOpenAI(s, option.WithHTTPClient(through(cfg)))}, nil
		}},
		{"genai", func(s *modeltest.Server, cfg gateway.Config) (talker, error) {
			c, err := genai.NewClient(context.Background(), &genai.ClientConfig{
				APIKey: modeltest.Key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: s.URL}, HTTPClient: through(cfg),
			})
			return &genaiTalker{c: c}, err
		}},
		{"langchaingo anthropic", func(s *modeltest.Server, cfg gateway.Config) (talker, error) {
			m, err := langanthropic.New(langanthropic.WithToken(modeltest.Key), langanthropic.WithModel("claude-sonnet-4-5"), langanthropic.WithBaseURL(s.URL+"/v1"), langanthropic.WithHTTPClient(through(cfg)))
			return &langTalker{m: m}, err
		}},
		{"langchaingo openai", func(s *modeltest.Server, cfg gateway.Config) (talker, error) {
			m, err := langopenai.New(langopenai.WithToken(modeltest.Key), langopenai.WithModel("gpt-4o"), langopenai.WithBaseURL(s.URL+"/v1"), langopenai.WithHTTPClient(through(cfg)))
			return &langTalker{m: m}, err
		}},
	} {
		t.Run(sdk.name, func(t *testing.T) {
			t.Parallel()
			s := modeltest.Start(modeltest.Config{Window: 32_000})
			defer s.Close()
			outcomes := map[gateway.Outcome]int{}
			a, err := sdk.open(s, gateway.Config{
				Window:  func(string, string) int64 { return 32_000 },
				OnEvent: func(e gateway.Event) { outcomes[e.Outcome]++ },
			})
			if err != nil {
				t.Fatal(err)
			}
			for n := range turns {
				s.Add(modeltest.Answer(message.TextBlock("I look."), modeltest.Call(fmt.Sprintf("call_%d", n), "read", fmt.Sprintf(`{"path":"src/file%d.go"}`, n))), modeltest.Text(fmt.Sprintf("Changed src/file%d.go; all tests pass.", n)))
				a.user(fmt.Sprintf("Please change src/file%d.go. Never touch the folder vendor.", n))
				calls, err := a.ask(n%2 == 0)
				if err != nil || len(calls) != 1 || calls[0].name != "read" {
					t.Fatalf("turn %d: %d calls, %v", n, len(calls), err)
				}
				a.result(calls[0], strings.Repeat(fmt.Sprintf("func f%d() error { return nil } // line\n", n), 60))
				if calls, err = a.ask(n%3 == 0); err != nil || len(calls) != 0 {
					t.Fatalf("turn %d: the answer: %d calls, %v", n, len(calls), err)
				}
			}
			if bad := s.Violations(); len(bad) > 0 {
				t.Errorf("the server found %d: %s", len(bad), bad[0])
			}
			kept := 0
			xs := s.Exchanges()
			if dir := os.Getenv("CLEW_RECORD"); dir != "" && !strings.Contains(sdk.name, "middleware") {
				record(t, dir, sdk.name, xs[5])
			}
			for _, x := range xs {
				if x.Kept {
					kept++
				}
			}
			epochs := outcomes[gateway.Compacted] + outcomes[gateway.Rescued]
			if epochs == 0 || len(xs)-kept > epochs+1 {
				t.Errorf("%d of %d requests began like the one before, with %d epochs", kept, len(xs), epochs)
			}
			t.Logf("%d requests, %v, %d began like the one before", len(xs), outcomes, kept)
		})
	}
}

// record writes a request for gateway/testdata/programs.
func record(t *testing.T, dir, name string, x modeltest.Exchange) {
	text := fmt.Sprintf("POST %s HTTP/1.1\nHost: 127.0.0.1\nContent-Type: application/json\nContent-Length: %d\n", x.Path, len(x.Request))
	if v := x.RequestHeader.Get("Anthropic-Version"); v != "" {
		text += "Anthropic-Version: " + v + "\n"
	}
	file := filepath.Join(dir, "go-"+strings.ReplaceAll(name, " ", "-")+".http")
	if err := os.WriteFile(file, []byte(text+"\n"+string(x.Request)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func through(cfg gateway.Config) *http.Client {
	return &http.Client{Transport: gateway.Transport(nil, cfg)}
}

type anthropicTalker struct {
	c anthropic.Client
	p anthropic.MessageNewParams
}

func newAnthropicTalker(s *modeltest.Server, o anthropicoption.RequestOption) *anthropicTalker {
	p := anthropicParams()
	p.Messages = nil
	return &anthropicTalker{anthropic.NewClient(anthropicoption.WithBaseURL(s.URL), anthropicoption.WithAPIKey(modeltest.Key), anthropicoption.WithMaxRetries(0), o), p}
}

func (a *anthropicTalker) user(text string) {
	a.p.Messages = append(a.p.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(text)))
}

func (a *anthropicTalker) ask(stream bool) (calls []toolCall, err error) {
	m, err := anthropicAnswer(a.c, a.p, stream)
	if err != nil {
		return nil, err
	}
	a.p.Messages = append(a.p.Messages, m.ToParam())
	for _, b := range m.Content {
		if v, ok := b.AsAny().(anthropic.ToolUseBlock); ok {
			calls = append(calls, toolCall{v.ID, v.Name, string(v.Input)})
		}
	}
	return calls, nil
}

func (a *anthropicTalker) result(c toolCall, text string) {
	a.p.Messages = append(a.p.Messages, anthropic.NewUserMessage(anthropic.NewToolResultBlock(c.id, text, false)))
}

func newOpenAI(s *modeltest.Server, o option.RequestOption) openai.Client {
	return openai.NewClient(option.WithBaseURL(s.URL+"/v1"), option.WithAPIKey(modeltest.Key), option.WithMaxRetries(0), o)
}

func chatStart() openai.ChatCompletionNewParams {
	p := chatParams()
	p.Messages = p.Messages[:1]
	return p
}

type chatTalker struct {
	c openai.Client
	p openai.ChatCompletionNewParams
}

func (a *chatTalker) user(text string) { a.p.Messages = append(a.p.Messages, openai.UserMessage(text)) }

func (a *chatTalker) ask(stream bool) (calls []toolCall, err error) {
	r, _, err := chatAnswer(a.c, a.p, stream)
	if err != nil {
		return nil, err
	}
	m := r.Choices[0].Message
	a.p.Messages = append(a.p.Messages, m.ToParam())
	for _, c := range m.ToolCalls {
		calls = append(calls, toolCall{c.ID, c.Function.Name, c.Function.Arguments})
	}
	return calls, nil
}

func (a *chatTalker) result(c toolCall, text string) {
	a.p.Messages = append(a.p.Messages, openai.ToolMessage(text, c.id))
}

type responsesTalker struct {
	c    openai.Client
	list responses.ResponseInputParam
}

func (a *responsesTalker) user(text string) {
	a.list = append(a.list, responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser))
}

func (a *responsesTalker) ask(stream bool) (calls []toolCall, err error) {
	p := responses.ResponseNewParams{
		Model: shared.ResponsesModel("gpt-5"), Store: openai.Bool(false), Instructions: openai.String("Be brief."),
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: a.list},
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("read", parameters(), false)},
	}
	r, err := responsesAnswer(a.c, p, stream)
	if err != nil {
		return nil, err
	}
	for _, item := range r.Output {
		switch v := item.AsAny().(type) {
		case responses.ResponseFunctionToolCall:
			a.list = append(a.list, responses.ResponseInputItemParamOfFunctionCall(v.Arguments, v.CallID, v.Name))
			calls = append(calls, toolCall{v.CallID, v.Name, v.Arguments})
		case responses.ResponseOutputMessage:
			a.list = append(a.list, responses.ResponseInputItemParamOfMessage(r.OutputText(), responses.EasyInputMessageRoleAssistant))
		}
	}
	return calls, nil
}

func (a *responsesTalker) result(c toolCall, text string) {
	item := responses.ResponseInputItemParamOfFunctionCallOutput(text)
	item.OfFunctionCallOutput.CallID = openai.String(c.id)
	a.list = append(a.list, item)
}

type genaiTalker struct {
	c    *genai.Client
	list []*genai.Content
}

func (a *genaiTalker) user(text string) {
	a.list = append(a.list, genai.NewContentFromText(text, genai.RoleUser))
}

func (a *genaiTalker) ask(stream bool) (calls []toolCall, err error) {
	parts, _, err := geminiAnswer(a.c, a.list, stream)
	if err != nil {
		return nil, err
	}
	whole := &genai.Content{Role: genai.RoleModel}
	for _, p := range parts { // a stream has a text in pieces
		if n := len(whole.Parts); n > 0 && p.FunctionCall == nil && whole.Parts[n-1].FunctionCall == nil && p.Thought == whole.Parts[n-1].Thought {
			last := whole.Parts[n-1]
			last.Text += p.Text
			last.ThoughtSignature = append(last.ThoughtSignature, p.ThoughtSignature...)
			continue
		}
		whole.Parts = append(whole.Parts, p)
	}
	a.list = append(a.list, whole)
	for _, p := range whole.Parts {
		if f := p.FunctionCall; f != nil {
			args, _ := json.Marshal(f.Args)
			calls = append(calls, toolCall{f.ID, f.Name, string(args)})
		}
	}
	return calls, nil
}

func (a *genaiTalker) result(c toolCall, text string) {
	part := genai.NewPartFromFunctionResponse(c.name, map[string]any{"output": text})
	part.FunctionResponse.ID = c.id
	a.list = append(a.list, &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{part}})
}

type langTalker struct {
	m    llms.Model
	list []llms.MessageContent
}

func (a *langTalker) user(text string) {
	a.list = append(a.list, llms.TextParts(llms.ChatMessageTypeHuman, text))
}

func (a *langTalker) ask(stream bool) (calls []toolCall, err error) {
	opts := []llms.CallOption{llms.WithMaxTokens(1000), llms.WithTools([]llms.Tool{{Type: "function", Function: &llms.FunctionDefinition{Name: "read", Parameters: parameters()}}})}
	if stream {
		opts = append(opts, llms.WithStreamingFunc(func(context.Context, []byte) error { return nil }))
	}
	r, err := a.m.GenerateContent(context.Background(), a.list, opts...)
	if err != nil {
		return nil, err
	}
	for _, c := range r.Choices {
		if len(r.Choices) > 1 && len(c.ToolCalls) == 0 {
			continue // each block of Anthropic's is a choice, and only one of them can be sent back
		}
		m := llms.MessageContent{Role: llms.ChatMessageTypeAI}
		if c.Content != "" {
			m.Parts = append(m.Parts, llms.TextPart(c.Content))
		}
		for _, tc := range c.ToolCalls {
			m.Parts = append(m.Parts, tc)
			calls = append(calls, toolCall{tc.ID, tc.FunctionCall.Name, tc.FunctionCall.Arguments})
		}
		a.list = append(a.list, m)
	}
	return calls, nil
}

func (a *langTalker) result(c toolCall, text string) {
	a.list = append(a.list, llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: c.id, Name: c.name, Content: text}}})
}
