package clew_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/session/jsonl"
)

// A link in the place of the folder for large output is not followed: not to write
// there, to read, or to remove what is in it. (Issue 11, defect 1.1.)
func TestLinkForLargeOutputIsNotFollowed(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	s, err := clew.Open(ctx, path, clew.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, path+".blobs"); err != nil {
		t.Skip(err)
	}
	for name, do := range map[string]func() error{
		"open":   func() error { _, err := clew.Open(ctx, path, clew.Config{}); return err },
		"purge":  func() error { _, err := clew.Purge(ctx, path, jsonl.PurgeOptions{Text: "secret"}); return err },
		"remove": func() error { _, err := clew.RemoveFile(ctx, path); return err },
		"copy": func() error {
			_, err := clew.CopySpilled(ctx, path, filepath.Join(t.TempDir(), "t.jsonl"))
			return err
		},
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), ".blobs: it is a symbolic link or a file") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("%v, %v where the link leads", left, err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error("the session is gone")
	}
}
