package genkit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/firebase/genkit/go/ai"
	gk "github.com/firebase/genkit/go/genkit"
	oai "github.com/firebase/genkit/go/plugins/compat_oai"
	"github.com/openai/openai-go/option"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/adapters/genkit"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/adaptertest"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/modeltest"
)

type path struct {
	Path string `json:"path"`
}

// A conversation of genkit goes on at a model with a window of 32,000 tokens: the server,
// which checks pairs, roles and size, refuses nothing; what is sent begins like what was sent
// before; and the model reads by recall what has left its context.
func TestGenerate(t *testing.T) {
	ctx := context.Background()
	srv := modeltest.Start(modeltest.Config{Window: 32_000})
	defer srv.Close()
	s, err := clew.New(clew.Config{Provider: "openai", Model: "gpt-4.1", Policy: compact.Policy{Window: 32_000}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	kept, err := genkit.New(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	kept.OnError = func(err error) { t.Error(err) }
	plugin := &oai.OpenAICompatible{Provider: "scripted", Opts: []option.RequestOption{option.WithBaseURL(srv.URL + "/v1"), option.WithAPIKey(modeltest.Key), option.WithMaxRetries(0)}}
	g := gk.Init(ctx, gk.WithPlugins(plugin))
	m := plugin.DefineModel("scripted", "gpt-4.1", ai.ModelOptions{Supports: &ai.ModelSupports{Multiturn: true, Tools: true, SystemRole: true}})
	read := gk.DefineTool(g, "read", "reads a file", func(_ *ai.ToolContext, p path) (string, error) {
		return strings.Repeat("func of "+p.Path+" returns nil\n", 80), nil
	})
	tools := ai.WithTools(read, kept.Recall(g))
	calls, found := 0, ""
	var history []*ai.Message
	ask := func(text string, loops int, more ...modeltest.Reply) *ai.ModelResponse {
		t.Helper()
		for range loops {
			calls++ // one at a time: genkit's results come in the order in which they are ready
			srv.Add(modeltest.Answer(message.TextBlock("I look."), modeltest.Call(fmt.Sprintf("call_%d", calls), "read", fmt.Sprintf(`{"path":"src/file%d.go"}`, calls))))
		}
		srv.Add(more...)
		srv.Add(modeltest.Text("Done."))
		history = append(history, ai.NewUserTextMessage(text))
		resp, err := gk.Generate(ctx, g, ai.WithModel(m), ai.WithSystem("Be brief."), ai.WithMessages(history...), tools, ai.WithMaxTurns(100), ai.WithMiddleware(kept.Middleware))
		if err != nil {
			t.Fatal(err)
		}
		history = history[:0]
		for _, h := range resp.History() {
			if h.Role != ai.RoleSystem {
				history = append(history, h)
			}
		}
		return resp
	}
	ask("Read all the files. Never touch the folder vendor.", 60)
	for n := range 20 {
		ask(fmt.Sprintf("Read part %d.", n), 2)
	}
	if resp := ask("What was in file 3?", 0, modeltest.Answer(message.TextBlock("I look."), modeltest.Call("call_r", "recall", `{"query":"src/file3.go func"}`))); resp.Text() != "Done." {
		t.Errorf("the last answer is %q", resp.Text())
	}
	for _, h := range history {
		for _, p := range h.Content {
			if p.IsToolResponse() && p.ToolResponse.Ref == "call_r" {
				found = fmt.Sprint(p.ToolResponse.Output)
			}
		}
	}
	if !strings.Contains(found, "src/file3.go") {
		t.Errorf("recall gave %.300q", found)
	}
	if bad := srv.Violations(); len(bad) > 0 {
		t.Errorf("the server found %d: %s", len(bad), bad[0])
	}
	if len(history) < 240 || !strings.Contains(history[0].Text(), "Read all the files") {
		t.Errorf("the program holds %d messages, the first %.100q", len(history), history[0].Text())
	}
	xs := srv.Exchanges()
	same := adaptertest.OnlyPassesSwitch(t, s, xs, 120)
	t.Logf("%d requests, %d began like the one before; the program holds %d messages", len(xs), same, len(history))
}
