package sessions

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// fakeOpenCode puts a program called opencode into PATH, which answers with the text of a
// file for each of its commands.
func fakeOpenCode(t *testing.T, answers map[string]string) (user string) {
	if runtime.GOOS == "windows" {
		t.Skip("the program that stands in is a shell script")
	}
	user = t.TempDir()
	data := filepath.Join(user, ".local", "share", "opencode")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		filepath.Join(data, "opencode.db"): "",
		filepath.Join(user, "opencode"):    "#!/bin/sh\ncase $1 in export) test -f \"$HOME_DIR/$2\" || { echo 'Session not found' >&2; exit 1; }; cat \"$HOME_DIR/$2\";; *) cat \"$HOME_DIR/$1\";; esac\n",
	}
	for name, text := range answers {
		files[filepath.Join(user, name)] = text
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", user+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("HOME_DIR", user)
	return user
}

// TestOpenCode: opencode is asked for its sessions, and exports one that is opened.
func TestOpenCode(t *testing.T) {
	user := fakeOpenCode(t, map[string]string{
		"db": `[{"id":"ses_1","directory":"/src/app","title":"Fix","begun":1795448925363,"last":1795449064776,"compacted":null,
"answer":"{\"role\":\"assistant\",\"modelID\":\"m\",\"tokens\":{\"input\":80,\"output\":2,\"reasoning\":0,\"cache\":{\"read\":8532,\"write\":0}}}"},
{"id":"ses_2","directory":"/src/app","title":"New","begun":1795448925000,"last":1795448925000,"answer":null,"compacted":1795448925000}]`,
		"ses_1": `{"info":{"id":"ses_1"},"messages":[]}`,
	})
	found, _, err := Elsewhere(t.Context(), noEnv, user)
	if err != nil || len(found) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	f := found[0]
	if f.ID != "ses_1" || !f.In("/src/app") || f.Name != "Fix" || f.Tokens != 8614 || f.Model != "m" || !f.Compacted.IsZero() || f.Last.UnixMilli() != 1795449064776 {
		t.Errorf("%+v", f)
	}
	if f = found[1]; f.Tokens != 0 || f.Compacted.IsZero() {
		t.Errorf("%+v", f)
	}
	r, err := Open(t.Context(), found[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if text, err := io.ReadAll(r); err != nil || string(text) != `{"info":{"id":"ses_1"},"messages":[]}` {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := Open(t.Context(), found[1].Path); err == nil || !strings.Contains(err.Error(), "opencode export ses_2: exit status 1: Session not found") {
		t.Errorf("%v", err)
	}
}

// TestOpenCodeNotThere: where opencode gives no list, or is not there, its database is counted as
// one that can't be read, and a session that is named says what is missing.
func TestOpenCodeNotThere(t *testing.T) {
	user := fakeOpenCode(t, map[string]string{"db": "not JSON"})
	if found, other, err := Elsewhere(t.Context(), noEnv, user); err != nil || len(found) > 0 || other != 1 {
		t.Errorf("%+v, %d others, %v", found, other, err)
	}
	t.Setenv("PATH", t.TempDir())
	if found, other, err := Elsewhere(t.Context(), noEnv, user); err != nil || len(found) > 0 || other != 1 {
		t.Errorf("%+v, %d others, %v", found, other, err)
	}
	if _, err := Open(t.Context(), "opencode:ses_1"); err == nil || !strings.Contains(err.Error(), "it has the session in its database") {
		t.Errorf("%v", err)
	}
}

// TestOpenCodeHangs: the time limit holds where opencode has started another program that has its pipes.
func TestOpenCodeHangs(t *testing.T) {
	user := fakeOpenCode(t, nil)
	fifo := filepath.Join(user, "fifo")
	if err := exec.CommandContext(t.Context(), "mkfifo", fifo).Run(); err != nil {
		t.Skip("no mkfifo:", err)
	}
	if err := os.WriteFile(filepath.Join(user, "opencode"), []byte("#!/bin/sh\ncat \"$HOME_DIR/fifo\" &\nwait\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan bool)
	go func() {
		_, failed := openCodeSessions(ctx, noEnv, user)
		done <- failed
	}()
	f, err := os.OpenFile(fifo, os.O_WRONLY, 0) // when the other program reads
	if err != nil {
		t.Fatal(err)
	}
	stop()
	giveUp := time.AfterFunc(10*time.Second, func() { f.Close() }) // that ends it
	if failed := <-done; !failed || !giveUp.Stop() {
		t.Errorf("failed: %v; ended with what it had started", failed)
		return
	}
	f.Close()
}
