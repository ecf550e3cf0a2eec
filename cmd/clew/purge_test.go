package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/compact"
)

// TestPurgeAfterCompaction leaks secrets of several kinds through several kinds of
// messages, compacts with every preset and template, and purges the entry: no file
// of the session holds the secret any more, and the session is sound.
func TestPurgeAfterCompaction(t *testing.T) {
	secrets := []string{"sk_live_51H7kqZx9Qw8Er7", "correct horse battery staple", "hunter2", `P"ä\ss<word>/zq47y11`}
	messages := map[string]string{
		"user":   `{"role":"user","content":%s,"timestamp":1}`,
		"result": `{"role":"toolResult","toolCallId":"c5a","toolName":"read","isError":true,"content":[{"type":"text","text":%s}],"timestamp":1}`,
		"call":   `{"role":"assistant","provider":"anthropic","model":"claude-opus-4-5","stopReason":"aborted","content":[{"type":"toolCall","id":"cx","name":"bash","arguments":{"command":%s}}],"timestamp":1}`,
		"answer": `{"role":"assistant","provider":"anthropic","model":"claude-opus-4-5","stopReason":"stop","content":[{"type":"text","text":%s}],"timestamp":1}`,
		"shell":  `{"role":"bashExecution","command":"cat .env","output":%s,"exitCode":1,"cancelled":false,"truncated":false,"timestamp":1}`,
	}
	if testing.Short() {
		secrets = secrets[1:2]
	}
	quoted, n := 0, 0
	for _, kind := range slices.Sorted(maps.Keys(messages)) {
		form := messages[kind]
		for i, secret := range secrets {
			n++
			policy := compact.PresetNames()[n%len(compact.PresetNames())]
			template := templateNames()[n/2%len(templateNames())]
			name := fmt.Sprintf("%s, secret %d, preset %s, template %s", kind, i, policy, template)
			file := filepath.Join(t.TempDir(), "s.jsonl")
			text, _ := json.Marshal("Error: the login with " + secret + " failed\nexit code 1")
			entry := fmt.Sprintf(`{"type":"message","id":"leak","parentId":"a5","timestamp":"2026-01-01T10:30:00.000Z","message":`+form+`}`, text)
			lines := strings.SplitAfter(string(longSession(12, 3)), "\n")
			at := 1 + 5*7 // behind the fifth turn
			lines[at] = strings.Replace(lines[at], `"parentId":"a5"`, `"parentId":"leak"`, 1)
			data := strings.Join(lines[:at], "") + entry + "\n" + strings.Join(lines[at:], "")
			if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
			run(t, exitDone, "compact", "--preset", policy, "--template", template, "--window", "16k", file)
			run(t, exitDone, "compact", "--window", "8k", "--keep", "1k", file)
			core := strings.Trim(strings.FieldsFunc(secret, func(r rune) bool { return strings.ContainsRune(`"\<>/`, r) })[0], " ")
			if len(core) < 4 {
				core = "zq47y11"
			}
			if strings.Count(mustRead(t, file), core) > 1 {
				quoted++
			}
			run(t, exitDone, "purge", "--yes", file, "leak")
			if after := mustRead(t, file); strings.Contains(after, core) {
				k := strings.Index(after, core)
				t.Errorf("%s: it still has it: %s", name, after[max(0, k-100):k+40])
			}
			run(t, exitDone, "verify", file)
			run(t, exitDone, "context", "--wire", "anthropic", file)
		}
	}
	t.Logf("%d sessions, in %d of them clew had copied the secret", n, quoted)
	// Secrets that can be told by their form are not copied in the first place.
	if quoted == 0 {
		t.Errorf("in none of %d sessions clew had copied the secret: the test shows little", n)
	}
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
