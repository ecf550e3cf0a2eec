package contract

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
	ours "github.com/clew-dev/clew/model/openai"
)

func openaiClient(s *modeltest.Server) openai.Client {
	return openai.NewClient(option.WithBaseURL(s.URL+"/v1"), option.WithAPIKey(modeltest.Key), option.WithMaxRetries(0))
}

func parameters() map[string]any {
	var v map[string]any
	_ = json.Unmarshal([]byte(schema), &v)
	return v
}

func chatParams() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "gpt-4o",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("Be brief."), openai.UserMessage("Read a.go.")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: "read", Parameters: parameters(),
		})},
	}
}

func chatAnswer(c openai.Client, p openai.ChatCompletionNewParams, stream bool) (*openai.ChatCompletion, string, error) {
	if !stream {
		r, err := c.Chat.Completions.New(context.Background(), p)
		if err != nil {
			return nil, "", err
		}
		return r, reasoningOf(r.Choices[0].Message.RawJSON()), nil
	}
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	st := c.Chat.Completions.NewStreaming(context.Background(), p)
	defer st.Close()
	acc, thinking := openai.ChatCompletionAccumulator{}, ""
	for st.Next() {
		chunk := st.Current()
		if !acc.AddChunk(chunk) {
			return nil, "", errors.New("the chunk does not belong to the answer")
		}
		if len(chunk.Choices) > 0 {
			thinking += reasoningOf(chunk.Choices[0].Delta.RawJSON())
		}
	}
	return &acc.ChatCompletion, thinking, st.Err()
}

// reasoningOf reads the member that servers with reasoning models add.
func reasoningOf(raw string) string {
	var v struct {
		Reasoning string `json:"reasoning_content"`
	}
	_ = json.Unmarshal([]byte(raw), &v)
	return v.Reasoning
}

func askChat(s *modeltest.Server, stream bool) (outcome, error) {
	r, thinking, err := chatAnswer(openaiClient(s), chatParams(), stream)
	var fail *openai.Error
	if errors.As(err, &fail) {
		return outcome{Status: fail.StatusCode}, err
	}
	if err != nil {
		return outcome{}, err
	}
	choice := r.Choices[0]
	o := outcome{
		Text: choice.Message.Content, Thinking: thinking, Refusal: choice.Message.Refusal,
		Prompt: r.Usage.PromptTokens, Output: r.Usage.CompletionTokens, CacheRead: r.Usage.PromptTokensDetails.CachedTokens,
	}
	switch choice.FinishReason {
	case "stop":
		o.Finish = model.FinishEnd
	case "length":
		o.Finish = model.FinishLength
	case "tool_calls":
		o.Finish = model.FinishToolUse
	}
	if o.Refusal != "" {
		o.Finish = model.FinishRefusal
	}
	for _, call := range choice.Message.ToolCalls {
		o.Calls = append(o.Calls, oneCall(call.ID, call.Function.Name, call.Function.Arguments))
	}
	return o, nil
}

func TestChat(t *testing.T) {
	play(t, client{"chat", askChat, func(base string) (model.Model, error) {
		return ours.NewChat(ours.Config{Endpoint: endpoint("gpt-4o", base+"/v1")})
	}})
}

func TestChatConversation(t *testing.T) {
	s := modeltest.Start(modeltest.Config{StablePrefix: true},
		modeltest.Answer(message.TextBlock("I look."), modeltest.Call("call_1", "read", `{"path":"a.go"}`)), modeltest.Text("Read."))
	defer s.Close()
	c, p := openaiClient(s), chatParams()
	r, _, err := chatAnswer(c, p, false)
	if err != nil {
		t.Fatal(err)
	}
	p.Messages = append(p.Messages, r.Choices[0].Message.ToParam(), openai.ToolMessage("package a", "call_1"))
	if r, _, err = chatAnswer(c, p, true); err != nil || r.Choices[0].Message.Content != "Read." {
		t.Fatalf("%v %v", r, err)
	}
	if bad := s.Violations(); bad != nil {
		t.Error(bad)
	}
}

func responsesParams() responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: "gpt-5.2", Instructions: openai.String("Be brief."), Store: openai.Bool(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage("Read a.go.", responses.EasyInputMessageRoleUser),
		}},
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("read", parameters(), false)},
	}
}

func responsesAnswer(c openai.Client, p responses.ResponseNewParams, stream bool) (*responses.Response, error) {
	if !stream {
		return c.Responses.New(context.Background(), p)
	}
	st := c.Responses.NewStreaming(context.Background(), p)
	defer st.Close()
	var last *responses.Response
	text, said := "", ""
	for st.Next() {
		switch e := st.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += e.Delta
		case responses.ResponseTextDoneEvent:
			said += e.Text
		case responses.ResponseCompletedEvent:
			last = &e.Response
		case responses.ResponseIncompleteEvent:
			last = &e.Response
		}
	}
	if st.Err() == nil && (last == nil || text != said || text != last.OutputText()) {
		return nil, errors.New("the pieces of the stream are not its whole")
	}
	return last, st.Err()
}

func askResponses(s *modeltest.Server, stream bool) (outcome, error) {
	r, err := responsesAnswer(openaiClient(s), responsesParams(), stream)
	var fail *openai.Error
	if errors.As(err, &fail) {
		return outcome{Status: fail.StatusCode}, err
	}
	if err != nil {
		return outcome{}, err
	}
	o := outcome{
		Text: r.OutputText(), Prompt: r.Usage.InputTokens, Output: r.Usage.OutputTokens,
		CacheRead: r.Usage.InputTokensDetails.CachedTokens,
	}
	switch {
	case r.Status == responses.ResponseStatusCompleted:
		o.Finish = model.FinishEnd
	case r.IncompleteDetails.Reason == "max_output_tokens":
		o.Finish = model.FinishLength
	}
	for _, item := range r.Output {
		switch v := item.AsAny().(type) {
		case responses.ResponseFunctionToolCall:
			o.Calls = append(o.Calls, oneCall(v.CallID, v.Name, v.Arguments))
			o.Finish = model.FinishToolUse
		case responses.ResponseReasoningItem:
			for _, part := range v.Summary {
				o.Thinking += part.Text
			}
			if v.EncryptedContent == "" {
				return o, errors.New("reasoning that can't go back")
			}
		case responses.ResponseOutputMessage:
			for _, part := range v.Content {
				if part.Refusal != "" {
					o.Refusal, o.Finish = part.Refusal, model.FinishRefusal
				}
			}
		}
	}
	return o, nil
}

func TestResponses(t *testing.T) {
	play(t, client{"responses", askResponses, func(base string) (model.Model, error) {
		return ours.NewResponses(ours.Config{Endpoint: endpoint("gpt-5.2", base+"/v1")})
	}})
}

func TestResponsesConversation(t *testing.T) {
	s := modeltest.Start(modeltest.Config{StablePrefix: true},
		modeltest.Answer(modeltest.Think("I must look."), message.TextBlock("I look."), modeltest.Call("call_1", "read", `{"path":"a.go"}`)), modeltest.Text("Read."))
	defer s.Close()
	c, p := openaiClient(s), responsesParams()
	r, err := responsesAnswer(c, p, true)
	if err != nil {
		t.Fatal(err)
	}
	input := p.Input.OfInputItemList
	for _, item := range r.Output { // what came goes back as it came
		var in responses.ResponseInputItemUnionParam
		if err := json.Unmarshal([]byte(item.RawJSON()), &in); err != nil {
			t.Fatal(err)
		}
		input = append(input, in)
	}
	result := responses.ResponseInputItemParamOfFunctionCallOutput("package a")
	result.OfFunctionCallOutput.CallID = openai.String("call_1")
	p.Input.OfInputItemList = append(input, result)
	if r, err = responsesAnswer(c, p, false); err != nil || r.OutputText() != "Read." {
		t.Fatalf("%v %v", r, err)
	}
	if bad := s.Violations(); bad != nil {
		t.Error(bad)
	}
}

// Our requests are values of the vendor's types.
func TestOpenAIRequestTypes(t *testing.T) {
	chat, err := ours.NewChat(ours.Config{Endpoint: endpoint("gpt-5.2", "https://api.openai.com/v1")})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := ours.NewResponses(ours.Config{Endpoint: endpoint("gpt-5.2", "https://api.openai.com/v1")})
	if err != nil {
		t.Fatal(err)
	}
	body, err := chat.Render(conversation("openai-completions", "openai", "gpt-5.2", func(*message.Block) {}))
	if err != nil {
		t.Fatal(err)
	}
	var p openai.ChatCompletionNewParams
	checkType(t, body, &p)
	body, err = resp.Render(conversation("openai-responses", "openai", "gpt-5.2", func(b *message.Block) {
		if b.Type == message.BlockThinking {
			b.Signature = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2ln"}`
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	var q responses.ResponseNewParams
	checkType(t, body, &q)
}

func checkType(t *testing.T, body []byte, p any) {
	t.Helper()
	if err := json.Unmarshal(body, p); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if !sameJSON(t, body, again) {
		t.Errorf("we write\n%s\nthe type holds\n%s", body, again)
	}
}
