package ledger_test

import (
	"fmt"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/testchat"
)

func ExampleRead() {
	t := testchat.New()
	t.User("make the tests pass")
	t.Bash("go test ./...", "--- FAIL: TestGet\nstore_test.go:7: got 1, want 2\n\nCommand exited with code 1").Failed()
	t.Call("read", `{"path":"/home/user/project/store.go"}`, "package store")
	t.Call("edit", `{"path":"store.go","oldText":"1","newText":"2"}`, "Successfully replaced text")
	t.Bash("rm -f old.txt", "")

	l := ledger.Read(t.Items(), ledger.Options{Cwd: "/home/user/project"})
	for _, f := range l.Files {
		fmt.Println(f.State, f.Path)
	}
	for _, c := range l.Commands {
		if c.Failing() {
			fmt.Println("failing:", c.Text)
		}
	}
	for _, e := range l.Errors {
		fmt.Println("error:", e.Lines)
	}
	// Output:
	// modified store.go
	// failing: go test ./...
	// error: [--- FAIL: TestGet store_test.go:7: got 1, want 2]
}

// A Reader goes on where it stopped, and says where a task ended.
func ExampleReader() {
	conv := testchat.New()
	conv.User("Never push without asking. Fix the parser.")
	conv.Bash("go test ./...", "--- FAIL: TestParse (0.0s)\nFAIL\tparser\t0.1s\n\nCommand exited with code 1").Failed()
	r := ledger.NewReader(ledger.Options{})
	r.Add(conv.Items())
	l := r.Ledger()
	fmt.Println(l.Rules[0].Text, l.Commands[0].Failed)

	more := testchat.New()
	more.Tag = "m"
	more.Bash("cd parser && go test -run TestParse .", "ok  \tparser\t0.1s")
	r.Add(more.Items())
	l = r.Ledger()
	fmt.Println(l.Commands[0].Failing(), r.Boundary())
	// Output:
	// Never push without asking. [parser::TestParse]
	// false check
}
