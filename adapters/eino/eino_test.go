package eino_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/adapters/eino"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/adaptertest"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/modeltest"
)

// chatModel calls a server that speaks Chat Completions.
type chatModel struct{ url string }

func (m chatModel) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

func (m chatModel) Generate(ctx context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	type msg struct {
		Role      schema.RoleType   `json:"role"`
		Content   string            `json:"content,omitempty"`
		ToolCalls []schema.ToolCall `json:"tool_calls,omitempty"`
		CallID    string            `json:"tool_call_id,omitempty"`
	}
	list := make([]msg, len(input))
	for i, in := range input {
		list[i] = msg{in.Role, in.Content, in.ToolCalls, in.ToolCallID}
	}
	body, err := json.Marshal(map[string]any{"model": "gpt-4.1", "messages": list})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+modeltest.Key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s %w", resp.Status, data, err)
	}
	var answer struct {
		Choices []struct{ Message schema.Message }
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	return &answer.Choices[0].Message, nil
}

func (m chatModel) Stream(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	out, err := m.Generate(ctx, input, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{out}), nil
}

type path struct {
	Path string `json:"path"`
}

// An agent of eino works on at a model with a window of 32,000 tokens: in one run with many
// calls, and over runs whose history its program keeps. The server, which checks pairs, roles
// and size, refuses nothing; what is sent begins like what was sent before; and the model
// reads by recall what has left its context.
func TestAgent(t *testing.T) {
	ctx := context.Background()
	srv := modeltest.Start(modeltest.Config{Window: 32_000})
	defer srv.Close()
	s, err := clew.New(clew.Config{Provider: "openai", Model: "gpt-4.1", Policy: compact.Policy{Window: 32_000}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	kept, err := eino.New(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	kept.OnError = func(err error) { t.Error(err) }
	read, err := utils.InferTool("read", "reads a file", func(_ context.Context, p path) (string, error) {
		return strings.Repeat("func of "+p.Path+" returns nil\n", 80), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "agent", Description: "an agent", Instruction: "Be brief.", Model: chatModel{srv.URL}, MaxIterations: 200,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{read}}},
		Middlewares: []adk.AgentMiddleware{kept.Middleware()},
	})
	if err != nil {
		t.Fatal(err)
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	var history []adk.Message
	calls := 0
	run := func(text string, loops int, more ...modeltest.Reply) (last adk.Message) {
		t.Helper()
		for range loops {
			calls++
			srv.Add(modeltest.Answer(message.TextBlock("I look."), modeltest.Call(fmt.Sprintf("call_%d", calls), "read", fmt.Sprintf(`{"path":"src/file%d.go"}`, calls))))
		}
		srv.Add(more...)
		srv.Add(modeltest.Text("Done."))
		history = append(history, schema.UserMessage(text))
		for it := runner.Run(ctx, history); ; {
			e, ok := it.Next()
			if !ok {
				return last
			}
			if e.Err != nil {
				t.Fatal(e.Err)
			}
			if e.Output != nil && e.Output.MessageOutput != nil {
				last = e.Output.MessageOutput.Message
				history = append(history, last)
			}
		}
	}
	run("Read all the files. Never touch the folder vendor.", 60)
	for n := range 20 {
		run(fmt.Sprintf("Read part %d.", n), 3)
	}
	if last := run("What was in file 3?", 0, modeltest.Answer(message.TextBlock("I look."), modeltest.Call("call_r", "recall", `{"query":"src/file3.go func"}`))); last.Content != "Done." {
		t.Errorf("the last answer is %q", last.Content)
	}
	found := ""
	for _, m := range history {
		if m.ToolCallID == "call_r" {
			found = m.Content
		}
	}
	if !strings.Contains(found, "src/file3.go") {
		t.Errorf("recall gave %.300q", found)
	}
	if bad := srv.Violations(); len(bad) > 0 {
		t.Errorf("the server found %d: %s", len(bad), bad[0])
	}
	xs := srv.Exchanges()
	same := adaptertest.OnlyPassesSwitch(t, s, xs, 140)
	t.Logf("%d requests, %d began like the one before; the agent holds %d messages", len(xs), same, len(history))
}

// Two lists that differ in an image alone are two lists: an agent whose user has sent another
// picture does not go on with the first one.
func TestImagesTellListsApart(t *testing.T) {
	ctx := context.Background()
	s, err := clew.New(clew.Config{Provider: "openai", Model: "gpt-4.1", Policy: compact.Policy{Window: 32_000}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	kept, err := eino.New(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	picture := func(url string) *schema.Message {
		return &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeText, Text: "What is this?"},
			{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}},
		}}
	}
	var list []*schema.Message
	for n := range 60 {
		list = append(list, schema.UserMessage(fmt.Sprintf("Read part %d.", n)), schema.AssistantMessage(strings.Repeat(fmt.Sprintf("part %d says nothing new; ", n), 120), nil))
	}
	fit := kept.Middleware().BeforeChatModel
	state := &adk.ChatModelAgentState{Messages: append(list, picture("one"))}
	if err := fit(ctx, state); err != nil || len(state.Messages) >= len(list) {
		t.Fatalf("%d messages of %d, %v", len(state.Messages), len(list)+1, err)
	}
	state.Messages = append(append([]*schema.Message{}, state.Messages[:len(state.Messages)-1]...), picture("two"))
	if err := fit(ctx, state); err != nil {
		t.Fatal(err)
	}
	last := state.Messages[len(state.Messages)-1]
	if got := *last.UserInputMultiContent[1].Image.URL; got != "two" {
		t.Errorf("the model gets picture %q", got)
	}
}
