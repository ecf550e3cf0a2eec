package ledger_test

import (
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/testchat"
)

// TestRecalledHasNoFacts: what was read again from the log, and that there was nothing to be
// read, says nothing of files, commands, commits and errors.
func TestRecalledHasNoFacts(t *testing.T) {
	conv := testchat.New()
	conv.User("what did the build say?")
	conv.Call("recall", `{"query":"build","path":"a.go","tool":"bash"}`,
		"[recalled search: 1 found]\n#1a2b3c4d result of bash, turn 1\n  --- FAIL: TestGet\nExit code 2\n[main 1507f8b] Repair it\nhttps://example.org/x\n")
	conv.Call("mcp__clew__recall", `{"id":"1a2b3c4d"}`, "[recalled #1a2b3c4d result of bash: characters 0 to 9 of 9]\nmodified:   b.go\nerror: it broke\n").Failed()
	conv.Call("recall", `{"id":"9d8c7b6a"}`, "recall 9d8c7b6a: no such entry").Failed()
	l := ledger.Read(conv.Items(), ledger.Options{})
	if len(l.Errors)+len(l.Commands)+len(l.Commits)+len(l.Files)+len(l.Weak)+len(l.Todos)+len(l.Rules)+len(l.Decisions) > 0 {
		t.Errorf("%+v", l)
	}
}
