package bpe_test

import (
	"fmt"

	"github.com/clew-dev/clew/internal/bpe"
)

func ExampleEncoding_Count() {
	enc := bpe.For("gpt-5")
	text := "Count me: 12345 tokens? 不."
	fmt.Println(enc.Count(text))
	fmt.Printf("%q\n", enc.Pieces(text))
	// Output:
	// 10
	// ["Count" " me" ":" " " "123" "45" " tokens" "?" " 不" "."]
}
