package ledger_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/message"
)

const cwd = "/home/user/project"

// list writes files as "state path" in order, with what else is known of them.
func list(files []ledger.File) string {
	var out []string
	for _, f := range files {
		s := string(f.State) + " " + f.Path
		if f.Read && f.State != ledger.StateRead {
			s += " (read)"
		}
		if f.To != "" {
			s += " -> " + f.To
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

func TestFiles(t *testing.T) {
	for _, c := range []struct {
		name, want, weak string
		talk             func(t *testchat.Chat)
	}{
		{
			name: "pi: one file in three spellings",
			talk: func(t *testchat.Chat) {
				t.Call("read", `{"path":"./src/a.go"}`, "package a")
				t.Call("edit", `{"path":"/home/user/project/src/a.go","oldText":"a","newText":"b"}`, "Successfully replaced")
				t.Call("read", `{"path":"src/../src/a.go"}`, "package b")
			},
			want: "modified src/a.go (read)",
		},
		{
			name: "a failed edit changes nothing, a failed read reads nothing",
			talk: func(t *testchat.Chat) {
				t.Call("read", `{"path":"a.go"}`, "package a")
				t.Call("edit", `{"path":"a.go","oldText":"x","newText":"y"}`, "Could not find the exact text").Failed()
				t.Call("read", `{"path":"missing.go"}`, "ENOENT").Failed()
			},
			want: "read a.go",
		},
		{
			name: "a call without a result did not happen as far as known",
			talk: func(t *testchat.Chat) {
				t.Add(message.Assistant(testchat.Start, message.ToolCallBlock("c", "write", []byte(`{"path":"a.go","content":""}`))))
			},
		},
		{
			name: "a call that the user refused did not happen",
			talk: func(t *testchat.Chat) {
				t.Call("Write", `{"file_path":"a.go","content":""}`, "The user doesn't want to proceed with this tool use.").Failed()
			},
		},
		{
			name: "Claude Code",
			talk: func(t *testchat.Chat) {
				t.Call("Read", `{"file_path":"/home/user/project/a.go"}`, "     1\tpackage a")
				t.Call("Write", `{"file_path":"/home/user/project/b.go","content":"x"}`, "File created successfully at: b.go")
				t.Call("Write", `{"file_path":"/home/user/project/c.go","content":"x"}`, "The file /home/user/project/c.go has been updated.")
				t.Call("MultiEdit", `{"file_path":"/home/user/project/a.go","edits":[]}`, "Applied 2 edits")
				t.Call("NotebookEdit", `{"notebook_path":"/home/user/n.ipynb","new_source":""}`, "Updated cell")
			},
			want: "created b.go; modified c.go; modified a.go (read); modified /home/user/n.ipynb",
		},
		{
			name: "a file that is written without having been read is new; after a read it is not",
			talk: func(t *testchat.Chat) {
				t.Call("write", `{"path":"new.go","content":"x"}`, "Successfully wrote 1 bytes to new.go")
				t.Call("edit", `{"path":"new.go","oldText":"x","newText":"y"}`, "ok")
				t.Call("read", `{"path":"old.go"}`, "package old")
				t.Call("write", `{"path":"old.go","content":"x"}`, "Successfully wrote 1 bytes to old.go")
			},
			want: "created new.go; modified old.go (read)",
		},
		{
			name: "Codex: a patch",
			talk: func(t *testchat.Chat) {
				patch := "*** Begin Patch\n*** Add File: new.go\n+package a\n*** Update File: old.go\n@@\n-a\n+b\n*** Delete File: gone.go\n" +
					"*** Update File: from.go\n*** Move to: sub/to.go\n@@\n*** End Patch"
				t.Call("apply_patch", testchat.Args("input", patch), "Success. Updated the following files:\nA new.go")
				t.Call("shell", `{"command":["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: two.go\n+x\n*** End Patch\nEOF\n"],"workdir":"/home/user/project/sub"}`, "Exit code: 0\nOutput:\n")
				t.Call("apply_patch", testchat.Args("input", "*** Begin Patch\n*** Update File: no.go\n*** End Patch"), "apply_patch verification failed: no such file")
			},
			want: "created new.go; modified old.go; deleted gone.go; deleted from.go -> sub/to.go; created sub/to.go; created sub/two.go",
		},
		{
			name: "the last state counts",
			talk: func(t *testchat.Chat) {
				t.Call("write", `{"path":"a.go","content":"x"}`, "ok")
				t.Call("write", `{"path":"dir/b.go","content":"x"}`, "ok")
				t.Call("write", `{"path":"c.go","content":"x"}`, "ok")
				t.Bash("rm a.go && mv c.go lib/c.go", "")
				t.Bash("rm -rf dir", "")
				t.Call("write", `{"path":"a.go","content":"y"}`, "ok")
			},
			want: "deleted c.go -> lib/c.go; created lib/c.go; deleted dir/b.go; created a.go",
			weak: "deleted a.go; deleted c.go -> lib/c.go; created lib/c.go; deleted dir",
		},
		{
			name: "a command that failed is no evidence",
			talk: func(t *testchat.Chat) {
				t.Call("read", `{"path":"a.go"}`, "x")
				t.Bash("rm a.go", "rm: a.go: Permission denied\n\nCommand exited with code 1").Failed()
			},
			want: "read a.go",
		},
		{
			name: "weak evidence never makes a file modified",
			talk: func(t *testchat.Chat) {
				t.Call("read", `{"path":"a.go"}`, "x")
				t.Bash(`sed -i '' -e 's/x/y/' a.go b.go && echo hi > "out file.txt" && touch t && cp a.go sub/`, "")
				t.Bash("cat > made.go <<'EOF'\nrm nothing\nEOF", "")
				t.Bash("cd sub && echo x >> log.txt 2>&1", "")
			},
			want: "read a.go",
			weak: "modified a.go; modified b.go; modified out file.txt; created t; created sub/a.go; modified made.go; modified sub/log.txt",
		},
		{
			name: "what a shell would have to compute is no evidence",
			talk: func(t *testchat.Chat) {
				t.Bash(`rm "$FILE" *.go; for f in a b; do rm $f; done`, "")
				t.Bash(`echo x > $(mktemp); echo y > /dev/null`, "")
				t.Bash(`if true; then rm a.go; fi`, "")
			},
		},
		{
			name: "editors with sub-commands, and arguments of the wrong kind",
			talk: func(t *testchat.Chat) {
				t.Call("str_replace_editor", `{"command":"view","path":"a.py"}`, "x")
				t.Call("str_replace_editor", `{"command":"create","path":"b.py","file_text":""}`, "File created successfully at: b.py")
				t.Call("str_replace_editor", `{"command":"str_replace","path":"a.py","old_str":"q"}`, "No replacement was performed, old_str did not appear")
				t.Call("read", `{"path":7}`, "x")
				t.Call("read", `{}`, "x")
				t.Call("read", `[]`, "x")
			},
			want: "read a.py; created b.py",
		},
		{
			name: "Windows paths",
			talk: func(t *testchat.Chat) {
				t.Call("read", `{"path":"src\\a.go"}`, "x")
				t.Call("edit", `{"path":"src/a.go","oldText":"","newText":""}`, "ok")
				t.Call("read", `{"path":"c:\\tmp\\x.go"}`, "x")
			},
			want: "modified src/a.go (read); read C:/tmp/x.go",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			conv := testchat.New()
			c.talk(conv)
			l := ledger.Read(conv.Items(), ledger.Options{Cwd: cwd})
			if got := list(l.Files); got != c.want {
				t.Errorf("files\n got %s\nwant %s", got, c.want)
			}
			if got := list(l.Weak); c.weak != got {
				t.Errorf("weak\n got %s\nwant %s", got, c.weak)
			}
		})
	}
}

func TestFileEntryIsThatOfTheLastCall(t *testing.T) {
	conv := testchat.New()
	conv.Call("read", `{"path":"a"}`, "x")
	conv.Call("edit", `{"path":"a","oldText":"","newText":""}`, "ok")
	edit := conv.Items()[2].Entry.ID
	conv.Call("read", `{"path":"a"}`, "x")
	f := ledger.Read(conv.Items(), ledger.Options{}).Files[0]
	if f.Entry != edit || f.Edits != 1 {
		t.Errorf("the file is of entry %s with %d edits, want %s and 1", f.Entry, f.Edits, edit)
	}
}

func TestLimits(t *testing.T) {
	conv := testchat.New()
	for i := range 1040 {
		conv.Call("read", fmt.Sprintf(`{"path":"r%d"}`, i), "x")
	}
	for i := range 30 {
		conv.Call("write", fmt.Sprintf(`{"path":"w%d","content":""}`, i), "ok")
	}
	for i := range 205 {
		conv.User(fmt.Sprint("message ", i))
	}
	for i := range 209 {
		conv.Bash(fmt.Sprintf("echo %d > f%d", i, i), "")
	}
	for i := range 33 {
		conv.Call("edit", fmt.Sprintf(`{"path":"e%d","oldText":"","newText":""}`, i), "Could not find the text").Failed()
	}
	l := ledger.Read(conv.Items(), ledger.Options{})
	want := map[string]int{"files": 70, "users": 5, "commands": 89, "errors": 3, "weak": 9}
	if !maps.Equal(l.Omitted, want) {
		t.Errorf("omitted %+v, want %+v", l.Omitted, want)
	}
	if len(l.Files) != 1000 || len(l.Users) != 200 || len(l.Commands) != 120 || len(l.Errors) != 30 {
		t.Errorf("%d files, %d users, %d commands, %d errors", len(l.Files), len(l.Users), len(l.Commands), len(l.Errors))
	}
	if n := len(l.Paths(ledger.StateCreated)); n != 30 {
		t.Errorf("%d of the 30 files that were written are left: those that were read go first", n)
	}
	if l.Users[0].Text != "message 0" || l.Users[1].Text != "message 6" {
		t.Errorf("users begin with %q, %q: the first message stays, then the oldest go", l.Users[0].Text, l.Users[1].Text)
	}
}

// Files that are only talked about are in no list: neither the user's words nor the
// agent's are evidence.
func TestProseNamesNoFile(t *testing.T) {
	conv := testchat.New()
	conv.User("Please read auth.ts and change routes.ts")
	conv.Say("I have read auth.ts, and modified routes.ts")
	if l := ledger.Read(conv.Items(), ledger.Options{}); len(l.Files)+len(l.Weak) > 0 {
		t.Errorf("files %+v, weak %+v", l.Files, l.Weak)
	}
}
