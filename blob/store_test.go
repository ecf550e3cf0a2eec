package blob_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/blob/blobtest"
)

var ctx = context.Background()

func TestMemory(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, blobtest.Subject{
		New: func(testing.TB) blob.Store { return new(blob.Memory) },
	})
}

func TestDir(t *testing.T) {
	t.Parallel()
	open := func(t testing.TB, path string) blob.Store {
		return dirAt{blob.Wrap(openDir(t, path), blob.NoSync), path}
	}
	blobtest.Run(t, blobtest.Subject{
		New: func(t testing.TB) blob.Store {
			return open(t, filepath.Join(t.TempDir(), "a", "b"))
		},
		Reopen: func(t testing.TB, s blob.Store) blob.Store {
			return open(t, s.(dirAt).path)
		},
		Damage: func(t testing.TB, s blob.Store, id blob.ID) {
			flip(t, contentPath(s.(dirAt).path, id))
		},
	})
}

type dirAt struct {
	*blob.Dir
	path string
}

func openDir(t testing.TB, path string) *blob.Dir {
	t.Helper()
	d, err := blob.OpenDir(path)
	must(t, err)
	return d
}

// contentPath is where the package comment says that content is.
func contentPath(dir string, id blob.ID) string {
	return filepath.Join(dir, id.String()[7:9], id.String())
}

// flip changes one bit in the middle of a file.
func flip(t testing.TB, path string) {
	t.Helper()
	p, err := os.ReadFile(path)
	must(t, err)
	p[len(p)/2] ^= 1
	must(t, os.WriteFile(path, p, 0o600))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
