package model_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/clew-dev/clew/model"
)

func ExampleClassifyOverflow() {
	for _, f := range []model.Failure{
		{Status: 400, Message: "prompt is too long: 202609 tokens > 200000 maximum"},
		{Status: 400, Message: "input length and `max_tokens` exceed context limit: 184915 + 20000 > 204648"},
		{Status: 429, Message: "Rate limit reached on tokens per min (TPM): Limit 30000, Used 29937, Requested 385."},
		{Status: 400, Message: "number of images exceeds the limit of 20"},
	} {
		if o, ok := model.ClassifyOverflow(f); ok {
			fmt.Printf("%s: asked %d of %d, %d of it for the answer\n", o.Kind, o.Asked, o.Limit, o.Output)
		} else {
			fmt.Println("no overflow")
		}
	}
	// Output:
	// tokens: asked 202609 of 200000, 0 of it for the answer
	// tokens: asked 204915 of 204648, 20000 of it for the answer
	// no overflow
	// no overflow
}

func ExampleCatalogue_Lookup() {
	c, err := model.BuiltIn()
	if err != nil {
		panic(err)
	}
	own, err := model.ReadCatalogue(strings.NewReader(`{"models":[{"id":"qwen3*","window":40960}]}`))
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"anthropic/claude-sonnet-4.5", "gpt-5.2", "qwen3:8b"} {
		i, _ := c.With(own).Lookup("", name)
		fmt.Println(name, i.Window, i.Usable(16_384))
	}
	// Output:
	// anthropic/claude-sonnet-4.5 200000 183616
	// gpt-5.2 400000 272000
	// qwen3:8b 40960 24576
}

func ExampleWindows() {
	w := model.NewWindows(nil)
	local := model.Route{Provider: "ollama", Model: "qwen3:8b", BaseURL: "http://localhost:11434/v1"}

	// A server that holds less than the catalogue says.
	e := model.ErrorFromBody("ollama", 400, nil, []byte(`{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}`))
	if errors.Is(e, model.ErrOverflow) {
		w.Refused(local, *e.Overflow, 0)
	}
	fmt.Println(w.Apply(local, model.Info{Window: 40_960}).Window)
	// Output: 8192
}

func ExampleReadEvents() {
	stream := ": a comment\nevent: delta\ndata: {\"text\":\"Hel\"}\n\ndata: [DONE]\n\n"
	err := model.ReadEvents(strings.NewReader(stream), 0, func(e model.ServerEvent) error {
		fmt.Printf("%q %s\n", e.Name, e.Data)
		return nil
	})
	fmt.Println(err)
	// Output:
	// "delta" {"text":"Hel"}
	// "" [DONE]
	// <nil>
}

func ExampleError() {
	e := model.ErrorFromBody("openai", 429, nil, []byte(`{"error":{"message":"Rate limit reached. Please try again in 2.5s.","type":"tokens","code":"rate_limit_exceeded"}}`))
	fmt.Println(e.Kind, e.Kind.Transient(), e.RetryAfter == 2500*time.Millisecond)
	// Output: rate limit true true
}
