package mcpserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// line is a line of Claude Code's file.
func line(n int, typ, session, cwd, content string, more ...string) string {
	parent := "null"
	if n > 1 {
		parent = fmt.Sprintf(`"%s-%d"`, session, n-1)
	}
	extra := ""
	if len(more) > 0 {
		extra = "," + more[0]
	}
	return fmt.Sprintf(`{"type":%q,"uuid":"%s-%d","parentUuid":%s,"sessionId":%q,"cwd":%q,"timestamp":"2026-05-01T10:%02d:00Z"%s%s}`+"\n",
		typ, session, n, parent, session, cwd, n, content, extra)
}

func said(role, text string) string {
	return fmt.Sprintf(`,"message":{"role":%q,"model":"claude-sonnet-4-5","content":%q,"usage":{"input_tokens":50000,"output_tokens":10}}`, role, text)
}

// library is a user's home with two sessions of a project and one of another.
func library(t *testing.T) (user, dir, current string) {
	user, dir = t.TempDir(), t.TempDir()
	folder := filepath.Join(user, ".claude", "projects", "p")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string, at time.Time) string {
		path := filepath.Join(folder, name+".jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	write("elsewhere", line(1, "user", "elsewhere", "/other", said("user", "the marmalade is elsewhere")), now.Add(time.Hour))
	write("earlier", line(1, "user", "earlier", dir, said("user", "never use the marmalade parser"))+
		line(2, "assistant", "earlier", dir, said("assistant", "understood")), now.Add(-time.Hour))
	current = write("current", line(1, "user", "current", dir, said("user", "fix the zebra test, the key is sk-ant-api03-"+strings.Repeat("aB3", 30)))+
		line(2, "assistant", "current", dir, `,"message":{"role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/w/zebra.go"}},{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"go test ./zebra"}}]}`)+
		line(3, "user", "current", dir, `,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"},{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"FAIL zebra_test.go:12"}]}`)+
		line(4, "assistant", "current", dir, said("assistant", "The stripes were counted twice."))+
		line(5, "system", "current", dir, "", `"subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":150000}`)+
		line(6, "user", "current", dir, said("user", "A test was worked on."), `"isCompactSummary":true`)+
		line(7, "user", "current", dir, said("user", "go on"))+
		line(8, "assistant", "current", dir, said("assistant", "I go on.")), now)
	return user, dir, current
}

func client(t *testing.T, cfg Config) func(name string, arguments map[string]any) string {
	t.Helper()
	if cfg.Getenv == nil {
		cfg.Getenv = func(string) string { return "" }
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	here, there := mcp.NewInMemoryTransports()
	if _, err := s.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return func(name string, arguments map[string]any) string {
		t.Helper()
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		text := r.Content[0].(*mcp.TextContent).Text
		if r.IsError {
			text = "error: " + text
		}
		return text
	}
}

func has(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}

// TestRecallReadsWhatACompactionTookOut: of the session that was written to last; what it
// does not have is looked for in the project's others, and in no other project's.
func TestRecallReadsWhatACompactionTookOut(t *testing.T) {
	user, dir, current := library(t)
	ask := client(t, Config{Dir: dir, UserHome: user})
	has(t, ask("recall", map[string]any{"query": "stripes counted"}), "search: 1 found", "The stripes were counted twice.")
	other := ask("recall", map[string]any{"query": "marmalade"})
	has(t, other, "search: 0 found", "In the session earlier of 2026-05-01", "never use the marmalade parser")
	if strings.Contains(other, "elsewhere") {
		t.Errorf("another project was read:\n%s", other)
	}
	has(t, ask("recall", map[string]any{"query": "understood", "session": "earl"}), "search: 1 found")
	has(t, ask("recall", map[string]any{"query": "x", "session": "none"}), "error: no session of this project")

	// What is said meanwhile is found as well.
	f, err := os.OpenFile(current, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(line(9, "user", "current", dir, said("user", "now the giraffe")))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	has(t, ask("recall", map[string]any{"query": "giraffe"}), "now the giraffe")
}

// TestSecretsAreMasked, unless the user wants them.
func TestSecretsAreMasked(t *testing.T) {
	user, dir, _ := library(t)
	const secret = "aB3aB3aB3"
	if text := client(t, Config{Dir: dir, UserHome: user})("recall", map[string]any{"query": "zebra key"}); strings.Contains(text, secret) {
		t.Errorf("a key was told:\n%s", text)
	}
	has(t, client(t, Config{Dir: dir, UserHome: user, Secrets: true})("recall", map[string]any{"query": "zebra key"}), secret)
}

func TestStatusAndTimeline(t *testing.T) {
	user, dir, file := library(t)
	ask := client(t, Config{Dir: dir, UserHome: user})
	has(t, ask("context_status", nil), "session current, claude-code", "50010 tokens of 200000 (25 %)", "compaction 1 at 2026-05-01 10:05, 150000 tokens before it", "2 messages came after")
	has(t, ask("timeline", nil), "2 requests; these are 1 to 2", "asked: fix the zebra test", "changed: /w/zebra.go",
		"failed: Bash go test ./zebra: FAIL zebra_test.go:12", "ended after 2 calls", "The stripes were counted twice.", "asked: go on")
	has(t, ask("timeline", map[string]any{"offset": 1, "limit": 1}), "these are 2 to 2")
	has(t, client(t, Config{File: file})("context_status", nil), "session current")
	has(t, client(t, Config{Dir: t.TempDir(), UserHome: user})("timeline", nil), "error: there is no session of this project yet")
}

// TestHTTPAnswersThisMachineAlone: a name that leads here from a web page is refused.
func TestHTTPAnswersThisMachineAlone(t *testing.T) {
	user, dir, _ := library(t)
	s, err := New(Config{Dir: dir, UserHome: user, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: srv.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 3 {
		t.Fatal(tools, err)
	}
	for _, tool := range tools.Tools {
		if data, _ := json.Marshal(tool.InputSchema); !strings.Contains(string(data), `"session"`) {
			t.Errorf("%s: %s", tool.Name, data)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Error(resp.Status)
	}
}
