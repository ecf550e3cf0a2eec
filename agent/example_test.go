package agent_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
)

// weather is a tool as a program outside of clew would write one.
type weather struct{}

func (weather) Spec() model.Tool {
	return model.Tool{Name: "weather", Description: "Tells the weather.", Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (weather) Effect(json.RawMessage) (agent.Effect, error) {
	return agent.Effect{Kind: agent.EffectOther, Line: "weather"}, nil
}

func (weather) Run(context.Context, agent.Call) (agent.Result, error) {
	return agent.TextResult("12 degrees, rain"), nil
}

// An agent with one tool. A scripted model stands in for one of the packages below
// model.
func Example() {
	ctx := context.Background()
	guard, err := agent.NewGuard(agent.GuardConfig{Dir: "/project", Rules: agent.GuardRules{Allow: []string{"weather"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := agent.New(ctx, agent.Config{
		Open:  func(_ context.Context, c clew.Config) (*clew.Session, error) { return clew.New(c) },
		Model: modeltest.New(modeltest.Answer(modeltest.Call("1", "weather", "{}")), modeltest.Text("Take an umbrella.")),
		Tools: []agent.Tool{weather{}}, Guard: guard,
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
