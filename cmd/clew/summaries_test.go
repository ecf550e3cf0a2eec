package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
