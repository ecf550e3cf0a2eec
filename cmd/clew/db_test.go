package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/blob"
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

// A password that stands in the address alone serves for all that ls opens, and is shown nowhere.
func TestDatabasePassword(t *testing.T) {
	at := address(t)
	t.Setenv("CLEW_DATA_DIR", t.TempDir())
	run(t, exitDone, "db", "migrate", "--db", at)
	a, err := database.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	s, err := database.Create(t.Context(), a, session.Header{ID: "one", Timestamp: time.Now(), Cwd: "/"}, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cfg, err := pgx.ParseConfig(at)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "DROP ROLE IF EXISTS guarded; CREATE ROLE guarded SUPERUSER LOGIN PASSWORD 'hidden'"); err != nil {
		t.Fatal(err)
	}
	hba := filepath.Join(cfg.Host, "data", "pg_hba.conf")
	rules, err := os.ReadFile(hba)
	if err == nil {
		err = os.WriteFile(hba, append([]byte("local all guarded scram-sha-256\n"), rules...), 0o600)
	}
	if err == nil {
		_, err = conn.Exec(t.Context(), "SELECT pg_reload_conf()")
	}
	if err != nil {
		t.Fatal(err)
	}
	bare := strings.Replace(at, "user=clew", "user=guarded", 1)
	for { // until the server has read its rules
		c, err := pgx.Connect(t.Context(), bare)
		if err != nil {
			break
		}
		c.Close(t.Context())
	}
	for _, args := range [][]string{{"ls"}, {"ls", "--long"}, {"ls", "--long", "--json"}} {
		stdout, stderr := run(t, exitDone, append(args, bare+"&password=hidden")...)
		if !strings.Contains(stdout, "one") || strings.Contains(stdout+stderr, "hidden") {
			t.Errorf("%q: %s%s", args, stdout, stderr)
		}
	}
}

// Large output goes with its session from beside a file into a folder or a bucket, and comes back byte for byte. What is
// missing is said; where it can't be kept nothing is imported, and what was kept of it is collected.
func TestDBMovesOutput(t *testing.T) {
	dsn, bucket := pgtest.Database(t), s3test.New(t)
	t.Setenv("CLEW_DATA_DIR", t.TempDir())
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
	dir := t.TempDir()
	in := filepath.Join(dir, "in.jsonl")
	beside, err := clew.FileBlobs(in)
	if err != nil {
		t.Fatal(err)
	}
	text := `{"type":"session","version":3,"id":"moved","timestamp":"2025-01-02T03:04:05.678Z","cwd":"/"}` + "\n"
	for i, whole := range []string{"whole output \x00\xff", "content of a file", "lost"} {
		id, err := beside.Put(t.Context(), strings.NewReader(whole))
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			text += fmt.Sprintf(`{"type":"custom","id":"a%d","parentId":null,"customType":"clew.files","data":{"files":[{"path":"x","before":%q}]}}`+"\n", i, id)
		} else {
			text += fmt.Sprintf(`{"type":"message","id":"a%d","parentId":null,"message":{"role":"toolResult","toolCallId":"x","content":"part","details":{"clew":{"blob":{"id":%q,"size":5}}}}}`+"\n", i, id)
		}
		if whole == "lost" {
			if err := beside.Delete(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, exitDone, "db", "migrate", "--db", dsn)
	tree := func(root string) (all string) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			all += strings.TrimPrefix(path, root) + ": " + string(data) + "\n"
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	address := "s3://" + bucket.Name + "?region=us-east-1&endpoint=" + bucket.URL
	bucket.Fail(func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, blob.IDOf([]byte("content of a file")).String()) {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	})
	_, stderr := run(t, exitFailed, "db", "import", "--db", dsn, "--blobs", address, in)
	if !strings.Contains(stderr, "nothing refers to what was copied") {
		t.Error(stderr)
	}
	bucket.Fail(nil)
	for i, says := range []string{"nothing was deleted", "deleted 1 piece", "another database"} {
		want := exitDone
		if i == 2 {
			want, dsn = exitFailed, pgtest.Database(t)
			run(t, exitDone, "db", "migrate", "--db", dsn)
		}
		stdout, stderr := run(t, want, "db", "gc", "--yes", "--grace", "0h", "--db", dsn, "--blobs", address)
		if !strings.Contains(stdout+stderr, says) {
			t.Error(stdout, stderr)
		}
	}
	for i, where := range []string{filepath.Join(dir, "kept"), address} {
		out := filepath.Join(dir, fmt.Sprint("out", i), "s.jsonl")
		if err := os.Mkdir(filepath.Dir(out), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"import", in}, {"export", "moved", out}} {
			stdout, _ := run(t, exitDone, append([]string{"db", "--db", dsn, "--blobs", where}, args...)...)
			if !strings.Contains(stdout, "3 entries, 2 pieces of large output; of 1 message the whole output is missing") {
				t.Errorf("%q: %s", args, stdout)
			}
		}
		if was, is := tree(in+".blobs"), tree(out+".blobs"); was != is || strings.Count(is, "sha256-") != 2 {
			t.Errorf("what was %q came back as %q", was, is)
		}
		if got, err := os.ReadFile(out); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
		run(t, exitFailed, "db", "export", "--db", dsn, "--blobs", where, "moved", out)
		delete := []string{"db", "delete", "--db", dsn, "--blobs", where, "--yes", "moved"}
		if where == address {
			_, stderr := run(t, exitFailed, delete...)
			if !strings.Contains(stderr, "another database") {
				t.Error(stderr)
			}
			delete = append(delete, "--take-over")
		}
		run(t, exitDone, delete...)
	}
}

// What was deleted before a failure is said, beside the failure.
func TestDBFailsMidway(t *testing.T) {
	dsn, dir := pgtest.Database(t), t.TempDir()
	t.Setenv("CLEW_DATA_DIR", t.TempDir())
	kept := filepath.Join(dir, "kept")
	db := func(want int, args ...string) string {
		t.Helper()
		stdout, stderr := run(t, want, append([]string{"db", "--db", dsn, "--tenant", "t", "--blobs", kept}, args...)...)
		return stdout + stderr
	}
	db(exitDone, "migrate")
	for _, id := range []string{"one", "two"} {
		in := filepath.Join(dir, id)
		if err := os.WriteFile(in, fmt.Appendf(nil, `{"type":"session","version":3,"id":%q,"timestamp":"2025-01-02T03:04:05.678Z","cwd":"/"}`+"\n"+`{"type":"custom","id":"a","parentId":null}`+"\n", id), 0o600); err != nil {
			t.Fatal(err)
		}
		db(exitDone, "import", in)
	}
	blobs, err := database.Blobs(kept, "t", "one")
	if err == nil {
		_, err = blobs.Put(t.Context(), strings.NewReader("garbage"))
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(kept, "t", "two", "blobs"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(kept, "t", "two", "blobs", "00"), nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if said := db(exitFailed, "gc", "--yes", "--grace", "0h", "--take-over"); !strings.Contains(said, "deleted 1 piece of content, 7 bytes") || !strings.Contains(said, "session two of tenant") {
		t.Error(said)
	}
}

// A session goes through a database by the commands, and each refusal says what to do.
func TestDB(t *testing.T) {
	dsn := pgtest.Database(t)
	dir := t.TempDir()
	t.Setenv("CLEW_DATA_DIR", t.TempDir())
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
	kept, err := database.Blobs(filepath.Join(dir, "kept"), "t", "leaked")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := kept.Put(t.Context(), strings.NewReader("a: zq47y11-key")); err != nil {
			t.Fatal(err)
		}
		purge(exitDone, "which is removed", "--yes", "--blobs", filepath.Join(dir, "kept"))
		purge(exitFailed, "stands nowhere", "--yes", "--blobs", filepath.Join(dir, "kept"))
	}
	if _, err := kept.Put(t.Context(), strings.NewReader("all of it")); err != nil {
		t.Fatal(err)
	}
	busy := filepath.Join(dir, "busy.jsonl")
	if err := os.WriteFile(busy, []byte(strings.Replace(string(text), `"parentId":null`, `"parentId":null,"data":"zq47y11-key"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	db(exitDone, "deleted 1 session", "delete", "--yes", "moved")
	db(exitDone, "moved", "import", busy)
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	at, err := database.Parse("postgres:///" + cfg.Database + "?" + url.Values{"host": {cfg.Host}, "user": {cfg.User}, "tenant": {"t"}}.Encode() + "#moved")
	if err != nil {
		t.Fatal(err)
	}
	open, err := database.Open(t.Context(), at, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	purge(exitFailed, "is open in another program; close it there", "--yes")
	if err := open.Close(); err != nil {
		t.Fatal(err)
	}
	purge(exitDone, "session moved", "--yes")
	db(exitDone, "to overwrite: it was purged before", "purge", "--dry-run", "moved", "a")
	db(exitUsage, "use --yes", "delete", "leaked")
	db(exitDone, "deleted 1 session, 0 events", "delete", "--yes", "--blobs", filepath.Join(dir, "kept"), "leaked")
	if found, _ := filepath.Glob(filepath.Join(dir, "kept", "t", "*")); len(found) > 0 {
		t.Errorf("of what was deleted %q is there", found)
	}
	db(exitFailed, "has no session leaked", "delete", "--yes", "leaked")
	db(exitDone, "deleted 0 sessions", "delete", "--yes", "--older", "30d", "--all-tenants")
	again := filepath.Join(dir, "kept")
	if _, err := kept.Put(t.Context(), strings.NewReader("of what was deleted")); err != nil {
		t.Fatal(err)
	}
	db(exitDone, "deleted 0 pieces", "gc", "--yes", "--blobs", again)
	db(exitDone, `19 bytes: session leaked of tenant "t"`, "gc", "--dry-run", "--grace", "0h", "--blobs", again)
	db(exitUsage, "use --yes", "gc", "--blobs", again)
	db(exitUsage, "--grace soon: write days", "gc", "--yes", "--grace", "soon")
	db(exitDone, "deleted 1 piece of content, 19 bytes", "gc", "--yes", "--grace", "0h", "--blobs", again)
	db(exitDone, `"deleted": 0`, "gc", "--yes", "--json", "--grace", "0h", "--blobs", again)
	db(exitDone, "deleted 1 session", "delete", "--yes", "--all")
}
