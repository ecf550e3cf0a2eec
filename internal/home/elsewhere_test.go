package home

import (
	"os"
	"path/filepath"
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
