package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/sessiongen"
)

// TestCommandsOnDamage runs what looks at a session on damaged ones: every
// command ends with an answer or with one line, and what is printed as JSON is
// JSON.
func TestCommandsOnDamage(t *testing.T) {
	n := uint64(80)
	if testing.Short() {
		n = 8
	}
	answered, refused := 0, 0
	for seed := range n {
		opts := sessiongen.Options{Version: []int{3, 3, 2, 1}[seed%4]}
		opts.Odds.Malformed = 0.05
		data, harm := sessiongen.Damage(seed, sessiongen.Generate(seed, opts).Bytes())
		for _, args := range [][]string{
			{"tree", "-"},
			{"tree", "--all", "--json", "-"},
			{"context", "-"},
			{"context", "--full", "-"},
			{"context", "--json", "-"},
			{"context", "--wire", "anthropic", "-"},
			{"context", "--wire", "gemini", "-"},
			{"verify", "-"},
			{"verify", "--json", "-"},
		} {
			var out, complaint bytes.Buffer
			code := Main(args, bytes.NewReader(data), &out, &complaint)
			name := strings.Join(args, " ") + " on " + harm.String()
			switch {
			case code != exitDone && code != exitFailed:
				t.Errorf("%s: exit code %d: %s", name, code, &complaint)
			case code == exitFailed && args[0] != "verify" && complaint.Len() == 0:
				t.Errorf("%s: failed without a word", name)
			case code == exitFailed && out.Len() > 0 && args[0] != "verify":
				t.Errorf("%s: failed after it had printed %d bytes", name, out.Len())
			}
			if out.Len() > 0 && (args[1] == "--json" || args[1] == "--wire" || args[1] == "--all") && !json.Valid(out.Bytes()) {
				t.Errorf("%s: what it prints is no JSON", name)
			}
			if strings.ContainsRune(complaint.String(), 0x1b) || args[1] != "--wire" && strings.Count(complaint.String(), "\n") > 1 {
				t.Errorf("%s: %q", name, &complaint)
			}
			if code == exitDone {
				answered++
			} else {
				refused++
			}
		}
	}
	t.Logf("%d answers, %d refusals", answered, refused)
	if answered < refused {
		t.Error("most of what is damaged can still be read")
	}
}
