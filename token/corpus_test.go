package token_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// corpusDir returns the folder with recorded sessions. It skips the test where
// there is none, and fails it where one was promised.
func corpusDir(t testing.TB) string {
	t.Helper()
	dir := corpusRoot()
	_, promised := os.LookupEnv("CLEW_CORPUS")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) == 0 {
		if promised {
			t.Fatalf("CLEW_CORPUS is %q, and there is nothing: %v", dir, err)
		}
		t.Skip("no recorded sessions: set CLEW_CORPUS to their folder")
	}
	return dir
}

func corpusRoot() string {
	if dir, ok := os.LookupEnv("CLEW_CORPUS"); ok {
		return dir
	}
	return filepath.Join("..", "..", "shared", "corpus")
}

func glob(t testing.TB, parts ...string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// open opens a session file for reading, whatever its version.
func open(t testing.TB, path string) *jsonl.File {
	t.Helper()
	f, err := jsonl.Open(context.Background(), path, jsonl.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// entryID resolves "@k", the k-th entry after the header, for files whose entries
// have no ids of their own.
func entryID(t testing.TB, s session.Store, id string) string {
	t.Helper()
	index, ok := strings.CutPrefix(id, "@")
	if !ok {
		return id
	}
	want, err := strconv.Atoi(index)
	if err != nil {
		t.Fatal(err)
	}
	k := 0
	for e, err := range s.All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if k == want {
			return e.ID
		}
		k++
	}
	t.Fatalf("there is no entry %s", id)
	return ""
}

// project returns the messages of the context at a leaf, and the index of the
// first that stands after the last pass or edit.
func project(t testing.TB, s session.Store, leaf string) (msgs []*message.Message, fresh int) {
	t.Helper()
	c, err := session.ContextAt(context.Background(), s, leaf)
	if err != nil {
		t.Fatal(err)
	}
	fresh = len(c.Items)
	for i, it := range c.Items {
		msgs = append(msgs, it.Message)
		if it.At >= c.Boundary && i < fresh {
			fresh = i
		}
	}
	return msgs, fresh
}
