package ledger_test

import (
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/testchat"
)

// TestNamesOfTools: a server's name before that of the tool is passed over, a letter is not,
// and a call without a name is of no tool.
func TestNamesOfTools(t *testing.T) {
	for name, want := range map[string]ledger.OpKind{
		"read": ledger.OpRead, "Read": ledger.OpRead, "files.read": ledger.OpRead, "mcp__files__read": ledger.OpRead, "a:b/read": ledger.OpRead,
		"xread": "", "_read": "", "x_read": "", "": "", "__": "", ".": "",
	} {
		if op := ledger.Operation(name, []byte(`{"path":"a.go"}`), ledger.Options{}); op.Kind != want {
			t.Errorf("%q is %q, not %q", name, op.Kind, want)
		}
	}
}

// The tools of each agent, with results as they write them.
func TestVocabularies(t *testing.T) {
	for _, c := range []struct {
		name        string
		talk        func(t *testchat.Chat)
		files, weak string
		commands    string
		todos       string
	}{
		{
			name: "Claude Code",
			talk: func(t *testchat.Chat) {
				t.Call("TaskCreate", `{"subject":"Write the parser","description":"all of it"}`, "Task #1 created successfully: Write the parser")
				t.Call("TaskCreate", `{"subject":"Test it"}`, "Task #2 created successfully: Test it")
				t.Call("TaskUpdate", `{"taskId":"1","status":"completed"}`, "Updated task #1 status")
				t.Call("TaskUpdate", `{"taskId":"2","status":"in_progress"}`, "Updated task #2 status")
				t.Call("Bash", `{"command":"make test"}`, "Exit code 2\nmake: *** [test] Error 1").Failed()
				t.Call("mcp__files__read_file", `{"path":"lib/a.go"}`, "package lib")
			},
			files: "read lib/a.go", commands: "make test: failed 2 test 1/1", todos: "done Write the parser; active Test it",
		},
		{
			name: "three tools with file_path",
			talk: func(t *testchat.Chat) {
				t.Call("read_file", `{"file_path":"auth.ts"}`, "x")
				t.Call("write_file", `{"file_path":"new.ts","content":"x"}`, "ok")
				t.Call("edit_file", `{"file_path":"routes.ts"}`, "ok")
			},
			files: "read auth.ts; created new.ts; modified routes.ts",
		},
		{
			name: "Codex: a script of calls",
			talk: func(t *testchat.Chat) {
				t.Call("exec", testchat.Args("input", `const patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** End Patch";
text(await tools.apply_patch(patch));`), "Script completed\nWall time 0.1 seconds\nOutput:\n")
				t.Call("exec", testchat.Args("input", `// tools.exec_command({cmd: "rm none"})
const [a, b] = await Promise.all([tools.exec_command({cmd:"cat 'src/b.rs'",workdir:"/home/user/project",timeout_ms:1000}), tools.exec_command({"cmd": `+"`cargo test`"+`})]); text(b.output)`),
					"Script completed\nWall time 9.0 seconds\nOutput:\ntest step::one ... FAILED\ntest result: FAILED. 3 passed; 1 failed")
				t.Call("exec", testchat.Args("input", "tools.exec_command({cmd: `cargo test ${name}`})"), "ok")
			},
			files: "modified src/a.rs", weak: "read src/b.rs", commands: "cat 'src/b.rs': ok; cargo test: failed test 1/1",
		},
		{
			name: "Codex: local_shell and update_plan",
			talk: func(t *testchat.Chat) {
				t.Call("local_shell", `{"action":{"type":"exec","command":["bash","-lc","echo x > out.txt"],"working_directory":"/home/user/project/sub"}}`, "Exit code: 0\nWall time: 0 seconds\nOutput:\n")
				t.Call("update_plan", `{"plan":[{"step":"look","status":"completed"},{"step":"change","status":"in_progress"},{"step":"check","status":"pending"}]}`, "Plan updated")
			},
			weak: "modified sub/out.txt", commands: "echo x > out.txt: ok 0", todos: "done look; active change; open check",
		},
		{
			name: "Gemini CLI",
			talk: func(t *testchat.Chat) {
				t.Call("read_file", `{"absolute_path":"/home/user/project/a.ts"}`, "x")
				t.Call("replace", `{"file_path":"/home/user/project/a.ts","old_string":"x","new_string":"y"}`, "Successfully modified file: a.ts (1 replacements).")
				t.Call("replace", `{"file_path":"/home/user/project/b.ts","old_string":"x","new_string":"y"}`, "Failed to edit, could not find the string to replace.")
				t.Call("write_file", `{"file_path":"n.ts","content":"x"}`, "Successfully created and wrote to new file: n.ts.")
				t.Call("read_many_files", `{"paths":["c.ts","d.ts","src/*.ts"]}`, "--- c.ts ---")
				t.Call("run_shell_command", `{"command":"npm test","directory":"app"}`, "Command: npm test\nDirectory: app\nOutput: 1 failing\nError: (none)\nExit Code: 1\nSignal: (none)")
				t.Call("write_todos", `{"todos":[{"description":"one","status":"pending"}]}`, "ok")
			},
			files: "modified a.ts (read); created n.ts; read c.ts; read d.ts", commands: "cd app && npm test: failed 1 test 1/1", todos: "open one",
		},
		{
			name: "OpenHands",
			talk: func(t *testchat.Chat) {
				t.Call("execute_bash", `{"command":"cd /home/user/project && make"}`, "cc: error\n[The command completed with exit code 2.]\n[Current working directory: /home/user/project]")
				t.Call("str_replace_editor", `{"command":"view","path":"/home/user/project/m.c"}`, "Here's the result of running `cat -n`")
				t.Call("str_replace_editor", `{"command":"insert","path":"/home/user/project/m.c","insert_line":3,"new_str":"x"}`, "The file has been edited.")
				t.Call("task_tracker", `{"command":"plan","task_list":[{"id":"1","title":"Reproduce","status":"done"},{"id":"2","title":"Fix","status":"todo"}]}`, "Task list updated")
			},
			files: "modified m.c (read)", commands: "make: failed 2 build 1/1", todos: "done Reproduce; open Fix",
		},
		{
			name: "SWE-agent: an editor that knows which file is open",
			talk: func(t *testchat.Chat) {
				t.Bash("open src/fields.py 140", "[File: /home/user/project/src/fields.py (1997 lines total)]\n(90 more lines above)")
				t.Bash("edit 140:141\n    return 1\nend_of_edit", "[File: /home/user/project/src/fields.py (1997 lines total)]\nFile updated.")
				t.Bash("create repro.py", "[File: /home/user/project/repro.py (1 lines total)]\n1:")
				t.Bash("edit 1:1\nprint(1\nend_of_edit", "Your proposed edit has introduced new syntax error(s).")
				t.Call("open", `{"path":"src/other.py","line_number":"1"}`, "[File: /home/user/project/src/other.py (9 lines total)]")
				t.Call("edit", `{"search":"a","replace":"b"}`, "Text replaced. Please review the changes")
				t.Bash("open -a Safari", "")
			},
			files: "modified src/fields.py (read); created repro.py; modified src/other.py (read)", commands: "open -a Safari: ok",
		},
		{
			name: "mini-SWE-agent: nothing but a shell",
			talk: func(t *testchat.Chat) {
				t.Bash("cat > test_x.py << 'EOF'\nimport x\nEOF\npython test_x.py", "<returncode>1</returncode>\n<output>\nTypeError: no\n</output>")
				t.Bash("sed -n '1,20p' lib/x.py && grep -n def lib/x.py", "<returncode>0</returncode>\n<output>\n</output>")
				t.Bash("git diff", "<returncode>0</returncode>\n<output>\ndiff --git a/lib/x.py b/lib/x.py\nindex 1..2\n--- a/lib/x.py\n+++ b/lib/x.py\n</output>")
				t.Bash("rm test_x.py && mkdir -p out/sub", "<returncode>0</returncode>\n<output>\n</output>")
			},
			weak:     "read lib/x.py; deleted test_x.py; created out/sub/",
			commands: "cat > test_x.py << 'EOF' import x EOF python test_x.py: failed 1 1/1; sed -n '1,20p' lib/x.py && grep -n def lib/x.py: ok 0; git diff: ok 0; rm test_x.py && mkdir -p out/sub: ok 0",
		},
		{
			name: "opencode and others",
			talk: func(t *testchat.Chat) {
				t.Call("read", `{"filePath":"/home/user/project/a.ts"}`, "<file>")
				t.Call("edit", `{"filePath":"/home/user/project/a.ts","oldString":"x","newString":"y"}`, "")
				t.Call("patch", testchat.Args("patchText", "*** Begin Patch\n*** Add File: new.ts\n+x\n*** End Patch"), "ok")
				t.Call("todowrite", `{"todos":[{"id":"1","content":"go","status":"cancelled","priority":"low"}]}`, "ok")
				t.Call("delete_file", `{"target_file":"old.ts"}`, "deleted")
				t.Call("move_file", `{"source":"new.ts","destination":"lib/new.ts"}`, "moved")
				t.Call("replace_string_in_file", `{"filePath":"b.ts","oldString":"a","newString":"b"}`, "ok")
				t.Call("run_in_terminal", `{"command":"ls"}`, "a")
			},
			files:    "modified a.ts (read); deleted old.ts; deleted new.ts -> lib/new.ts; created lib/new.ts; modified b.ts",
			commands: "ls: ok", todos: "done go",
		},
		{
			name: "git brings files back",
			talk: func(t *testchat.Chat) {
				t.Call("edit", `{"path":"a.go","oldText":"","newText":""}`, "ok")
				t.Call("edit", `{"path":"b.go","oldText":"","newText":""}`, "ok")
				t.Call("edit", `{"path":"d/c.go","oldText":"","newText":""}`, "ok")
				t.Bash("git checkout -- a.go && git restore d", "")
				t.Bash("git checkout main", "")
				t.Bash("git restore --staged b.go", "")
			},
			files: "read a.go; modified b.go; read d/c.go", commands: "git checkout -- a.go && git restore d: ok; git checkout main: ok; git restore --staged b.go: ok",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			conv := testchat.New()
			c.talk(conv)
			l := ledger.Read(conv.Items(), ledger.Options{Cwd: cwd})
			var commands, todos []string
			for _, cmd := range l.Commands {
				commands = append(commands, describe(cmd))
			}
			for _, td := range l.Todos {
				todos = append(todos, string(td.Status)+" "+td.Text)
			}
			for _, got := range [][3]string{
				{"files", list(l.Files), c.files},
				{"weak", list(l.Weak), c.weak},
				{"commands", strings.Join(commands, "; "), c.commands},
				{"todos", strings.Join(todos, "; "), c.todos},
			} {
				if got[1] != got[2] {
					t.Errorf("%s\n got %s\nwant %s", got[0], got[1], got[2])
				}
			}
		})
	}
}

// A check that failed is retired by one that looks at the same, or at what failed
// in it, in whatever words.
func TestRetired(t *testing.T) {
	for _, c := range []struct {
		failed, output string
		passed         []string
		retired        bool
	}{
		{"go test ./store", "", []string{"cd /home/user/project && GOFLAGS=-mod=mod go test -count=1 -v ./store"}, true},
		{"go test ./store", "", []string{"cd store && go test ."}, true},
		{"go test ./store", "", []string{"go test ./other"}, false},
		{"go test ./...", "--- FAIL: TestA (0.0s)\nFAIL\tx.org/p/store\t0.1s\nok  \tx.org/p/b", []string{"go test ./store"}, true},
		{"go test ./...", "--- FAIL: TestA (0.0s)\nFAIL\tx.org/p/store\t0.1s\n--- FAIL: TestB\nFAIL\tx.org/p/b\t0.1s", []string{"go test ./store"}, false},
		{"go test ./...", "--- FAIL: TestA (0.0s)\nFAIL\tx.org/p/store\t0.1s\n--- FAIL: TestB\nFAIL\tx.org/p/b\t0.1s", []string{"go test ./store", "go test -run TestB ./b"}, true},
		{"go test ./store", "--- FAIL: TestA (0.0s)\nFAIL\tx.org/p/store\t0.1s", []string{"go test -run 'TestA$' ./store"}, true},
		{"go test ./store", "--- FAIL: TestA (0.0s)\nFAIL\tx.org/p/store\t0.1s", []string{"go test -run TestB ./store"}, false},
		{"pytest -q", "FAILED tests/a.py::test_one - assert\nFAILED tests/a.py::test_two", []string{"python -m pytest tests/a.py -x"}, true},
		{"pytest -q", "FAILED tests/a.py::test_one - assert\nFAILED tests/a.py::test_two", []string{"python -m pytest tests/a.py::test_one"}, false},
		{"pytest tests/a.py::test_one", "", []string{"pytest tests"}, true},
		{"pytest tests -k one", "", []string{"pytest tests"}, true},
		{"pytest tests", "", []string{"pytest tests -k one"}, false},
		{"npx jest", "FAIL src/a.test.ts", []string{"npx jest src/a.test.ts"}, true},
		{"npm test", "1 failing", []string{"npm run test"}, true},
		{"npm test", "1 failing", []string{"npm run lint"}, false},
		{"cargo test", "test step::one ... FAILED", []string{"cargo test step::one"}, true},
		{"eslint src", "", []string{"eslint --max-warnings 0 src"}, true},
		{"eslint src", "", []string{"eslint src/a.ts"}, false},
	} {
		conv := testchat.New()
		conv.Bash(c.failed, c.output+"\n\nCommand exited with code 1").Failed()
		for _, p := range c.passed {
			conv.Bash(p, "ok")
		}
		l := ledger.Read(conv.Items(), ledger.Options{Cwd: cwd})
		if got := len(failing(l)) == 0; got != c.retired {
			t.Errorf("%q (%q), then %q: retired %v, want %v; %+v", c.failed, c.output, c.passed, got, c.retired, l.Commands)
		}
		if c.retired != (len(l.Errors) == 0) {
			t.Errorf("%q, then %q: open errors %+v", c.failed, c.passed, l.Errors)
		}
	}
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule bool
		text string
	}{
		{true, "Always run the linter before you commit."},
		{true, "You must never change the file format."},
		{true, "Don't push without asking."},
		{true, "From now on, answer in short sentences."},
		{true, "No new dependencies."},
		{true, "不要改数据库表结构。"},
		{true, "以后都用中文回答。"},
		{true, "必须用 bcrypt。"},
		{true, "テストは必ず追加してください。"},
		{true, "반드시 한국어로 대답해 주세요."},
		{true, "Verwende niemals globale Variablen."},
		{true, "N'utilise jamais de variables globales."},
		{true, "Nunca hagas push sin preguntar."},
		{true, "Всегда пиши тесты."},
		{false, "Can you always see the list?"},
		{false, "no don't set it, let's see if it keeps happening"},
		{false, "add a --verbose flag to cmd/main.go"},
		{false, "don't do this now"},
		{false, "ok, use the second one instead"},
		{false, "I never saw that before."},
		{false, "It always fails on the second run."},
		{true, "It must never fail on the second run."},
		{true, "We always use tabs."},
		{true, "The report should list every host."},
		{true, "I want a report for the new team so the report should list every host"},
		{true, "Tests shouldn't open a port."},
		{false, "I think the report should list every host."},
		{false, "it should work now"},
		{false, "The build should pass again."},
		{false, "what you should do is in the file"},
		{false, "请在 auth/login.go 里加上登录功能。"},
		{false, "commit and push"},
	} {
		conv := testchat.New()
		conv.User("Hello there.\n" + c.text)
		l := ledger.Read(conv.Items(), ledger.Options{})
		got := len(l.Rules) == 1 && l.Rules[0].Text == c.text
		if got != c.rule || !got && len(l.Rules) > 0 {
			t.Errorf("%q is taken for a rule: %v, want %v: %+v", c.text, got, c.rule, l.Rules)
		}
	}
}

// A rule is in the ledger once, as a whole sentence, and only when it is the user's own.
func TestRulesAreTheUsersOwn(t *testing.T) {
	plan := "Keep the cache in memory.\nNo infinite loops.\n- The parser should read every line.\n- Always close the file."
	for _, c := range []struct {
		name, message string
		want          []string
	}{
		{"each once", "Never push without asking.\n- never push, without asking!\nNEVER PUSH WITHOUT ASKING", []string{"Never push without asking."}},
		{"each once in Chinese", "提交前必须运行测试。\n提交前必须运行测试！", []string{"提交前必须运行测试。"}},
		{"two that differ in a sign of a name", "Always use C.\nAlways use C#.", []string{"Always use C.", "Always use C#."}},
		{"a wrapped line", "Please always run the linter and all of the tests of the package before\nyou commit anything.", []string{"Please always run the linter and all of the tests of the package before you commit anything."}},
		{"a wrapped item", "- Always run the linter before\n  you commit anything.", []string{"Always run the linter before you commit anything."}},
		{"half sentences", "Only the first of\n\nwhich must never happen again\n\nAlways use the (new", nil},
		{"a question without its mark", "can you make sure the list is always sorted", nil},
		{"signs that are no cut", "Never push without asking :)\nNever use the old parser (it is slow)", []string{"Never push without asking :)", "Never use the old parser (it is slow)"}},
		{"a thought", "i thought we no longer use the old parser", nil},
		{"an answer", "no, that's horrible.", nil},
		{"output of a program", "No fixes applied.\\n\\nChecked 3 files.\nresult = 0 (must be 1)", nil},
		{"a plan", "Never push.\nImplement the following plan:\n\n" + plan, []string{"Never push."}},
		{"a plan with a title", "# Plan for the parser\n\n" + plan, nil},
		{"changes to a plan", "Two changes to this plan:\n- Never touch the schema.\n- No new dependencies.", []string{"Never touch the schema.", "No new dependencies."}},
		{"a pasted document", "Only answer in German.\n\n## Findings\n\n" + plan + "\n- **Retry path** never tested.\n- Do not change the schema.", []string{"Only answer in German.", "Always close the file.", "Do not change the schema."}},
		{"rules under a heading", "## Rules\n\n- No global state.\n\n## Ideas\n\n- No global cache.", []string{"No global state."}},
	} {
		conv := testchat.New()
		conv.User(c.message)
		conv.User("go on")
		conv.User(c.message)
		var got []string
		for _, s := range ledger.Read(conv.Items(), ledger.Options{}).Rules {
			got = append(got, s.Text)
		}
		if a, b := strings.Join(got, "\n"), strings.Join(c.want, "\n"); a != b {
			t.Errorf("%s: rules\n%s\nwant\n%s", c.name, a, b)
		}
	}
}

func TestDecisions(t *testing.T) {
	const redis = "We decided to keep sessions in Redis because the web servers share them."
	for _, c := range []struct {
		name string
		said []string // by the agent; by the user after "user: "
		want []string
	}{
		{"a decision", []string{redis}, []string{redis}},
		{"maybe", []string{"Maybe we should keep sessions in Redis rather than in memory."}, nil},
		{"might", []string{"We might go with parseEntry instead of a new reader."}, nil},
		{"perhaps", []string{"Perhaps the root cause is parseEntry, because it reads twice."}, nil},
		{"probably", []string{"The root cause is probably in parseEntry."}, nil},
		{"could be", []string{"It could be that the root cause is in parseEntry."}, nil},
		{"wait and hmm", []string{"Wait, the root cause is in parseEntry.", "Hmm, the root cause is in readEntry."}, nil},
		{"waiting is no doubt", []string{"We decided to wait for the lock in openEntry."}, []string{"We decided to wait for the lock in openEntry."}},
		{"let me", []string{"Let me read parseEntry rather than guess."}, nil},
		{"I think, as a question", []string{"I think we go with parseEntry instead of readEntry?", "I think the root cause is parseEntry (or readEntry?)"}, nil},
		{"possible in Chinese", []string{"根本原因可能是 parseEntry 读了两次。"}, nil},
		{"impossible in Chinese", []string{"根本原因是 parseEntry 不可能读两次。"}, []string{"根本原因是 parseEntry 不可能读两次。"}},
		{"instead", []string{redis, "user: Keep the sessions of the web servers in memory instead."}, nil},
		{"actually", []string{redis, "Actually the web servers keep their sessions in a file."}, nil},
		{"revert", []string{redis, "I revert the sessions of the web servers to files."}, nil},
		{"no longer", []string{redis, "user: The web servers no longer share sessions."}, nil},
		{"turned out", []string{redis, "It turned out that Redis drops sessions when the web servers restart."}, nil},
		{"not, but", []string{redis, "user: The web servers share sessions not in Redis but in a file."}, nil},
		{"replaced by another", []string{redis, "We decided to keep sessions of the web servers in memory instead of Redis."}, []string{"We decided to keep sessions of the web servers in memory instead of Redis."}},
		{"in Chinese", []string{"我们决定采用 Redis 保存用户会话数据。", "user: 用户会话数据不再保存在 Redis 里。"}, nil},
		{"another subject", []string{redis, "user: Actually, name the new flag --verbose."}, []string{redis}},
		{"a guess takes nothing back", []string{redis, "Maybe the web servers should keep sessions in memory instead."}, []string{redis}},
		{"nothing that comes later", []string{"Actually the web servers keep their sessions in a file.", redis}, []string{redis}},
	} {
		conv := testchat.New()
		for _, s := range c.said {
			if s, ok := strings.CutPrefix(s, "user: "); ok {
				conv.User(s)
			} else {
				conv.Say(s)
			}
		}
		var got []string
		for _, s := range ledger.Read(conv.Items(), ledger.Options{}).Decisions {
			got = append(got, s.Text)
		}
		if a, b := strings.Join(got, "\n"), strings.Join(c.want, "\n"); a != b {
			t.Errorf("%s: decisions\n%s\nwant\n%s", c.name, a, b)
		}
	}
}

func TestDecisionsAndBoxes(t *testing.T) {
	conv := testchat.New()
	conv.User("Fix #123 as https://example.org/x says, on commit 1507f8b2.")
	conv.SayCall("The root cause is that parseEntry reads twice.", "bash", `{"command":"grep -rn parseEntry ."}`, "")
	conv.Say("Plan:\n- [x] find parseEntry\n- [ ] fix it\n- [ ] test it")
	l := ledger.Read(conv.Items(), ledger.Options{})
	if len(l.Decisions) != 1 || l.Decisions[0].Text != "The root cause is that parseEntry reads twice." {
		t.Errorf("decisions %+v", l.Decisions)
	}
	if len(l.Todos) != 3 || l.Todos[0].Status != ledger.TodoDone || l.Todos[2].Text != "test it" {
		t.Errorf("todos %+v", l.Todos)
	}
}
