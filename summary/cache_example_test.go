package summary_test

import (
	"context"
	"fmt"

	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/summary"
)

// Where a task ended, the cache looks ahead; the summary that is needed later
// looks only at what came since.
func ExampleCache() {
	conv := testchat.New()
	conv.User("Fix parseEntry in store/log.go.")
	conv.Call("edit", `{"path":"store/log.go","oldText":"a","newText":"b"}`, "ok")
	conv.Bash("go test ./store", "ok  \tstore\t0.1s")

	cache := summary.NewCache()
	for _, c := range summary.Checkpoints(conv.Items(), "") {
		fmt.Println(c.After, c.Why)
		cache.Warm(conv.Items()[:c.After], "", "")
	}

	conv.User("Thanks. Now document it.")
	out, err := summary.Deterministic{}.Summarize(context.Background(), summary.Input{
		Items: conv.Items(), Budget: 500, Counter: thirds{}, Cache: cache,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(out.Document.Goal[1].Text)
	// Output:
	// 5 check
	// Current request: Thanks. Now document it.
}
