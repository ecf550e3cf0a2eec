package eino_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/adapters/eino"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/modeltest"
)

// An agent whose files do not fit into the window of its model reads them all. A server on this
// machine stands for the model; it refuses what is too long.
func Example() {
	ctx := context.Background()
	srv := modeltest.Start(modeltest.Config{Window: 16_000})
	defer srv.Close()
	for n := range 40 {
		srv.Add(modeltest.Answer(message.TextBlock("I look."), modeltest.Call(fmt.Sprintf("call_%d", n), "read", fmt.Sprintf(`{"path":"part%d.go"}`, n))))
	}
	srv.Add(modeltest.Text("All of them return nil."))

	s, err := clew.New(clew.Config{Provider: "openai", Model: "gpt-4.1", Policy: compact.Policy{Window: 16_000}}) // clew.Open keeps it in a file
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	kept, err := eino.New(ctx, s)
	if err != nil {
		log.Fatal(err)
	}
	read, err := utils.InferTool("read", "reads a file", func(_ context.Context, p path) (string, error) {
		return strings.Repeat("func of "+p.Path+" returns nil\n", 100), nil
	})
	if err != nil {
		log.Fatal(err)
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "agent", Description: "an agent", Instruction: "Be brief.", Model: chatModel{srv.URL}, MaxIterations: 100,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{read}}},
		Middlewares: []adk.AgentMiddleware{kept.Middleware()},
	})
	if err != nil {
		log.Fatal(err)
	}
	run := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Run(ctx, []adk.Message{schema.UserMessage("Read all the files.")})
	var last adk.Message
	for e, ok := run.Next(); ok; e, ok = run.Next() {
		if e.Err != nil {
			log.Fatal(e.Err)
		}
		last = e.Output.MessageOutput.Message
	}
	fmt.Println(len(srv.Exchanges()), "requests, refused:", len(srv.Violations()))
	fmt.Println(last.Content)
	// Output:
	// 41 requests, refused: 0
	// All of them return nil.
}
