package jsonl_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// goldens returns the session files that have answers of pi beside them: the
// project's own, and those of the corpus where it is present.
func goldens(t *testing.T) []string {
	t.Helper()
	files, _ := filepath.Glob("../../testdata/pi/*.golden.json")
	corpus := os.Getenv("CLEW_CORPUS")
	if corpus == "" {
		corpus = "../../../shared/corpus"
	}
	more, _ := filepath.Glob(filepath.Join(corpus, "pi-fuzz", "*.golden.json"))
	if len(more) == 0 && os.Getenv("CLEW_CORPUS") != "" {
		t.Fatalf("CLEW_CORPUS=%s holds no pi-fuzz/*.golden.json", corpus)
	}
	t.Logf("%d files of this repository, %d of the corpus", len(files), len(more))
	if len(files)+len(more) == 0 {
		t.Skip("no answers of pi here")
	}
	return append(files, more...)
}

type golden struct {
	Leaves []struct {
		Leaf           string
		Path           int
		ContextEntries []string
		Messages       [][2]any
		ThinkingLevel  string
		Model          *struct{ Provider, ModelID string }
	}
}

// The context of every leaf consists of the entries and roles that pi gives.
func TestContextIsThatOfPi(t *testing.T) {
	leaves := 0
	for _, file := range goldens(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var g golden
		if err := json.Unmarshal(data, &g); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		ctx := context.Background()
		f, err := jsonl.Open(ctx, strings.TrimSuffix(file, ".golden.json")+".jsonl", jsonl.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		positions := map[string]string{} // in files without ids pi's are random: "@17" stands for the 17th entry
		n := 0
		for e, err := range f.All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			positions["@"+itoa(n)] = e.ID
			n++
		}
		id := func(s string) string {
			if p, ok := positions[s]; ok {
				return p
			}
			return s
		}
		for _, l := range g.Leaves {
			leaves++
			path, err := session.Path(ctx, f, id(l.Leaf))
			if err != nil {
				t.Fatal(err)
			}
			if len(path) != l.Path {
				t.Errorf("%s leaf %s: path of %d entries, pi has %d", file, l.Leaf, len(path), l.Path)
			}
			c, err := session.ContextAt(ctx, f, id(l.Leaf))
			if err != nil {
				t.Fatal(err)
			}
			var got, want, roles, wantRoles []string
			for _, e := range c.Active {
				got = append(got, e.ID)
			}
			for _, e := range l.ContextEntries {
				want = append(want, id(e))
			}
			for _, it := range c.Items {
				roles = append(roles, string(it.Message.Role))
			}
			for _, m := range l.Messages {
				wantRoles = append(wantRoles, m[0].(string))
			}
			if a, b := strings.Join(got, " "), strings.Join(want, " "); a != b {
				t.Errorf("%s leaf %s: entries\n%s\npi has\n%s", file, l.Leaf, a, b)
			}
			if a, b := strings.Join(roles, " "), strings.Join(wantRoles, " "); a != b {
				t.Errorf("%s leaf %s: roles\n%s\npi has\n%s", file, l.Leaf, a, b)
			}
			m, level, err := session.Settings(ctx, f, id(l.Leaf))
			if err != nil || level != l.ThinkingLevel || l.Model != nil && (m.Provider != l.Model.Provider || m.ID != l.Model.ModelID) {
				t.Errorf("%s leaf %s: model %v level %q, pi has %v %q (%v)", file, l.Leaf, m, level, l.Model, l.ThinkingLevel, err)
			}
		}
		f.Close()
	}
	t.Logf("%d leaves compared", leaves)
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }
