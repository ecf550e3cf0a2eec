package token_test

import (
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

func Example() {
	meter, err := token.NewMeter(token.Config{Provider: "anthropic", Model: "claude-opus-4-6", Window: 200_000})
	if err != nil {
		log.Fatal(err)
	}
	at := time.UnixMilli(1_750_000_000_000)
	answer := message.Assistant(at, message.ToolCallBlock("call_1", "read", json.RawMessage(`{"path":"main.go"}`)))
	answer.Usage = &message.Usage{Input: 12, CacheRead: 41_800, CacheWrite: 950, Output: 88}
	messages := []*message.Message{
		message.User("why does the build fail?", at),
		answer,
		message.ToolResult("call_1", "read", "package main\n\nfunc main() { run( }\n", false, at),
	}

	// 0: no pass or edit has changed the context since.
	r := meter.Measure(messages, 0)
	fmt.Printf("%d tokens: %d reported with message %d, about %d since\n", r.Tokens, r.Measured, r.Anchor, r.Estimated)
	fmt.Printf("to be safe %d of %d\n", r.Guarded(), meter.Window())
	// Output:
	// 42887 tokens: 42850 reported with message 1, about 37 since
	// to be safe 42895 of 200000
}

func ExampleHeuristic() {
	counter := token.Heuristic(token.GPT)
	fmt.Println(counter.Text("The session log is only ever appended to."))
	fmt.Println(counter.Text("会话日志只追加，不改写。"))
	fmt.Println(counter.Text(`{"id":17,"ok":true,"tags":["a","b"]}`))
	// Output:
	// 9
	// 11
	// 14
}

func ExampleReplaySystem() {
	prompt := message.ReplaySystem([]*message.Message{
		{Role: message.RoleSystem, Content: []message.Block{message.TextBlock("You fix bugs.")}, Sections: []message.Section{{Name: "rules", Text: "Use tabs."}}},
		{Role: message.RoleSystem, Sections: []message.Section{{Name: "rules", Text: "Use spaces."}}},
	})
	fmt.Println(prompt.Text(), prompt.Sections[0].Text)
	// Output: You fix bugs. Use spaces.
}

func ExampleBPE() {
	meter, err := token.NewMeter(token.Config{
		Provider: "openai", Model: "gpt-5", Window: 400_000,
		Counter: token.BPE("openai", "gpt-5"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := meter.Measure([]*message.Message{{Role: message.RoleUser, Content: []message.Block{message.TextBlock("How large is this?")}}}, 0)
	fmt.Println(r.Tokens, r.Counter)
	// Output: 9 o200k
}
