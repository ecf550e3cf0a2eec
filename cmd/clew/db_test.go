package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/pgtest"
)

// A session goes through a database by the commands, and each refusal says what to do.
func TestDB(t *testing.T) {
	dsn := pgtest.Database(t)
	dir := t.TempDir()
	in, out, bad := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "out.jsonl"), filepath.Join(dir, "bad.jsonl")
	text := []byte(`{"type":"session","version":3,"id":"moved","timestamp":"2025-01-02T03:04:05.678Z","cwd":"/"}` + "\n" +
		`{"type":"custom","id":"a","parentId":null}` + "\n")
	for name, data := range map[string][]byte{in: text, bad: bytes.Replace(text, []byte("moved"), []byte("bad\",\n\"x\":\""), 1)} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db := func(want int, says string, args ...string) {
		t.Helper()
		stdout, stderr := run(t, want, append([]string{"db", "--db", dsn, "--tenant", "t"}, args...)...)
		if !strings.Contains(stdout+stderr, says) {
			t.Errorf("db %q says %q, want %q", args, stdout+stderr, says)
		}
	}
	db(exitFailed, "clew db migrate", "import", in)
	db(exitDone, "has the tables of this clew", "migrate")
	db(exitDone, `"action": "migrate"`, "migrate", "--json")
	db(exitDone, `"id": "moved",`+"\n      "+`"entries": 1`, "import", "--json", in)
	db(exitFailed, "session moved: file already exists", "import", in)
	db(exitFailed, "clew repair FILE --out FILE", "import", bad)
	db(exitDone, "out.jsonl: session moved, 1 entry\n", "export", "moved", out)
	db(exitFailed, "choose another name", "export", "moved", out)
	db(exitFailed, "no such session", "export", "nowhere", filepath.Join(dir, "x.jsonl"))
	if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, text) {
		t.Errorf("the file came back as %q, %v", got, err)
	}
}
