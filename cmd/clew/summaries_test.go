package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/transcript"
)

// The summaries in examples/summaries are what summarize prints today, for reading. UPDATE=1
// writes them anew.
func TestSummariesOfTheExample(t *testing.T) {
	for _, s := range []struct {
		name, until, budget string
	}{
		{"1-two-requests", "e634c6a1199feb2d", "1000"},
		{"2-a-change-of-mind", "de5d551fa21dbb6f", "2000"},
		{"3-a-command", "b1bdfd41e3536c8e", "1500"},
		{"4-a-review", "2011e410a413b51c", "1500"},
		{"5-the-whole-session", "6826b5531332e49c", "4000"},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"summarize", "--until", s.until, "--budget", s.budget, "examples/long-session.jsonl"}
			cmd := newRoot()
			var out bytes.Buffer
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			cmd.SetArgs(append(args[:len(args)-1:len(args)-1], exampleSession))
			if err := cmd.Execute(); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("<!-- clew %s -->\n\n%s", strings.Join(args, " "), out.String())
			path := filepath.Join("..", "..", "examples", "summaries", s.name+".md")
			if os.Getenv("UPDATE") != "" {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != want {
				t.Errorf("%s is not what clew prints (%v); UPDATE=1 writes it anew. Now:\n%s", path, err, want)
			}
		})
	}
}

// What a compaction kept is said once in a summary of the whole session.
func TestSummarizeWithoutCopies(t *testing.T) {
	user := `{"type":"message","role":"user","content":[{"type":"input_text","text":"add a linter to the build"}]}`
	data := `{"timestamp":"2026-01-05T15:00:00Z","type":"session_meta","payload":{"id":"i","cwd":"/work"}}
{"timestamp":"2026-01-05T15:00:01Z","type":"response_item","payload":` + user + `}
{"timestamp":"2026-01-05T15:00:02Z","type":"compacted","payload":{"message":"SUMMARY","replacement_history":[` + user + `]}}
{"timestamp":"2026-01-05T15:00:03Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}}
`
	f, err := transcript.Read(strings.NewReader(data), transcript.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Entries) != 4 || len(withoutPasses(f.Entries)) != 2 {
		t.Errorf("%d entries, %d of them to be summarized", len(f.Entries), len(withoutPasses(f.Entries)))
	}
}
