package openai_test

import (
	"context"
	"fmt"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/model/openai"
)

func question() *model.Request {
	return &model.Request{System: "Be brief.", Messages: []*message.Message{message.User("What is a clew?", time.Now())}}
}

// Any server that speaks Chat Completions: Ollama, vLLM, llama.cpp, LM Studio.
func ExampleNewChat() {
	srv := modeltest.Start(modeltest.Config{AnyKey: true}, modeltest.Text("A ball of thread."))
	defer srv.Close()
	m, err := openai.NewChat(openai.Config{Endpoint: model.Endpoint{
		Provider: "ollama", Model: "qwen3:8b", BaseURL: srv.URL + "/v1", // http://localhost:11434/v1
	}})
	if err != nil {
		panic(err)
	}
	r, err := m.Complete(context.Background(), question())
	fmt.Println(r.Text(), err)
	// Output: A ball of thread. <nil>
}

func ExampleNewResponses() {
	srv := modeltest.Start(modeltest.Config{}, modeltest.Answer(modeltest.Think("Easy."), message.TextBlock("A ball of thread.")))
	defer srv.Close()
	m, err := openai.NewResponses(openai.Config{Endpoint: srv.OpenAI("gpt-5.2")})
	if err != nil {
		panic(err)
	}
	r, err := m.Complete(context.Background(), question())
	if err != nil {
		panic(err)
	}
	for _, b := range r.Message.Content {
		fmt.Println(b.Type, b.Text)
	}
	n, err := m.Count(context.Background(), question())
	fmt.Println(n > 5, err)
	// Output:
	// thinking Easy.
	// text A ball of thread.
	// true <nil>
}
