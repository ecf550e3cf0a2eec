package agent_test

import (
	"context"
	"fmt"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/agent/permission"
	"github.com/clew-dev/clew/agent/tool"
	"github.com/clew-dev/clew/model/modeltest"
)

// An agent with one tool. A scripted model stands in for one of the packages below
// model.
func Example() {
	ctx := context.Background()
	weather := &fake{name: "weather", kind: tool.Other, do: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Text("12 degrees, rain"), nil
	}}
	guard, err := permission.New(permission.Config{Dir: "/project", Rules: permission.Rules{Allow: []string{"weather"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := agent.New(ctx, agent.Config{
		Open:  func(_ context.Context, c clew.Config) (*clew.Session, error) { return clew.New(c) },
		Model: modeltest.New(modeltest.Answer(modeltest.Call("1", "weather", "{}")), modeltest.Text("Take an umbrella.")),
		Tools: []tool.Tool{weather}, Guard: guard,
		Events: func(e agent.Event) {
			if e.Kind == agent.KindEntry && e.Entry.Message.Text() != "" {
				fmt.Printf("%s: %s\n", e.Entry.Message.Role, e.Entry.Message.Text())
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := a.Send(ctx, agent.Input{Text: "Do I need an umbrella?"}); err != nil {
		fmt.Println(err)
	}
	if err := a.Wait(ctx); err != nil {
		fmt.Println(err)
	}
	if err := a.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// user: Do I need an umbrella?
	// toolResult: 12 degrees, rain
	// assistant: Take an umbrella.
}
