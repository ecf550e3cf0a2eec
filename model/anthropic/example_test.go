package anthropic_test

import (
	"context"
	"fmt"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/modeltest"
)

func ExampleClient_Stream() {
	srv := modeltest.Start(modeltest.Config{}, modeltest.Answer(modeltest.Think("A word puzzle."), message.TextBlock("A ball of thread.")))
	defer srv.Close()
	m, err := anthropic.New(anthropic.Config{Endpoint: srv.Endpoint("claude-sonnet-4-5")}) // for the real one, Endpoint{Model: ...}
	if err != nil {
		panic(err)
	}
	r, err := m.Stream(context.Background(), &model.Request{
		Messages:  []*message.Message{message.User("What is a clew?", time.Now())},
		Reasoning: model.ReasoningLow, MaxOutput: 1000, Cache: model.CacheShort,
	}, func(e model.Event) error {
		if e.Kind == model.EventText {
			fmt.Print(e.Text)
		}
		return nil
	})
	fmt.Println()
	fmt.Println(r.Finish, err)
	// Output:
	// A ball of thread.
	// end <nil>
}

func ExampleClient_Count() {
	srv := modeltest.Start(modeltest.Config{})
	defer srv.Close()
	m, err := anthropic.New(anthropic.Config{Endpoint: srv.Endpoint("claude-sonnet-4-5")})
	if err != nil {
		panic(err)
	}
	n, err := m.Count(context.Background(), &model.Request{Messages: []*message.Message{message.User("What is a clew?", time.Now())}})
	fmt.Println(n > 10, err)
	// Output: true <nil>
}
