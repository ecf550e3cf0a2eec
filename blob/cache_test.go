package blob_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clew-dev/clew/blob"
)

// A shelf is a cache, its source, and how often that was asked.
type shelf struct {
	*blob.Cache
	dir   string
	from  blob.Source
	store *blob.Memory
	asked atomic.Int32
	read  atomic.Int32 // files opened in the cache
}

func newShelf(t testing.TB, now func() time.Time) *shelf {
	t.Helper()
	s := &shelf{dir: filepath.Join(t.TempDir(), "a", "cache"), store: new(blob.Memory)}
	s.from = func(ctx context.Context, id blob.ID) (io.ReadCloser, error) {
		s.asked.Add(1)
		return s.store.Open(ctx, id)
	}
	c, err := blob.OpenCache(s.dir)
	must(t, err)
	blob.At(c, now)
	s.Cache = blob.Wrap(c, func(f blob.Files) blob.Files {
		return blob.CountReads(blob.NoSync(f), func() { s.read.Add(1) })
	})
	return s
}

// path gets a path and checks what is there.
func (s *shelf) path(t testing.TB, id blob.ID, hint, want string) string {
	t.Helper()
	path, err := s.Path(ctx, id, hint, s.from)
	must(t, checkPath(path, err, want))
	if path != filepath.Join(s.dir, blob.FileName(id, hint)) || !filepath.IsAbs(path) {
		t.Errorf("the path is %s", path)
	}
	return path
}

func TestCache(t *testing.T) {
	t.Parallel()
	s := newShelf(t, time.Now)
	id := putText(t, s.store, "hello")
	if got := tree(t, filepath.Dir(filepath.Dir(s.dir))); got != "" {
		t.Errorf("before it is needed there is\n%s", got)
	}
	path := s.path(t, id, "src/hello.go", "hello")
	s.path(t, id, "src/hello.go", "hello")
	if n := s.asked.Load(); n != 1 {
		t.Errorf("the source was asked %d times", n)
	}
	want := "drwx------ cache\n-rw------- cache/hello-2cf24dba5fb0a30e.go\ndrwx------ cache/tmp\n"
	if got := tree(t, filepath.Dir(s.dir)); got != want && runtime.GOOS != "windows" {
		t.Errorf("there is\n%s", got)
	}

	// Whatever is done to the file or the folder, the content comes back.
	for name, harm := range map[string]func(){
		"removed":          func() { must(t, os.Remove(path)) },
		"emptied":          func() { must(t, os.Truncate(path, 0)) },
		"changed":          func() { must(t, os.WriteFile(path, []byte("HELLO"), 0o600)) },
		"longer":           func() { must(t, os.WriteFile(path, []byte("hello, world"), 0o600)) },
		"exchanged":        func() { must(t, os.Remove(path)); must(t, os.WriteFile(path, []byte("HELLO"), 0o600)) },
		"with its folder":  func() { must(t, os.RemoveAll(s.dir)) },
		"without old temp": func() { must(t, os.RemoveAll(filepath.Join(s.dir, "tmp"))); must(t, os.Remove(path)) },
	} {
		before := s.asked.Load()
		harm()
		s.path(t, id, "src/hello.go", "hello")
		if n := s.asked.Load(); n != before+1 {
			t.Errorf("%s: the source was asked %d times", name, n-before)
		}
	}
	if left := temps(t, s.dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// A file that stands as it was when it was last read is not read again; one that is
// young is, for its time might not show a change.
func TestCacheReadsAgainWhatMayHaveChanged(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := newShelf(t, func() time.Time { return now })
	id := putText(t, s.store, "hello")
	path := s.path(t, id, "x", "hello")
	reads := func(what string, want int32) {
		t.Helper()
		s.read.Store(0)
		s.path(t, id, "x", "hello")
		if n := s.read.Load(); n != want {
			t.Errorf("%s: %d reads, want %d", what, n, want)
		}
	}
	info, err := os.Stat(path)
	must(t, err)
	now = info.ModTime().Add(time.Second)
	reads("young", 1)
	reads("still young", 1)
	now = now.Add(time.Second)
	reads("old", 1)
	reads("read before", 0)
	// A change of the same size is noticed by its time.
	must(t, os.WriteFile(path, []byte("HELLO"), 0o600))
	must(t, os.Chtimes(path, now.Add(time.Minute), now.Add(time.Minute)))
	reads("changed", 1)
	now = time.Now().Add(time.Hour)
	reads("made again", 1)
	reads("read before", 0)
	// And an exchange by its identity.
	info, err = os.Stat(path)
	must(t, err)
	other := filepath.Join(t.TempDir(), "other")
	must(t, os.WriteFile(other, []byte("HELLO"), 0o600))
	must(t, os.Chtimes(other, info.ModTime(), info.ModTime()))
	must(t, os.Rename(other, path))
	reads("exchanged", 1)
}

func TestCacheFails(t *testing.T) {
	t.Parallel()
	s := newShelf(t, time.Now)
	hello, other := blob.IDOf([]byte("hello")), blob.IDOf([]byte("other"))
	broken := errors.New("the pipe is broken")
	text := func(text string, err error) blob.Source {
		return func(context.Context, blob.ID) (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader(text), readerFunc(func([]byte) (int, error) { return 0, err }))), nil
		}
	}
	for _, c := range []struct {
		name string
		from blob.Source
		is   error
	}{
		{"nobody has it", s.store.Open, blob.ErrNotFound},
		{"the source fails", func(context.Context, blob.ID) (io.ReadCloser, error) { return nil, broken }, broken},
		{"the source breaks", text("hel", broken), broken},
		{"the source ends early", text("hel", io.EOF), blob.ErrCorrupt},
		{"the source has something else", text("other", io.EOF), blob.ErrCorrupt},
	} {
		path, err := s.Path(ctx, hello, "x", c.from)
		var rich *blob.Error
		if path != "" || !errors.Is(err, c.is) || !errors.As(err, &rich) || blob.KeepInline(err) {
			t.Errorf("%s: %q, %v", c.name, path, err)
		}
	}
	if names := glob(t, filepath.Join(s.dir, "*", "*")); len(names) > 0 {
		t.Errorf("%v are left", names)
	}
	path, err := s.Path(ctx, other, "../../x", text("other", io.EOF))
	must(t, checkPath(path, err, "other"))

	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Path(gone, other, "../../x", s.from); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	must(t, checkPath(path, nil, "other"))

	if _, err := blob.OpenCache(""); err == nil {
		t.Error("a cache without a folder")
	}
}

// What stands in the way of a file is replaced, if it is a link, and otherwise
// reported. Neither is written through.
func TestCacheInTheWay(t *testing.T) {
	t.Parallel()
	s := newShelf(t, time.Now)
	id := putText(t, s.store, "hello")
	path := s.path(t, id, "x", "hello")
	precious := filepath.Join(t.TempDir(), "precious")
	for _, text := range []string{"precious", "hello"} {
		must(t, os.WriteFile(precious, []byte(text), 0o600))
		must(t, os.Remove(path))
		if err := os.Symlink(precious, path); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
		s.path(t, id, "x", "hello")
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			t.Errorf("the link is left: %v, %v", info.Mode(), err)
		}
		must(t, checkPath(precious, nil, text))
	}
	must(t, os.Remove(path))
	must(t, os.MkdirAll(filepath.Join(path, "x"), 0o700))
	if _, err := s.Path(ctx, id, "x", s.from); !blob.KeepInline(err) {
		t.Errorf("error %v", err)
	}
	if left := temps(t, s.dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	s.path(t, id, "y", "hello")
}

func TestCacheConcurrent(t *testing.T) {
	t.Parallel()
	s := newShelf(t, time.Now)
	texts := []string{"one", strings.Repeat("two", 50_000), ""}
	for _, text := range texts {
		putText(t, s.store, text)
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for range 5 {
				for _, text := range texts {
					path, err := s.Path(ctx, blob.IDOf([]byte(text)), "same", s.from)
					if err := checkPath(path, err, text); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if names := glob(t, filepath.Join(s.dir, "*.txt")); len(names) != len(texts) {
		t.Errorf("there are %v", names)
	}
}
