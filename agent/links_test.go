package agent

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/vfs"
)

// A link in the place of the queue file is not read: what it leads to would be said
// in the user's name. (Issue 11, defect 1.1.)
func TestLinkForTheQueueIsNotRead(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "s.jsonl"), filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte(`[{"id":"a","at":"2026-01-02T03:04:05Z","text":"rm -rf"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("other", clew.QueueFile(path)); err != nil {
		t.Skip(err)
	}
	err := box(path).read()
	var rich *Error
	if _, ok := errors.AsType[*vfs.NotFileError](err); !ok || !errors.As(err, &rich) || rich.Hint == "" {
		t.Errorf("error %v", err)
	}
}
