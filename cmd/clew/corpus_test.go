package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/wire"
)

// corpusFiles returns the files of a part of the corpus of real sessions.
func corpusFiles(t *testing.T, patterns ...string) []string {
	t.Helper()
	root, set := os.LookupEnv("CLEW_CORPUS")
	if !set {
		root = filepath.Join("..", "..", "..", "shared", "corpus")
		if _, err := os.Stat(root); err != nil {
			t.Skip("no corpus here; $CLEW_CORPUS names one")
		}
	}
	var files []string
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(p)))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatalf("the corpus in %s has no %s", root, strings.Join(patterns, " "))
	}
	return files
}

// run runs one command line and returns what it printed.
func run(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := Main(args, strings.NewReader(""), &out, &errOut); code != want {
		t.Fatalf("clew %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, want, &errOut)
	}
	return out.String(), errOut.String()
}

// TestCorpusSessions runs every command that looks at a session on every real
// session, and repairs it: the copy is sound and shows the same context.
func TestCorpusSessions(t *testing.T) {
	files := corpusFiles(t, "sessions/pi/*.jsonl", "pi-golden/*.jsonl", "pi-fuzz/*.jsonl")
	if testing.Short() {
		files = files[min(len(files)-1, 3):][:1] // those before are larger
	}
	unsound := 0
	for _, file := range files {
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var tree treeJSON
		out, _ := run(t, exitDone, "tree", "--all", "--json", file)
		if err := json.Unmarshal([]byte(out), &tree); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(tree.Entries) != tree.Total || tree.Total == 0 {
			t.Errorf("%s: the tree has %d of %d entries", file, len(tree.Entries), tree.Total)
		}
		drawn, _ := run(t, exitDone, "tree", "--all", file)
		if n := strings.Count(drawn, "\n"); n != tree.Total+2 {
			t.Errorf("%s: %d lines for %d entries", file, n, tree.Total)
		}

		var shown contextReport
		out, _ = run(t, exitDone, "context", "--json", file)
		if err := json.Unmarshal([]byte(out), &shown); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if shown.Tokens <= 0 || len(shown.Messages) == 0 {
			t.Errorf("%s: a context of %d tokens in %d messages", file, shown.Tokens, len(shown.Messages))
		}
		run(t, exitDone, "context", "--full", file)
		for _, profile := range wire.ProfileNames() {
			out, _ := run(t, exitDone, "context", "--wire", profile, file)
			if !json.Valid([]byte(out)) {
				t.Errorf("%s for %s: no JSON", file, profile)
			}
		}

		var verified []verifiedFile
		var verdict, complaint bytes.Buffer
		code := Main([]string{"verify", "--json", file}, strings.NewReader(""), &verdict, &complaint)
		if err := json.Unmarshal(verdict.Bytes(), &verified); err != nil || len(verified) != 1 {
			t.Fatalf("%s: %v", file, err)
		}
		if v := verified[0]; v.Sound != (code == exitDone) || v.Entries != tree.Total || v.Error != "" {
			t.Errorf("%s: exit code %d, %+v", file, code, v)
		} else if !v.Sound {
			unsound++
		}

		fixed := filepath.Join(t.TempDir(), "fixed.jsonl")
		run(t, exitDone, "repair", file, "--out", fixed)
		run(t, exitDone, "verify", fixed)
		sent, _ := run(t, exitDone, "context", "--wire", "pi", file)
		sentFixed, _ := run(t, exitDone, "context", "--wire", "pi", fixed)
		if sent != sentFixed {
			t.Errorf("%s: the copy shows another context", file)
		}
		if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s was changed: %v", file, err)
		}
	}
	t.Logf("%d files, %d of them not sound", len(files), unsound)
}

// TestCorpusForeign shows that the session files of other programs are read, and that what
// would change them is refused in one line that names the program.
func TestCorpusForeign(t *testing.T) {
	files := corpusFiles(t, "sessions/*/*")
	n := 0
	for _, file := range files {
		if filepath.Base(filepath.Dir(file)) == "pi" {
			continue
		}
		if n++; testing.Short() && n%18 != 1 {
			continue
		}
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir() // some of the commands remove or write
		name := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(name, before, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"tree"}, {"context"}, {"rm", "--yes"}, {"undo"}, {"compact"}, {"repair", "--out", filepath.Join(dir, "x.jsonl")}} {
			if len(args) == 1 && args[0] != "undo" && args[0] != "compact" {
				if out, complaint := run(t, exitDone, append(args, name)...); out == "" || complaint != "" {
					t.Errorf("%s %s: %q, %q", args[0], file, out, complaint)
				}
			} else if out, complaint := run(t, exitFailed, append(args, name)...); strings.Count(complaint, "\n") != 1 || !strings.HasPrefix(complaint, "clew: "+name+" is a session of ") || out != "" {
				t.Errorf("%s %s: %q, %q", args[0], file, out, complaint)
			}
			after, err := os.ReadFile(name)
			if left, _ := os.ReadDir(dir); err != nil || !bytes.Equal(before, after) || len(left) != 1 {
				t.Errorf("%s %s: the file was changed, or another one left: %v", args[0], file, err)
			}
		}
	}
	t.Logf("%d files of other programs", n)
}
