package builtin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/testchat"
)

// What the tools say about their calls is what package ledger reads.
func TestLedgerReadsTheResults(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t)
	conv := testchat.New()
	do := func(name string, pairs ...any) {
		t.Helper()
		_, r, err := b.call(name, pairs...)
		text := textOf(r)
		if err != nil {
			text = err.Error()
		}
		res := conv.Call(name, string(args(pairs...)), text)
		if r.IsError || err != nil {
			res.Failed()
		}
	}
	b.put("read.go", "package x\n")
	b.put("there.go", "old\n")
	b.put("edited.go", "one\n")
	b.put("log.txt", "Process exited with code 9\n"+strings.Repeat("FAIL x\n", 300))
	do("read", "path", "read.go")
	do("read", "path", "none.go")
	do("write", "path", "sub/new.go", "content", "package y\n")
	do("write", "path", b.path("there.go"), "content", "new\n")
	do("write", "path", "read.go/x", "content", "no folder\n")
	do("edit", "path", "./edited.go", "edits", []map[string]string{{"oldText": "one", "newText": "two"}})
	do("edit", "path", "there.go", "oldText", "nowhere", "newText", "two")
	do("bash", "command", "echo hi")
	do("bash", "command", "echo broken >&2; exit 3")
	do("bash", "command", "sleep 30", "timeout", 0.1)
	do("bash", "command", "kill -9 $$")
	do("grep", "pattern", "x")
	do("find", "pattern", "*.go")
	do("ls")
	l := ledger.Read(conv.Items(), ledger.Options{Cwd: b.dir})
	var got []string
	for _, f := range l.Files {
		got = append(got, fmt.Sprintf("%s %s %d", f.Path, f.State, f.Edits))
	}
	want := []string{"read.go read 0", "sub/new.go created 1", "there.go modified 1", "edited.go modified 1"}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("files %q", got)
	}
	got = nil
	for _, c := range l.Commands {
		exit := "-"
		if c.Exit != nil {
			exit = fmt.Sprint(*c.Exit)
		}
		got = append(got, fmt.Sprintf("%s: %s %s", c.Text, c.Status, exit))
	}
	want = []string{"echo hi: ok 0", "echo broken >&2; exit 3: failed 3", "sleep 30: failed -", "kill -9 $$: failed 137"}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("commands %q", got)
	}
	got = nil
	for _, e := range l.Errors {
		got = append(got, e.Tool+" "+e.Subject+": "+strings.Join(e.Lines, " / "))
	}
	if len(got) < 3 || !strings.Contains(strings.Join(got, "\n"), "edit there.go: edit there.go: oldText is not in the file") {
		t.Errorf("errors %q", got)
	}
}
