package rules_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/clew-dev/clew/internal/agent/rules"
)

func ExampleRead() {
	dir, err := os.MkdirTemp("", "rules")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("Run the tests.\n"), 0o600); err != nil {
		panic(err)
	}
	set, err := rules.Read(rules.Config{Dir: dir, Home: dir})
	if err != nil {
		panic(err)
	}
	for _, f := range set.Files {
		fmt.Println(filepath.Base(f.Path), "says:", f.Text)
	}
	again, err := rules.Read(rules.Config{Dir: dir, Home: dir})
	if err != nil {
		panic(err)
	}
	fmt.Println("changed:", rules.Diff(set, again) != "")
	// Output:
	// AGENTS.md says: Run the tests.
	// changed: false
}
