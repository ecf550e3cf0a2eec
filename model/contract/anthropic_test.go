package contract

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	ours "github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/modeltest"
)

var at = time.UnixMilli(1_700_000_000_000)

func anthropicClient(s *modeltest.Server) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey(modeltest.Key), option.WithMaxRetries(0))
}

func anthropicParams() anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: "claude-sonnet-4-5", MaxTokens: 1000,
		System:   []anthropic.TextBlockParam{{Text: "Be brief."}},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Read a.go."))},
		Tools: []anthropic.ToolUnionParam{anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{
			Properties: map[string]any{"path": map[string]any{"type": "string"}}, Required: []string{"path"},
		}, "read")},
	}
}

func askAnthropic(s *modeltest.Server, stream bool) (outcome, error) {
	c := anthropicClient(s)
	msg, err := anthropicAnswer(c, anthropicParams(), stream)
	var fail *anthropic.Error
	if errors.As(err, &fail) {
		return outcome{Status: fail.StatusCode}, err
	}
	if err != nil {
		return outcome{}, err
	}
	o := outcome{
		Prompt: msg.Usage.InputTokens + msg.Usage.CacheReadInputTokens + msg.Usage.CacheCreationInputTokens,
		Output: msg.Usage.OutputTokens, CacheRead: msg.Usage.CacheReadInputTokens, Refusal: msg.StopDetails.Explanation,
	}
	switch msg.StopReason {
	case anthropic.StopReasonEndTurn:
		o.Finish = model.FinishEnd
	case anthropic.StopReasonMaxTokens:
		o.Finish = model.FinishLength
	case anthropic.StopReasonToolUse:
		o.Finish = model.FinishToolUse
	case anthropic.StopReasonRefusal:
		o.Finish = model.FinishRefusal
	}
	for _, b := range msg.Content {
		switch v := b.AsAny().(type) {
		case anthropic.TextBlock:
			o.Text += v.Text
		case anthropic.ThinkingBlock:
			o.Thinking += v.Thinking
			if v.Signature == "" {
				return o, errors.New("thinking without a signature")
			}
		case anthropic.ToolUseBlock:
			o.Calls = append(o.Calls, oneCall(v.ID, v.Name, string(v.Input)))
		}
	}
	return o, nil
}

func anthropicAnswer(c anthropic.Client, p anthropic.MessageNewParams, stream bool) (*anthropic.Message, error) {
	if !stream {
		return c.Messages.New(context.Background(), p)
	}
	st := c.Messages.NewStreaming(context.Background(), p)
	defer st.Close()
	var msg anthropic.Message
	for st.Next() {
		if err := msg.Accumulate(st.Current()); err != nil {
			return nil, err
		}
	}
	return &msg, st.Err()
}

func TestAnthropic(t *testing.T) {
	play(t, client{"anthropic", askAnthropic, func(base string) (model.Model, error) {
		return ours.New(ours.Config{Endpoint: endpoint("claude-sonnet-4-5", base)})
	}})
}

func endpoint(name, base string) model.Endpoint {
	return model.Endpoint{
		Model: name, BaseURL: base, Key: model.NewKey(modeltest.Key),
		Transport: model.NewTransport(model.TransportConfig{Retry: model.Retry{Attempts: 1}}),
	}
}

// The vendor's client carries on a conversation: its answers go back as it makes
// them, and the server takes them.
func TestAnthropicConversation(t *testing.T) {
	s := modeltest.Start(modeltest.Config{StablePrefix: true, BindThinking: true},
		modeltest.Answer(modeltest.Think("I must look."), modeltest.Call("call_1", "read", `{"path":"a.go"}`), modeltest.Call("call_2", "read", `{"path":"b.go"}`)),
		modeltest.Text("Read."))
	defer s.Close()
	c, p := anthropicClient(s), anthropicParams()
	msg, err := anthropicAnswer(c, p, true)
	if err != nil {
		t.Fatal(err)
	}
	p.Messages = append(p.Messages, msg.ToParam(),
		anthropic.NewUserMessage(anthropic.NewToolResultBlock("call_1", "package a", false), anthropic.NewToolResultBlock("call_2", "none", true)))
	if msg, err = anthropicAnswer(c, p, false); err != nil || msg.Content[0].Text != "Read." {
		t.Fatalf("%v %v", msg, err)
	}
	if bad := s.Violations(); bad != nil {
		t.Error(bad)
	}
	n, err := c.Messages.CountTokens(context.Background(), anthropic.MessageCountTokensParams{Model: p.Model, Messages: p.Messages[:1]})
	if err != nil || n.InputTokens <= 0 {
		t.Errorf("%v %v", n, err)
	}
}

// Our requests are values of the vendor's type: read into it and written again,
// they are the same JSON.
func TestAnthropicRequestType(t *testing.T) {
	for _, name := range []string{"claude-sonnet-4-5", "claude-opus-4-6"} {
		m, err := ours.New(ours.Config{Endpoint: endpoint(name, "http://127.0.0.1:1")})
		if err != nil {
			t.Fatal(err)
		}
		r := conversation("anthropic-messages", "anthropic", name, func(b *message.Block) {
			if b.Type == message.BlockThinking {
				b.Signature = "c2lnbmF0dXJl"
			}
		})
		body, err := m.Render(r)
		if err != nil {
			t.Fatal(err)
		}
		var p anthropic.MessageNewParams
		if err := json.Unmarshal(body, &p); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, body, again) {
			t.Errorf("%s: we write\n%s\nthe type holds\n%s", name, body, again)
		}
	}
}
