package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestBranchDryRunSaysWhatHappens: what a dry run tells is what the command then
// does, and afterwards the session is sound and stands at the new place.
func TestBranchDryRunSaysWhatHappens(t *testing.T) {
	data := longSession(12, 3)
	for _, target := range []string{"a11", "u7", "r6", "x3", "e9", "u1", "root", "a12"} {
		for _, summarize := range []string{"--summarize", "--summarize=false"} {
			file := filepath.Join(t.TempDir(), "s.jsonl")
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			var said, did branchReport
			for _, r := range []*branchReport{&said, &did} {
				args := []string{"branch", summarize, "--json", file, target}
				if r == &said {
					args = append(args, "--dry-run")
				}
				out, _ := run(t, exitDone, args...)
				if err := json.Unmarshal([]byte(out), r); err != nil {
					t.Fatal(err)
				}
				if now, err := os.ReadFile(file); err != nil || r == &said && len(now) != len(data) {
					t.Errorf("a dry run writes (%v)", err)
				}
			}
			if !said.DryRun || did.DryRun || said.To != did.To {
				t.Errorf("%+v\n%+v", said, did)
			}
			if did.To != did.From {
				out, _ := run(t, exitDone, "context", "--json", file)
				var now contextReport
				if err := json.Unmarshal([]byte(out), &now); err != nil {
					t.Fatal(err)
				}
				if now.Leaf != did.Leaf || now.Tokens != did.Tokens || len(now.Messages) != did.Messages {
					t.Errorf("%s: the context has %d tokens in %d messages, and branch says %d in %d", target, now.Tokens, len(now.Messages), did.Tokens, did.Messages)
				}
				run(t, exitDone, "verify", file)
			}
			said.DryRun, did.Leaf, did.Entries, said.Leaf = false, "", nil, ""
			if !reflect.DeepEqual(said, did) {
				t.Errorf("%s %s: a dry run says\n%+v\nand it was\n%+v", target, summarize, said, did)
			}
		}
	}
}
