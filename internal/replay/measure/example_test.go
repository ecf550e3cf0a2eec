package measure_test

import (
	"fmt"

	"github.com/clew-dev/clew/internal/replay/measure"
)

func ExampleNewPoint() {
	dropped := measure.Digests([]measure.Message{
		{Kind: measure.User, Text: "The cache breaks. Never touch the public interface of it!"},
		{Kind: measure.Agent, Text: "the cache layer breaks in evictEntry"},
	})
	future := measure.Digests([]measure.Message{{Kind: measure.Agent, Text: "now I mend evictEntry"}})
	p := measure.NewPoint(dropped, nil, nil, future, "")
	for _, text := range []string{
		"evictEntry",
		"- the cache breaks in evictEntry\n> Never touch the public interface of it!",
	} {
		s := p.Score(text, "", 4000)
		fmt.Println(s.Recall.Value, s.Contextual.Value, s.Constraints.Value)
	}
	// Output:
	// 1 0 0
	// 1 1 1
}

func ExampleIdentifiers() {
	for id := range measure.Identifiers("see /src/app/main.go:12, parseHeader and #288") {
		fmt.Println(id.Class, id.Text)
	}
	// Output:
	// path app/main.go
	// ident parseHeader
	// ref #288
}
