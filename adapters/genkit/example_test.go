package genkit_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/firebase/genkit/go/ai"
	gk "github.com/firebase/genkit/go/genkit"
	oai "github.com/firebase/genkit/go/plugins/compat_oai"
	"github.com/openai/openai-go/option"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/adapters/genkit"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/modeltest"
)

// A model whose files do not fit into its window reads them all. A server on this machine
// stands for it; it refuses what is too long.
func Example() {
	ctx := context.Background()
	srv := modeltest.Start(modeltest.Config{Window: 16_000})
	defer srv.Close()
	for n := range 40 {
		srv.Add(modeltest.Answer(message.TextBlock("I look."), modeltest.Call(fmt.Sprintf("call_%d", n), "read", fmt.Sprintf(`{"path":"part%d.go"}`, n))))
	}
	srv.Add(modeltest.Text("All of them return nil."))
	plugin := &oai.OpenAICompatible{Provider: "scripted", Opts: []option.RequestOption{option.WithBaseURL(srv.URL + "/v1"), option.WithAPIKey(modeltest.Key)}}
	g := gk.Init(ctx, gk.WithPlugins(plugin))
	m := plugin.DefineModel("scripted", "gpt-4.1", ai.ModelOptions{Supports: &ai.ModelSupports{Multiturn: true, Tools: true}})
	read := gk.DefineTool(g, "read", "reads a file", func(_ *ai.ToolContext, p path) (string, error) {
		return strings.Repeat("func of "+p.Path+" returns nil\n", 100), nil
	})

	s, err := clew.New(clew.Config{Provider: "openai", Model: "gpt-4.1", Policy: compact.Policy{Window: 16_000}}) // clew.Open keeps it in a file
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	kept, err := genkit.New(ctx, s)
	if err != nil {
		log.Fatal(err)
	}
	resp, err := gk.Generate(ctx, g, ai.WithModel(m), ai.WithPrompt("Read all the files."),
		ai.WithTools(read, kept.Recall(g)), ai.WithMaxTurns(100), ai.WithMiddleware(kept.Middleware))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(srv.Exchanges()), "requests, refused:", len(srv.Violations()))
	fmt.Println(resp.Text())
	// Output:
	// 41 requests, refused: 0
	// All of them return nil.
}
