package permission_test

import (
	"fmt"
	"path/filepath"

	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/tool"
)

func ExampleGuard() {
	project, err := filepath.Abs("testdata")
	if err != nil {
		panic(err)
	}
	guard, err := permission.New(permission.Config{
		Dir:   project,
		Rules: permission.Rules{Allow: []string{"bash(go test *)"}, Deny: []string{"bash(git push*)"}},
	})
	if err != nil {
		panic(err)
	}
	for _, line := range []string{"go test ./... 2>&1", "go test && make", "make; git push"} {
		d := guard.Decide("bash", tool.Effect{Kind: tool.Run, Command: line})
		fmt.Println(d.Answer, "-", d.Reason)
	}
	// Output:
	// allow - the rule bash(go test *) allows it
	// ask - no rule allows make
	// deny - the user's rules deny make; git push (rule bash(git push*)). Do not try it in another way; do without, or tell the user what you need
}

func ExampleGuard_Propose() {
	project, err := filepath.Abs("testdata")
	if err != nil {
		panic(err)
	}
	guard, err := permission.New(permission.Config{Dir: project})
	if err != nil {
		panic(err)
	}
	test := tool.Effect{Kind: tool.Run, Command: "go test ./agent"}
	exact, like := guard.Propose("bash", test)
	fmt.Println(exact)
	for _, rule := range like { // the user says: for this session, and with other arguments
		fmt.Println(rule)
		if err := guard.Add(rule); err != nil {
			panic(err)
		}
	}
	fmt.Println(guard.Decide("bash", test).Answer)
	// Output:
	// [bash(go test ./agent)]
	// bash(go test *)
	// allow
}
