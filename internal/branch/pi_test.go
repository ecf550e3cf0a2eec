package branch_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/branch"
	"github.com/clew-dev/clew/session/jsonl"
)

// The ancestor and the entries left behind are those of pi, at every leaf. (What is
// told of them is not: pi forgets files and brings omitted text back.)
func TestPiRange(t *testing.T) {
	t.Run("committed", func(t *testing.T) {
		if n := comparePi(t, filepath.Join("..", "..", "testdata", "pi")); n < 60 {
			t.Errorf("%d leaves: too few", n)
		}
	})
	t.Run("corpus", func(t *testing.T) {
		dir, promised := os.LookupEnv("CLEW_CORPUS")
		if !promised {
			dir = filepath.Join("..", "..", "..", "shared", "corpus")
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) == 0 {
			if promised {
				t.Fatalf("CLEW_CORPUS is %q, and there is nothing: %v", dir, err)
			}
			t.Skip("no recorded sessions: set CLEW_CORPUS to their folder")
		}
		comparePi(t, filepath.Join(dir, "pi-fuzz"))
	})
}

func comparePi(t *testing.T, dir string) int {
	files, err := filepath.Glob(filepath.Join(dir, "*.golden.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no answers of pi in %s (%v)", dir, err)
	}
	ctx := context.Background()
	leaves, some, rootless := 0, 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var golden struct {
			Leaves []struct {
				Leaf   string
				Branch struct {
					Target   string
					Ancestor *string
					Entries  []string
				}
			}
		}
		if err := json.Unmarshal(data, &golden); err != nil {
			t.Fatal(err)
		}
		f, err := jsonl.Open(ctx, strings.TrimSuffix(file, ".golden.json")+".jsonl", jsonl.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if f.Version() == 1 {
			f.Close() // ids are made up in different ways
			continue
		}
		for _, l := range golden.Leaves {
			r, err := branch.Collect(ctx, f, l.Leaf, l.Branch.Target)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			var got []string
			for _, e := range r.Entries {
				got = append(got, e.ID)
			}
			want := ""
			if l.Branch.Ancestor != nil {
				want = *l.Branch.Ancestor
			} else {
				rootless++
			}
			if r.Ancestor != want || !slices.Equal(got, l.Branch.Entries) {
				t.Errorf("%s: from %s to %s: ancestor %q, %d entries; pi says %q, %d", filepath.Base(file), l.Leaf, l.Branch.Target, r.Ancestor, len(got), want, len(l.Branch.Entries))
			}
			leaves++
			if len(got) > 0 {
				some++
			}
		}
		f.Close()
	}
	t.Logf("%d files, %d leaves, %d ranges with entries, %d without an ancestor", len(files), leaves, some, rootless)
	return leaves
}
