package jsonl_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/session/storetest"
)

var testHeader = session.Header{ID: "test-session", Timestamp: time.UnixMilli(1_700_000_000_123), Cwd: "/home/user/project"}

func TestFile(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		return storetest.Subject{
			Open: func(t *testing.T) session.Store {
				f, err := jsonl.Create(context.Background(), path, testHeader, jsonl.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return f
			},
			Reopen: func(t *testing.T) session.Store { return open(t, path) },
		}
	})
}

// open opens a session for writing.
func open(t testing.TB, path string) *jsonl.File {
	t.Helper()
	f, err := jsonl.Open(context.Background(), path, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// look opens a session for reading only.
func look(t testing.TB, path string) *jsonl.File {
	t.Helper()
	f, err := jsonl.Open(context.Background(), path, jsonl.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
