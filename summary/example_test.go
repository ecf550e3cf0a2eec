package summary_test

import (
	"context"
	"fmt"

	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/token"
)

func ExampleDeterministic() {
	t := testchat.New()
	t.User("Make parseEntry accept empty lines. Never change the file format.")
	t.Call("edit", `{"path":"session/parse.go","oldText":"a","newText":"b"}`, "ok")
	t.Bash("go test ./session", "--- FAIL: TestEmpty in parse_test.go\n\nCommand exited with code 1").Failed()
	t.Say("parseEntry accepts empty lines now, but TestEmpty still fails.")

	out, err := summary.Deterministic{}.Summarize(context.Background(), summary.Input{
		Items: t.Items(), Budget: 400, Counter: token.Chars4(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Document.Blocked[0].Text)
	fmt.Println(out.Document.Files.Modified.Paths)
	fmt.Println(out.Document.Quotes[0].Text)
	fmt.Println(out.Tokens <= 400)
	// Output:
	// `go test ./session` fails: --- FAIL: TestEmpty in parse_test.go
	// [session/parse.go]
	// Make parseEntry accept empty lines. Never change the file format.
	// true
}

func ExampleTemplate_Render() {
	d := summary.Document{
		Goal: []summary.Line{{Text: "Make the tests pass", Ref: "0a1b2c3d"}},
		Done: []summary.Line{{Text: "`go vet` passes"}},
	}
	fmt.Println(summary.Structured.Render(d))
	// Output:
	// ## Goal
	// - Make the tests pass [#0a1b2c3d]
	//
	// ## Progress
	// ### Done
	// - [x] `go vet` passes
}

func ExampleParse() {
	d, ok := summary.Parse("## Goal\n- Make the tests pass [#0a1b2c3d]\n\n## Next Steps\n1. Run them\n")
	fmt.Println(ok, d.Goal[0].Ref, d.Next[0].Text)
	// Output: true 0a1b2c3d Run them
}
