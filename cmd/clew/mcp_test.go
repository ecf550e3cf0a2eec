package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCPAnswersAnAgent: over standard input and output, as an agent starts it, until the
// agent closes them.
func TestMCPAnswersAnAgent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "claude.jsonl")
	const session = `{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","cwd":"/w","timestamp":"2026-05-01T10:00:00Z","message":{"role":"user","content":"fix the zebra test"}}
{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","cwd":"/w","timestamp":"2026-05-01T10:01:00Z","message":{"role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"The stripes were counted twice."}]}}
`
	if err := os.WriteFile(file, []byte(session), 0o600); err != nil {
		t.Fatal(err)
	}
	in, toIn := io.Pipe()
	fromOut, out := io.Pipe()
	var errs strings.Builder
	code := make(chan int)
	go func() {
		n := Main([]string{"mcp", "--session", file}, in, out, &errs)
		_ = out.Close()
		code <- n
	}()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: fromOut, Writer: toIn}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "recall", Arguments: map[string]any{"query": "stripes"}})
	if err != nil {
		t.Fatal(err)
	}
	if text := r.Content[0].(*mcp.TextContent).Text; r.IsError || !strings.Contains(text, "The stripes were counted twice.") {
		t.Error(text)
	}
	_ = c.Close()
	if n := <-code; n != 0 || errs.Len() > 0 {
		t.Errorf("exit code %d: %s", n, errs.String())
	}
}
