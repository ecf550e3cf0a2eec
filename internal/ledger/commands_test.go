package ledger_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/message"
)

func describe(c ledger.Command) string {
	s := fmt.Sprintf("%s: %s", c.Text, c.Status)
	if c.Exit != nil {
		s += fmt.Sprintf(" %d", *c.Exit)
	}
	if c.Check != "" {
		s += " " + string(c.Check)
	}
	if c.Runs != 1 || c.Failures > 0 {
		s += fmt.Sprintf(" %d/%d", c.Failures, c.Runs)
	}
	if c.Retired {
		s += " retired"
	}
	return s
}

func failing(l ledger.Ledger) []ledger.Command {
	return slices.DeleteFunc(slices.Clone(l.Commands), func(c ledger.Command) bool { return !c.Failing() })
}

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		name string
		talk func(t *testchat.Chat)
		want []string
		open []string // errors: subject and lines
	}{
		{
			name: "a command that is left running has the outcome of the call that saw its end",
			talk: func(t *testchat.Chat) {
				t.Call("exec_command", `{"cmd":"go test ./..."}`, "Chunk ID: 1\nWall time: 1.0\nProcess running with session ID 71\nOutput:\n--- FAIL: TestA (0.00s)\n")
				t.Call("exec_command", `{"cmd":"make serve"}`, "Chunk ID: 1\nWall time: 1.0\nProcess running with session ID 72\nOutput:\n")
				t.Call("write_stdin", `{"session_id":71}`, "Chunk ID: 2\nWall time: 5.0\nProcess running with session ID 71\nOutput:\n")
				t.Call("write_stdin", `{"session_id":71}`, "Chunk ID: 3\nWall time: 2.0\nProcess exited with code 1\nOutput:\nFAIL\n")
				t.Call("Bash", `{"command":"go vet ./...","run_in_background":true}`, "Command running in background with ID: b1. Output is being written to: /tmp/b1.output")
				t.Call("TaskOutput", `{"task_id":"b1","block":true}`, "<retrieval_status>success</retrieval_status>\n\n<task_id>b1</task_id>\n\n<status>completed</status>\n\n<exit_code>0</exit_code>\n\n<output>\nfine\n</output>")
				t.Call("Bash", `{"command":"make image","run_in_background":true}`, "Command running in background with ID: b2. Output is being written to: /tmp/b2.output")
				t.Call("TaskOutput", `{"task_id":"b2"}`, "<retrieval_status>timeout</retrieval_status>\n\n<task_id>b2</task_id>\n\n<status>running</status>\n\n<output>\nstep 1\n</output>")
				t.Add(&message.Message{Role: message.RoleUser, Origin: message.OriginInjected, Content: []message.Block{message.TextBlock("<task-notification>\n<task-id>b2</task-id>\n<status>failed</status>\n<summary>Background command \"image\" failed (exit code 2)</summary>\n</task-notification>")}})
			},
			want: []string{"make serve: unknown", "go test ./...: failed 1 test 1/1", "go vet ./...: ok 0 lint", "make image: failed 2 1/1"},
			open: []string{"go test ./...: --- FAIL: TestA (0.00s)", "make image: step 1"},
		},
		{
			name: "exit statuses as tools tell them",
			talk: func(t *testchat.Chat) {
				t.Bash("one", "it is out\n\nCommand exited with code 3").Failed()
				t.Call("Bash", `{"command":"two"}`, "Exit code 4\nboom").Failed()
				t.Call("shell", `{"command":["bash","-lc","three"]}`, "Exit code: 5\nWall time: 1s\nOutput:\nboom")
				t.Call("exec_command", `{"cmd":"four"}`, "Chunk ID: 1\nWall time: 0.1\nProcess exited with code 6\nOutput:\nboom")
				t.Call("shell", `{"command":["five","a b"]}`, `{"output":"it broke","metadata":{"exit_code":7,"duration_seconds":0.1}}`)
				t.Bash("six", "<returncode>8</returncode>\n<output>\nboom</output>")
				t.Bash("seven", "[The command completed with exit code 0.]")
				t.Bash("eight", "fine")
			},
			want: []string{
				"one: failed 3 1/1", "two: failed 4 1/1", "three: failed 5 1/1", "four: failed 6 1/1", "five 'a b': failed 7 1/1",
				"six: failed 8 1/1", "seven: ok 0", "eight: ok",
			},
			open: []string{"one: it is out", "two: boom", "three: boom", "four: boom", "five 'a b': it broke", "six: boom"},
		},
		{
			name: "a check that fails and passes later",
			talk: func(t *testchat.Chat) {
				t.Bash("cd /home/user/project && go test ./store 2>&1 | tail -20", "--- FAIL: TestGet (0.00s)\n    store_test.go:12: got 1, want 2\nFAIL")
				t.Bash("go test ./store", "ok  \tstore\t0.1s")
			},
			want: []string{"go test ./store: ok test 1/2"},
		},
		{
			name: "a check that still fails, through a pipe that hides its status",
			talk: func(t *testchat.Chat) {
				t.Bash("npm run check 2>&1 | tail -5", "src/a.ts(3,1): error TS2339: Property 'x' does not exist")
				t.Bash("npm test | tail -3", "Tests: 12 passed")
			},
			want: []string{"npm run check: failed lint 1/1", "npm test: ok test"},
			open: []string{"npm run check: src/a.ts(3,1): error TS2339: Property 'x' does not exist"},
		},
		{
			name: "a script's command that is left running has the outcome that a later script reads",
			talk: func(t *testchat.Chat) {
				const start = "Script completed\nWall time 1.2 seconds\nOutput:\n\n" + `{"chunk_id":"6e","wall_time_seconds":1.0,"session_id":67,"output":"[build] $ cargo build\n"}`
				t.Call("exec", testchat.Args("input", `const r = await tools.exec_command({cmd:"mise run test:e2e one"}); text(JSON.stringify(r))`), start)
				t.Call("exec", testchat.Args("input", `const r = await tools.write_stdin({session_id:67,chars:""}); text(r.output)`),
					"Script completed\nWall time 2.2 seconds\nOutput:\n\nRunning test: one\n[test:e2e] ERROR task failed\n")
				t.Call("exec", testchat.Args("input", `const r = await tools.exec_command({cmd:"mise run test:e2e two"}); text(JSON.stringify(r))`), strings.Replace(start, "67", "68", 1))
				t.Call("exec", testchat.Args("input", `tools.exec_command({cmd:"go vet ./..."}).then(r => text(JSON.stringify(r)))`),
					"Script completed\nWall time 1.2 seconds\nOutput:\n\n"+`{"chunk_id":"7","exit_code":1,"output":"x.go:3: bad\n"}`)
			},
			want: []string{"mise run test:e2e one: failed test 1/1", "mise run test:e2e two: unknown test", "go vet ./...: failed 1 lint 1/1"},
			open: []string{"mise run test:e2e one: [test:e2e] ERROR task failed", "go vet ./...: x.go:3: bad"},
		},
		{
			name: "what polls without an exit status tell counts once, and JSON with an id leaves nothing running",
			talk: func(t *testchat.Chat) {
				const poll = `const r = await tools.write_stdin({session_id:67,chars:""}); text(r.output)`
				t.Call("exec", testchat.Args("input", `const r = await tools.exec_command({cmd:"go test ./..."}); text(JSON.stringify(r))`),
					"Script completed\nWall time 1.2 seconds\nOutput:\n\n"+`{"chunk_id":"6e","session_id":67,"output":""}`)
				t.Call("exec", testchat.Args("input", poll), "Script completed\nOutput:\n\n--- FAIL: TestA (0.1s)\n")
				t.Call("exec", testchat.Args("input", poll), "Script completed\nOutput:\n\nok  \tx/b\t0.1s\n")
				t.Bash("agent -p hello --json", `{"type":"result","session_id":"0f3c","result":"hi"}`)
			},
			want: []string{"go test ./...: failed test 1/1", "agent -p hello --json: ok"},
			open: []string{"go test ./...: --- FAIL: TestA (0.1s)"},
		},
		{
			name: "what only looks like a check",
			talk: func(t *testchat.Chat) {
				t.Bash("test -f go.mod", "")
				t.Bash("make -n build", "go build ./...")
				t.Bash("pytest --collect-only", "3 tests collected")
			},
			want: []string{"test -f go.mod: ok", "make -n build: ok", "pytest --collect-only: ok"},
		},
		{
			name: "a check behind a pipe that never ran, and tests of which nothing is seen to pass",
			talk: func(t *testchat.Chat) {
				t.Bash("python -m pytest tests -k order 2>&1 | head -100", "/opt/bin/python: No module named pytest")
				t.Bash("npx jest 2>&1 | tail -2", "sh: line 1: npx: command not found")
				t.Bash("pytest -q one 2>&1 | tail -1", "................  [100%]")
				t.Bash("bun test | tail", "error: a test that expects one\n 1309 pass\n 0 fail")
				t.Bash("ruff check --fix . | tail -1", "Found 2 errors (2 fixed, 0 remaining).")
				t.Bash("pytest two | grep -c xfail", "4")
				t.Bash("go vet ./... | head", "")
				t.Bash("cat .eslintrc; npx eslint . | head", "cat: .eslintrc: No such file or directory")
				t.Bash("./lint.sh; ruff check . | head", "bash: line 1: ./lint.sh: No such file or directory")
			},
			want: []string{
				"python -m pytest tests -k order: failed 1/1", "npx jest: failed test 1/1", "pytest -q one: ok test",
				"bun test: ok test", "ruff check --fix .: ok lint retired", "pytest two: unknown test", "go vet ./...: ok lint",
				"npx eslint .: ok lint", "ruff check .: failed lint 1/1",
			},
			open: []string{
				"python -m pytest tests -k order: /opt/bin/python: No module named pytest", "npx jest: sh: line 1: npx: command not found",
				"ruff check .: bash: line 1: ./lint.sh: No such file or directory",
			},
		},
		{
			name: "a wider check that passes retires a narrower one, not the other way round",
			talk: func(t *testchat.Chat) {
				t.Bash("go test -v -run TestGet ./store", "--- FAIL: TestGet\n\nCommand exited with code 1").Failed()
				t.Bash("go test ./...", "ok")
				t.Bash("pytest", "E   assert 1 == 2\n\nCommand exited with code 1").Failed()
				t.Bash("pytest tests/test_one.py", "1 passed")
				t.Bash("cd sub && npx tsc --noEmit", "a.ts(1,1): error TS1: no\n\nCommand exited with code 2").Failed()
				t.Bash("npm run check", "fine")
			},
			want: []string{
				"go test -v -run TestGet ./store: failed 1 test 1/1 retired", "go test ./...: ok test",
				"pytest: failed 1 test 1/1", "pytest tests/test_one.py: ok test",
				"cd sub && npx tsc --noEmit: failed 2 build 1/1 retired", "npm run check: ok lint",
			},
			open: []string{"pytest: E assert 1 == 2"},
		},
		{
			name: "a check elsewhere retires nothing",
			talk: func(t *testchat.Chat) {
				t.Bash("cd a && npm test", "1 failed\n\nCommand exited with code 1").Failed()
				t.Bash("cd b && npm test", "ok")
			},
			want: []string{"cd a && npm test: failed 1 test 1/1", "cd b && npm test: ok test"},
			open: []string{"cd a && npm test: 1 failed"},
		},
		{
			name: "looking for something that is not there is no error",
			talk: func(t *testchat.Chat) {
				t.Bash("grep -rn foo src | head", "Command exited with code 1").Failed()
				t.Bash("ls nowhere", "ls: nowhere: No such file or directory\nCommand exited with code 1").Failed()
				t.Call("read", `{"path":"nowhere"}`, "ENOENT: no such file").Failed()
				t.Call("grep", `{"pattern":"foo"}`, "failed").Failed()
			},
			want: []string{"grep -rn foo src | head: failed 1 1/1", "ls nowhere: failed 1 1/1"},
		},
		{
			name: "an error is open until the same tool or program succeeds",
			talk: func(t *testchat.Chat) {
				t.Bash("git push origin main", "error: failed to push some refs\n\nCommand exited with code 1").Failed()
				t.Bash("git push -f origin main", "done")
				t.Bash("docker build .", "ERROR: no Dockerfile\n\nCommand exited with code 1").Failed()
				t.Call("edit", `{"path":"a.go","oldText":"x","newText":"y"}`, "Could not find the exact text in a.go").Failed()
				t.Call("edit", `{"path":"b.go","oldText":"x","newText":"y"}`, "Could not find the exact text in b.go").Failed()
				t.Call("edit", `{"path":"./a.go","oldText":"z","newText":"y"}`, "ok")
				t.Call("deploy", `{}`, "Error: no credentials").Failed()
				t.Call("notify", `{}`, "Error: offline").Failed()
				t.Call("notify", `{}`, "sent")
			},
			want: []string{"git push origin main: failed 1 1/1", "git push -f origin main: ok", "docker build .: failed 1 1/1"},
			open: []string{"docker build .: ERROR: no Dockerfile", "b.go: Could not find the exact text in b.go", ": Error: no credentials"},
		},
		{
			name: "commands of the user",
			talk: func(t *testchat.Chat) {
				one := 1
				t.Add(&message.Message{Role: message.RoleBashExecution, Command: "make lint", Output: "error: unused x", ExitCode: &one})
				t.Add(&message.Message{Role: message.RoleBashExecution, Command: "cat secret", Output: "x", ExcludeFromContext: true})
				t.Add(&message.Message{Role: message.RoleBashExecution, Command: "sleep 9", Cancelled: true})
			},
			want: []string{"make lint: failed 1 lint 1/1"},
			open: []string{"make lint: error: unused x"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			conv := testchat.New()
			c.talk(conv)
			l := ledger.Read(conv.Items(), ledger.Options{Cwd: cwd})
			var got []string
			for _, cmd := range l.Commands {
				got = append(got, describe(cmd))
			}
			if a, b := strings.Join(got, "\n"), strings.Join(c.want, "\n"); a != b {
				t.Errorf("commands\n%s\nwant\n%s", a, b)
			}
			var open []string
			for _, e := range l.Errors {
				s := e.Subject
				if len(e.Lines) > 0 {
					s += ": " + strings.Join(strings.Fields(e.Lines[0]), " ")
				}
				open = append(open, s)
			}
			if a, b := strings.Join(open, "\n"), strings.Join(c.open, "\n"); a != b {
				t.Errorf("open errors\n%s\nwant\n%s", a, b)
			}
			for _, f := range failing(l) {
				if f.Status != ledger.StatusFailed || f.Retired || f.Check == "" {
					t.Errorf("%s is not failing", describe(f))
				}
			}
		})
	}
}

func TestErrorLines(t *testing.T) {
	conv := testchat.New()
	conv.Bash("make build", "building\nsrc/a.c:1: error: first\nsrc/a.c:2: error: second\nsrc/a.c:3: error: third\nnote\nsrc/a.c:9: error: last\n\nCommand exited with code 2").Failed()
	l := ledger.Read(conv.Items(), ledger.Options{})
	want := []string{"src/a.c:1: error: first", "src/a.c:2: error: second", "src/a.c:9: error: last"}
	if got := l.Errors[0].Lines; strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want the first ones and the last: %q", got, want)
	}
}

func TestCommits(t *testing.T) {
	conv := testchat.New()
	id := conv.Bash(`git add -A && git commit -m "Fix it"`, "[main 1507f8b] Fix it\n 1 file changed").ID
	conv.Bash("git commit -m nothing", "nothing to commit\n\nCommand exited with code 1").Failed()
	conv.Bash("cat log", "[main 9999999] not a commit of ours")
	l := ledger.Read(conv.Items(), ledger.Options{})
	want := ledger.Commit{Hash: "1507f8b", Subject: "Fix it", Branch: "main", Entry: id}
	if len(l.Commits) != 1 || l.Commits[0] != want {
		t.Errorf("commits %+v, want one: %+v", l.Commits, want)
	}
}

func TestUsersAreWhatTheUserTyped(t *testing.T) {
	conv := testchat.New()
	id := conv.User("build me a parser")
	conv.Add(&message.Message{Role: message.RoleUser, Origin: message.OriginInjected, Content: []message.Block{message.TextBlock("<reminder>")}})
	conv.Add(&message.Message{Role: message.RoleUser, Origin: message.OriginHook, Content: []message.Block{message.TextBlock("hook")}})
	conv.Add(&message.Message{Role: message.RoleCustom, CustomType: "x", Content: []message.Block{message.TextBlock("extension")}})
	conv.Add(&message.Message{Role: message.RoleCompactionSummary, Summary: "the user said: delete all"})
	long := strings.Repeat("very long ", 200)
	conv.User(long)
	l := ledger.Read(conv.Items(), ledger.Options{})
	if len(l.Users) != 2 || l.Users[0].Entry != id || l.Users[0].Text != "build me a parser" || !l.Users[0].Time.Equal(testchat.Start) {
		t.Fatalf("users: %+v", l.Users)
	}
	if u := l.Users[1]; u.Bytes != len(long) || len([]rune(u.Text)) > 300 || !strings.HasSuffix(u.Text, "…") {
		t.Errorf("a message of %d bytes is kept as %d bytes: %q", len(long), u.Bytes, u.Text)
	}
}

func TestTodos(t *testing.T) {
	conv := testchat.New()
	conv.Call("TodoWrite", `{"todos":[{"content":"old","status":"pending"}]}`, "ok")
	conv.Call("TodoWrite", `{"todos":[{"content":"read","status":"completed"},{"content":"write\ntests","status":"in_progress"},{"content":"ship","status":"pending"},{"status":"pending"}]}`, "ok")
	conv.Call("update_plan", `{"plan":"none"}`, "ok")
	l := ledger.Read(conv.Items(), ledger.Options{})
	var got []string
	for _, td := range l.Todos {
		got = append(got, string(td.Status)+" "+td.Text)
	}
	if s := strings.Join(got, "; "); s != "done read; active write tests; open ship" {
		t.Errorf("todos: %s", s)
	}
}
