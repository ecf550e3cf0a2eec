package sessions

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/clew-dev/clew/transcript"
)

// TestElsewhereFindsSessionsOfOtherPrograms: each where its program keeps it, newest
// first; what is no session is counted.
func TestElsewhereFindsSessionsOfOtherPrograms(t *testing.T) {
	user, codex := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		user + "/.claude/projects/-work/c1.jsonl":      `{"type":"user","sessionId":"c1","cwd":"/work","uuid":"u","timestamp":"2026-05-01T10:00:00Z","message":{"role":"user","content":"fix the build"}}`,
		user + "/.claude/projects/-work/agent-9.jsonl": `{"type":"user","sessionId":"c1","isSidechain":true,"uuid":"u","timestamp":"2026-05-01T10:00:00Z","message":{"role":"user","content":"look"}}`,
		user + "/.claude/projects/-work/notes.jsonl":   "not a session\n",
		user + "/.claude/projects/-work/readme.md":     "x",
		codex + "/sessions/2026/05/02/rollout-1.jsonl": `{"timestamp":"2026-05-02T10:00:00Z","type":"session_meta","payload":{"id":"x1","cwd":"/work"}}
{"timestamp":"2026-05-02T10:00:01Z","type":"event_msg","payload":{"type":"user_message","message":"write docs"}}`,
		user + "/.codex/sessions/2026/05/02/rollout-2.jsonl": `{"timestamp":"2026-05-09T10:00:00Z","type":"session_meta","payload":{"id":"x2","cwd":"/work"}}`,
		user + "/.copilot/session-state/s/events.jsonl":      `{"type":"session.start","data":{"sessionId":"p1","context":{"cwd":"/work"}},"id":"a","timestamp":"2026-05-03T10:00:00Z","parentId":null}`,
		user + "/.gemini/tmp/h/chats/session-1.json":         `{"sessionId":"g1","projectHash":"h","lastUpdated":"2026-05-04T10:00:00Z","messages":[{"type":"user","content":"hello"}]}`,
		user + "/.pi/agent/sessions/--work--/s.jsonl":        `{"type":"session","version":3,"id":"i1","timestamp":"2026-04-30T10:00:00Z","cwd":"/work"}`,
	} {
		path = filepath.FromSlash(path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := func(name string) string {
		if name == "CODEX_HOME" {
			return codex
		}
		return ""
	}
	check := func(want string, wantOther int, names ...transcript.Format) {
		t.Helper()
		found, other, err := Elsewhere(t.Context(), env, user, names...)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range found {
			got += " " + f.ID
			if f.Size == 0 || f.Modified.IsZero() {
				t.Errorf("%+v", f)
			}
		}
		if got != want || other != wantOther {
			t.Errorf("%v: found%s and %d others, want%s and %d", names, got, other, want, wantOther)
		}
	}
	check(" g1 p1 x1 c1 i1", 1)
	check(" x1", 0, transcript.Codex)
}

// TestInProject: a session belongs to the project in its folder, by whatever link that is
// reached; of Gemini CLI the folder's hash is all that is known.
func TestInProject(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip("no links here")
	}
	gemini := Found{Path: "/u/.gemini/tmp/5c3d3dbf7a5fd2c9a5c7c5a1a5a2f0e5b6f6/chats/s.json"}
	gemini.Format = transcript.GeminiCLI
	sum := sha256.Sum256([]byte(dir))
	of := gemini
	of.Path = "/u/.gemini/tmp/" + hex.EncodeToString(sum[:]) + "/chats/s.json"
	for name, tc := range map[string]struct {
		f    Found
		want bool
	}{
		"the folder":     {Found{Glance: transcript.Glance{Cwd: dir}}, true},
		"by a link":      {Found{Glance: transcript.Glance{Cwd: link}}, true},
		"another":        {Found{Glance: transcript.Glance{Cwd: filepath.Dir(dir)}}, false},
		"not known":      {Found{}, false},
		"by its hash":    {of, true},
		"another's hash": {gemini, false},
	} {
		if tc.f.In(dir) != tc.want {
			t.Errorf("%s: In is %v", name, !tc.want)
		}
	}
}

// many makes a user's home with n sessions of a program, of 100 KiB each.
func many(tb testing.TB, n int) (user string) {
	user = tb.TempDir()
	folder := filepath.Join(user, ".claude", "projects", "-src-app")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		tb.Fatal(err)
	}
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, `{"type":"user","sessionId":"c%d","cwd":"/src/app","uuid":"u","timestamp":"2026-05-01T10:00:00Z","message":{"role":"user","content":%q}}`+"\n", n, fmt.Sprintf("request %d %s", i, strings.Repeat("word ", 200)))
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("c%d.jsonl", i)), []byte(text.String()), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return user
}

func noEnv(string) string { return "" }

// TestElsewhereKeepsLittle: of each file a list keeps what it shows, and nothing of what
// was read to find it.
func TestElsewhereKeepsLittle(t *testing.T) {
	const n, most = 300, 4 << 10
	user := many(t, n)
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := inUse()
	found, _, err := Elsewhere(t.Context(), noEnv, user)
	if err != nil || len(found) != n {
		t.Fatalf("%d found, %v", len(found), err)
	}
	if grown := int64(inUse()) - int64(before); grown > n*most {
		t.Errorf("%d bytes kept for each file, want at most %d", grown/n, most)
	}
	runtime.KeepAlive(found)
}

// BenchmarkElsewhere lists 10,000 sessions.
func BenchmarkElsewhere(b *testing.B) {
	user := many(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if found, _, err := Elsewhere(b.Context(), noEnv, user); err != nil || len(found) != 10_000 {
			b.Fatal(len(found), err)
		}
	}
}
