package sessions

import (
	"os"
	"path/filepath"
	"testing"
)

// TestGeminiProject: a session goes where Gemini CLI looks for those of the project.
func TestGeminiProject(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a new one":        {nil, "my-app"},
		"by its mark":      {map[string]string{"tmp/other/.project_root": "/src/My App\n"}, "other"},
		"by the registry":  {map[string]string{"projects.json": `{"projects":{"/src/My App":"app"}}`}, "app"},
		"another's folder": {map[string]string{"tmp/my-app/.project_root": "/else", "history/my-app-1/.project_root": "/x"}, "my-app-2"},
		"another's name":   {map[string]string{"projects.json": `{"projects":{"/else":"my-app"}}`}, "my-app-1"},
		"out of date": {map[string]string{
			"projects.json": `{"projects":{"/src/My App":"app"}}`, "tmp/app/.project_root": "/else",
		}, "my-app"},
		"damaged": {map[string]string{"projects.json": `{"projects":`}, "my-app"},
	} {
		dir := t.TempDir()
		for file, text := range tc.files {
			path := filepath.Join(dir, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := GeminiProject(dir, "/src/My App"); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestGeminiProjectOfASession: the folder's mark says to which project its sessions belong; a
// file in which nothing is said, which is left where a session goes on, is none.
func TestGeminiProjectOfASession(t *testing.T) {
	user := t.TempDir()
	chats := filepath.Join(user, ".gemini", "tmp", "app", "chats")
	if err := os.MkdirAll(chats, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(chats, "session-1.jsonl"): `{"sessionId":"g1","projectHash":"h","startTime":"2026-05-04T10:00:00Z"}
{"$set":{"messages":[{"id":"m0","type":"user","content":[{"text":"<session_context>here</session_context>"}]}],"lastUpdated":"2026-05-04T10:00:00Z"}}
{"$set":{"messages":[{"id":"m0","type":"user","content":[{"text":"<session_context>here</session_context>"}]},{"id":"m1","type":"user","content":[{"text":"fix it"}]}],"lastUpdated":"2026-05-04T10:00:07Z"}}
`,
		filepath.Join(chats, "session-2.jsonl"): `{"sessionId":"g1","projectHash":"h","startTime":"2026-05-04T11:00:00Z"}
{"$set":{"messages":[{"id":"m0","type":"user","content":[{"text":"<session_context>here</session_context>"}]}]}}
`,
		filepath.Join(user, ".gemini", "tmp", "app", ".project_root"): "/src/app",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, _, err := Elsewhere(t.Context(), noEnv, user)
	if err != nil || len(found) != 1 || found[0].First != "fix it" || !found[0].In("/src/app") || found[0].In("/src/other") {
		t.Errorf("%+v, %v", found, err)
	}
}
