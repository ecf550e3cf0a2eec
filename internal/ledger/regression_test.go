package ledger_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/message"
)

// TestSmallReadings: commands and calls that are easily misread. want are parts of the
// ledger's JSON, not those that must not be in it.
func TestSmallReadings(t *testing.T) {
	for _, c := range []struct {
		name      string
		talk      func(t *testchat.Chat)
		want, not []string
	}{
		{"-m is an option of pytest", func(t *testchat.Chat) { t.Bash("pytest -m slow tests", "ok") }, []string{`"check":"test"`}, nil},
		{"ids that are numbers", func(t *testchat.Chat) {
			t.Call("manage_todo_list", `{"todoList":[{"id":1,"title":"a","status":"not-started"},{"id":2,"title":"b"}]}`, "ok")
			t.Call("todo_update", `{"id":1,"status":"completed"}`, "ok")
		}, []string{`{"id":"1","text":"a","status":"done"`, `{"id":"2","text":"b","status":"open"`}, nil},
		{"a list that is merged", func(t *testchat.Chat) {
			t.Call("todo_write", `{"todos":[{"id":"1","content":"a"},{"id":"2","content":"b"}]}`, "ok")
			t.Call("todo_write", `{"merge":true,"todos":[{"id":"1","content":"a","status":"completed"}]}`, "ok")
		}, []string{`"id":"1","text":"a","status":"done"`, `"id":"2","text":"b","status":"open"`}, nil},
		{"a todo made twice", func(t *testchat.Chat) {
			t.Call("TaskCreate", `{"subject":"a"}`, "Task #1 created")
			t.Call("TaskCreate", `{"subject":"a2"}`, "Task #1 created")
		}, []string{`"text":"a2"`}, []string{`"text":"a",`}},
		{"names that are numbers", func(t *testchat.Chat) { t.Bash("rm -rf 2023 && touch -a 7 && rm +x", "") }, []string{`"path":"2023"`, `"path":"7"`, `"path":"+x"`}, nil},
		{"numbers that options take", func(t *testchat.Chat) { t.Bash("head -n 5 a.go", "package a") }, []string{`"path":"a.go"`}, []string{`"path":"5"`}},
		{"an expression with its option", func(t *testchat.Chat) { t.Bash("sed -i --expression=s/a/b/ f.go", "") }, []string{`"path":"f.go","state":"modified"`}, nil},
		{"what is downloaded", func(t *testchat.Chat) { t.Bash("curl -sL http://x/y -o data.json && wget -O b.bin http://x/b", "") }, []string{`"path":"data.json"`, `"path":"b.bin"`}, nil},
		{"a constant in an array", func(t *testchat.Chat) {
			t.Call("exec", `{"input":"const s=\"go test ./...\"; tools.shell({command: [\"bash\",\"-lc\", s]})"}`, "ok")
		}, []string{`"text":"go test ./..."`}, nil},
		{"an error that begins with Command", func(t *testchat.Chat) {
			t.Bash("foo", "Command 'foo' not found, did you mean:\nx y").Failed()
		}, []string{"Command 'foo' not found"}, nil},
		{"a build that passes beside a test", func(t *testchat.Chat) {
			t.Bash("go build ./...", "boom error").Failed()
			t.Bash("go build ./... && go test ./...", "ok")
		}, []string{`"settled":true`}, []string{`"errors"`}},
		{"output that is thrown away", func(t *testchat.Chat) {
			t.Bash("ls x 2>/dev/null", "x")
			t.Bash("git status --short", " M a.go\n")
		}, nil, []string{`"path":"a.go"`}},
		{"a linter that passes after it stopped a test", func(t *testchat.Chat) {
			t.Bash("npm run lint && npm run test", "Found 4 errors").Failed()
			t.Bash("npm run lint", "ok")
		}, []string{`"settled":true`}, []string{`"errors"`}},
		{"the rest of a check that was skipped", func(t *testchat.Chat) {
			t.Add(&message.Message{Role: message.RoleCompactionSummary, Details: json.RawMessage(
				`{"clew":{"ledger":{"commands":[{"text":"npm run lint","status":"failed","check":"lint","runs":1,"failed":[]}]}}}`)})
			t.Bash("go test ./...", "ok")
		}, nil, []string{`"settled":true`}},
	} {
		conv := testchat.New()
		c.talk(conv)
		data, err := json.Marshal(ledger.Read(conv.Items(), ledger.Options{Cwd: "/w"}))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range c.want {
			if !strings.Contains(string(data), w) {
				t.Errorf("%s: no %s in %s", c.name, w, data)
			}
		}
		for _, w := range c.not {
			if strings.Contains(string(data), w) {
				t.Errorf("%s: %s in %s", c.name, w, data)
			}
		}
	}
}
