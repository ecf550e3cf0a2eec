package main

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clew-dev/clew/internal/database"
	"github.com/clew-dev/clew/internal/pgtest"
	"github.com/clew-dev/clew/internal/s3test"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/postgres"
)

// address makes a database and returns its URL.
func address(t *testing.T) string {
	t.Helper()
	cfg, err := pgx.ParseConfig(pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	return "postgres:///" + cfg.Database + "?" + url.Values{"host": {cfg.Host}, "user": {cfg.User}}.Encode()
}

// The scripts in testdata/servers have an empty database, DATABASE, and those named blobs a bucket.
func TestDatabaseScripts(t *testing.T) {
	at := address(t)
	p := scriptParams()
	p.Dir, p.Files = "", []string{"testdata/servers/session.txtar"}
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error { env.Setenv("DATABASE", at); return setup(env) }
	testscript.Run(t, p)
}

func TestBucketScripts(t *testing.T) {
	at, b := address(t), s3test.New(t)
	p := scriptParams()
	p.Dir, p.Files = "", []string{"testdata/servers/blobs.txtar"}
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		for name, value := range map[string]string{
			"DATABASE": at, "BUCKET": "s3://" + b.Name + "/sessions?endpoint=" + b.URL + "&region=us-east-1", "BUCKET_DIR": b.Dir,
			"AWS_ACCESS_KEY_ID": s3test.AccessKey, "AWS_SECRET_ACCESS_KEY": s3test.SecretKey,
		} {
			env.Setenv(name, value)
		}
		return setup(env)
	}
	testscript.Run(t, p)
}

// Of two who write to a session the second is told who has it.
func TestDatabaseLease(t *testing.T) {
	at := address(t)
	t.Setenv("CLEW_DATA_DIR", t.TempDir())
	run(t, exitDone, "db", "migrate", "--db", at)
	a, err := database.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	s, err := database.Create(t.Context(), a, session.Header{ID: "shared", Timestamp: time.Now(), Cwd: "/"}, postgres.Options{Program: "clew chat"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, args := range [][]string{{"chat", "-p", "--session", at + "#shared", "--model", "ollama/x", "hello"}, {"name", at + "#shared", "mine"}} {
		_, stderr := run(t, exitFailed, args...)
		if !strings.Contains(stderr, fmt.Sprintf("open in another program: clew chat, process %d on", os.Getpid())) {
			t.Errorf("%s: %s", args[0], stderr)
		}
	}
	run(t, exitDone, "context", at+"#sha")
}

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

	// A secret goes wherever it stands, and is named nowhere; nothing goes unasked.
	purge := func(want int, says string, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		code := Main(append([]string{"db", "purge", "--db", dsn, "--text"}, args...), strings.NewReader("zq47y11-key\n"), &stdout, &stderr)
		said := stdout.String() + stderr.String()
		if code != want || !strings.Contains(said, says) || strings.Contains(said, "zq47y11") {
			t.Errorf("purge %q: %d, %s", args, code, said)
		}
	}
	leaked := filepath.Join(dir, "leaked.jsonl")
	if err := os.WriteFile(leaked, append(bytes.Replace(text, []byte("moved"), []byte("leaked"), 1), `{"type":"custom","id":"b","parentId":"a","data":"zq47y11-key"}`+"\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	db(exitDone, "leaked", "import", leaked)
	purge(exitUsage, "use --yes")
	purge(exitDone, `session leaked of tenant "t", row 2, entry b: 1 place in it`, "--dry-run")
	purge(exitDone, `"sessions": []`, "--yes", "--json")
	purge(exitFailed, "stands nowhere", "--yes")
	db(exitDone, "to overwrite: it was purged before", "purge", "--dry-run", "moved", "a")
	db(exitUsage, "use --yes", "delete", "leaked")
	db(exitDone, "deleted 1 session, 0 events", "delete", "--yes", "leaked")
	db(exitFailed, "has no session leaked", "delete", "--yes", "leaked")
	db(exitDone, "deleted 0 sessions", "delete", "--yes", "--older", "30d", "--all-tenants")
	db(exitDone, "deleted 1 session", "delete", "--yes", "--all")
}
