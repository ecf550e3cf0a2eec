package message_test

import (
	"fmt"

	"github.com/clew-dev/clew/message"
)

func ExampleParse() {
	m, err := message.Parse([]byte(`{"role":"user","content":"fix the flaky test","x":1.50}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Role, m.Text())
	fmt.Printf("%s\n", m.JSON()) // the bytes it was parsed from
	fmt.Printf("%s\n", m.WithContent([]message.Block{message.TextBlock("never mind")}).JSON())
	// Output:
	// user fix the flaky test
	// {"role":"user","content":"fix the flaky test","x":1.50}
	// {"role":"user","content":[{"type":"text","text":"never mind"}],"x":1.50}
}
