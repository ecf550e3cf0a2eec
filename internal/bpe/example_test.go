package bpe_test

import (
	"fmt"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
	"github.com/clew-dev/clew/internal/bpe"
)

func ExampleEncoding_Count() {
	enc, err := bpe.New(bpe.O200k)
	if err != nil {
		fmt.Println(err)
		return
	}
	text := "Count me: 12345 tokens? 不."
	fmt.Println(enc.Count(text))
	fmt.Printf("%q\n", enc.Pieces(text))
	// Output:
	// 10
	// ["Count" " me" ":" " " "123" "45" " tokens" "?" " 不" "."]
}

func ExampleEncoding_Counter() {
	meter, err := token.NewMeter(token.Config{
		Provider: "openai", Model: "gpt-5", Window: 400_000,
		Counter: bpe.For("gpt-5").Counter("openai", "gpt-5"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := meter.Measure([]*message.Message{{Role: message.RoleUser, Content: []message.Block{message.TextBlock("How large is this?")}}}, 0)
	fmt.Println(r.Tokens, r.Counter)
	// Output: 9 o200k
}
