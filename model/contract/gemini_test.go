package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"google.golang.org/genai"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	ours "github.com/clew-dev/clew/model/gemini"
	"github.com/clew-dev/clew/model/modeltest"
)

func geminiClient(s *modeltest.Server) (*genai.Client, error) {
	return genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: modeltest.Key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: s.URL},
	})
}

const geminiModel = "gemini-3-pro-preview"

func geminiConfig() *genai.GenerateContentConfig {
	return &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText("Be brief.", genai.RoleUser),
		Tools:             []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "read", ParametersJsonSchema: parameters()}}}},
	}
}

// geminiAnswer returns the parts of an answer, its finish reason and its usage.
func geminiAnswer(c *genai.Client, contents []*genai.Content, stream bool) (parts []*genai.Part, last *genai.GenerateContentResponse, err error) {
	if !stream {
		r, err := c.Models.GenerateContent(context.Background(), geminiModel, contents, geminiConfig())
		if err != nil {
			return nil, nil, err
		}
		return r.Candidates[0].Content.Parts, r, nil
	}
	for r, err := range c.Models.GenerateContentStream(context.Background(), geminiModel, contents, geminiConfig()) {
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, r.Candidates[0].Content.Parts...)
		last = r
	}
	return parts, last, nil
}

func askGemini(s *modeltest.Server, stream bool) (outcome, error) {
	c, err := geminiClient(s)
	if err != nil {
		return outcome{}, err
	}
	parts, r, err := geminiAnswer(c, genai.Text("Read a.go."), stream)
	var fail genai.APIError
	if errors.As(err, &fail) {
		return outcome{Status: fail.Code}, err
	}
	if err != nil {
		return outcome{}, err
	}
	u := r.UsageMetadata
	o := outcome{
		Prompt: int64(u.PromptTokenCount), Output: int64(u.CandidatesTokenCount + u.ThoughtsTokenCount),
		CacheRead: int64(u.CachedContentTokenCount),
	}
	switch r.Candidates[0].FinishReason {
	case genai.FinishReasonStop:
		o.Finish = model.FinishEnd
	case genai.FinishReasonMaxTokens:
		o.Finish = model.FinishLength
	case genai.FinishReasonSafety:
		o.Finish = model.FinishRefusal
	}
	for _, p := range parts {
		switch {
		case p.FunctionCall != nil:
			args, err := json.Marshal(p.FunctionCall.Args)
			if err != nil {
				return o, err
			}
			o.Calls = append(o.Calls, oneCall(p.FunctionCall.ID, p.FunctionCall.Name, string(args)))
			o.Finish = model.FinishToolUse
		case p.Thought:
			o.Thinking += p.Text
		default:
			o.Text += p.Text
		}
	}
	return o, nil
}

func TestGemini(t *testing.T) {
	play(t, client{"gemini", askGemini, func(base string) (model.Model, error) {
		return ours.New(ours.Config{Endpoint: endpoint(geminiModel, base+"/v1beta")})
	}})
}

func TestGeminiConversation(t *testing.T) {
	s := modeltest.Start(modeltest.Config{StablePrefix: true},
		modeltest.Answer(modeltest.Call("call_1", "read", `{"path":"a.go"}`), modeltest.Call("call_2", "read", `{"path":"b.go"}`)), modeltest.Text("Read."))
	defer s.Close()
	c, err := geminiClient(s)
	if err != nil {
		t.Fatal(err)
	}
	contents := genai.Text("Read a.go.")
	parts, _, err := geminiAnswer(c, contents, true)
	if err != nil || len(parts) != 2 || len(parts[0].ThoughtSignature) == 0 {
		t.Fatalf("%v %v", parts, err)
	}
	result := func(id, text string) *genai.Part {
		p := genai.NewPartFromFunctionResponse("read", map[string]any{"output": text})
		p.FunctionResponse.ID = id
		return p
	}
	contents = append(contents, genai.NewContentFromParts(parts, genai.RoleModel),
		genai.NewContentFromParts([]*genai.Part{result("call_1", "package a"), result("call_2", "package b")}, genai.RoleUser))
	if parts, _, err = geminiAnswer(c, contents, false); err != nil || parts[0].Text != "Read." {
		t.Fatalf("%v %v", parts, err)
	}
	if bad := s.Violations(); bad != nil {
		t.Error(bad)
	}
	n, err := c.Models.CountTokens(context.Background(), geminiModel, contents[:1], nil)
	if err != nil || n.TotalTokens <= 0 {
		t.Errorf("%v %v", n, err)
	}
}

// What we write holds no member that the vendor's types do not know.
func TestGeminiRequestType(t *testing.T) {
	m, err := ours.New(ours.Config{Endpoint: endpoint(geminiModel, "http://127.0.0.1:1")})
	if err != nil {
		t.Fatal(err)
	}
	body, err := m.Render(conversation("google-generative-ai", "google", geminiModel, func(b *message.Block) {
		if b.Type == message.BlockToolCall {
			b.Signature = "c2lnbmF0dXJl"
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Contents          []*genai.Content        `json:"contents"`
		SystemInstruction *genai.Content          `json:"systemInstruction"`
		Tools             []*genai.Tool           `json:"tools"`
		ToolConfig        *genai.ToolConfig       `json:"toolConfig"`
		GenerationConfig  *genai.GenerationConfig `json:"generationConfig"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		t.Fatalf("%v in\n%s", err, body)
	}
	again, err := json.Marshal(p.Contents)
	if err != nil {
		t.Fatal(err)
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		t.Fatal(err)
	}
	if !sameJSON(t, whole["contents"], again) {
		t.Errorf("we write\n%s\nthe type holds\n%s", whole["contents"], again)
	}
}
