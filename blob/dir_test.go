package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/blob"
)

// tree lists what is in a folder: paths with modes of folders and files.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		fmt.Fprintln(&b, info.Mode(), filepath.ToSlash(rel))
		return err
	})
	must(t, err)
	return b.String()
}

func putText(t testing.TB, s blob.Store, text string) blob.ID {
	t.Helper()
	id, err := s.Put(ctx, strings.NewReader(text))
	must(t, err)
	return id
}

func getText(t testing.TB, s blob.Store, id blob.ID) string {
	t.Helper()
	p, err := read(s, id)
	must(t, err)
	return string(p)
}

func read(s blob.Store, id blob.ID) ([]byte, error) {
	r, err := s.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func TestDirLayout(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes mean little on Windows")
	}
	base := t.TempDir()
	d := openDir(t, filepath.Join(base, "a", "b"))
	id := putText(t, d, "hello")
	const hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	if id.String() != "sha256-"+hello {
		t.Errorf("the address is %v", id)
	}
	want := "drwx------ a\ndrwx------ a/b\ndrwx------ a/b/2c\n-rw------- a/b/2c/sha256-" + hello + "\ndrwx------ a/b/tmp\n"
	if got := tree(t, base); got != want {
		t.Errorf("there is\n%swant\n%s", got, want)
	}
}

// Without content there is no folder.
func TestDirIsMadeWhenNeeded(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	d := openDir(t, filepath.Join(base, "a", "b"))
	id := blob.IDOf([]byte("hello"))
	if _, err := d.Open(ctx, id); !errors.Is(err, blob.ErrNotFound) {
		t.Error(err)
	}
	if _, err := d.Stat(ctx, id); !errors.Is(err, blob.ErrNotFound) {
		t.Error(err)
	}
	must(t, d.Delete(ctx, id))
	must(t, d.RemoveAll(ctx))
	for info, err := range d.List(ctx) {
		t.Errorf("%+v, %v", info, err)
	}
	if got := tree(t, base); got != "" {
		t.Errorf("there is\n%s", got)
	}
	for range 2 { // a folder that goes comes back
		putText(t, d, "hello")
		getText(t, d, id)
		must(t, os.RemoveAll(filepath.Join(base, "a")))
		if _, err := d.Open(ctx, id); !errors.Is(err, blob.ErrNotFound) {
			t.Error(err)
		}
	}
	putText(t, d, "hello")
	must(t, d.RemoveAll(ctx))
	if got := tree(t, base); !strings.HasSuffix(got, " a\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("there is\n%s", got)
	}
}

func TestOpenDirRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, []byte("mine"), 0o600))
	for _, c := range []struct {
		path string
		want string
	}{
		{"", "no folder is named"},
		{file, file + " should be a folder and is a file"},
	} {
		_, err := blob.OpenDir(c.path)
		var rich *blob.Error
		if !errors.As(err, &rich) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	// A path through a file is a path to nothing on Windows, and fails later.
	if _, err := blob.OpenDir(filepath.Join(file, "x")); err == nil && runtime.GOOS != "windows" {
		t.Error("a path through a file is accepted")
	}
	// What is in the way of the folder later is an error then.
	d := openDir(t, filepath.Join(t.TempDir(), "later"))
	must(t, os.WriteFile(mustAbs(t, d), []byte("mine"), 0o600))
	if _, err := d.Put(ctx, strings.NewReader("x")); !blob.KeepInline(err) {
		t.Errorf("error %v", err)
	}
}

// mustAbs returns the path that a store names in its errors.
func mustAbs(t testing.TB, d *blob.Dir) string {
	t.Helper()
	_, err := d.Put(ctx, nil)
	var rich *blob.Error
	if !errors.As(err, &rich) {
		t.Fatal(err)
	}
	must(t, d.RemoveAll(ctx))
	return rich.Subject
}

// Whatever became of a file, reading it to the end says so; storing the content
// again mends it.
func TestDirNoticesDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openDir(t, dir)
	text := strings.Repeat("0123456789", 20_000)
	id := putText(t, d, text)
	path := contentPath(dir, id)
	for name, damaged := range map[string]string{
		"first bit": "1" + text[1:],
		"last bit":  text[:len(text)-1] + "8",
		"shorter":   text[:len(text)-1],
		"longer":    text + "0",
		"empty":     "",
		"one chunk": text[:64<<10],
	} {
		must(t, os.WriteFile(path, []byte(damaged), 0o600))
		p, err := read(d, id)
		var rich *blob.Error
		if !errors.Is(err, blob.ErrCorrupt) || !errors.As(err, &rich) || rich.Subject != id.String() || rich.Hint == "" || string(p) != damaged {
			t.Errorf("%s: %d bytes, error %v", name, len(p), err)
		}
		if got := putText(t, d, text); got != id || getText(t, d, id) != text {
			t.Errorf("%s: storing it again did not mend it", name)
		}
	}
}

// Neither reading nor writing follows a symbolic link, to wherever it leads.
func TestDirFollowsNoLinks(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"outside", "inside"} {
		t.Run(where, func(t *testing.T) {
			base := t.TempDir()
			dir := filepath.Join(base, "store")
			outside := filepath.Join(base, "outside")
			if where == "inside" {
				outside = filepath.Join(dir, "zz")
			}
			must(t, os.MkdirAll(outside, 0o700))
			must(t, os.Mkdir(filepath.Join(outside, "folder"), 0o700))
			secret := filepath.Join(outside, "secret")
			text := "the content itself, so that its hash does not give the link away"
			must(t, os.WriteFile(secret, []byte(text), 0o600))
			id := blob.IDOf([]byte(text))
			untouched := tree(t, outside)

			link := func(to, at string) {
				t.Helper()
				must(t, os.MkdirAll(filepath.Dir(at), 0o700))
				rel, err := filepath.Rel(filepath.Dir(at), to)
				must(t, err)
				if err := os.Symlink(rel, at); err != nil {
					t.Skip("no symbolic links here: ", err)
				}
			}
			d := openDir(t, dir)
			refusedEverywhere := func(what string) {
				t.Helper()
				if _, err := d.Open(ctx, id); !errors.Is(err, blob.ErrCorrupt) || !strings.Contains(err.Error(), "is a symbolic link") {
					t.Errorf("open, %s: %v", what, err)
				}
				if _, err := d.Stat(ctx, id); !errors.Is(err, blob.ErrCorrupt) {
					t.Errorf("stat, %s: %v", what, err)
				}
				var errs []error
				for _, err := range d.List(ctx) {
					errs = append(errs, err)
				}
				if len(errs) != 1 || errs[0] == nil || !strings.Contains(errs[0].Error(), "is a symbolic link") {
					t.Errorf("list, %s: %v", what, errs)
				}
			}

			// In the place of a file.
			link(secret, contentPath(dir, id))
			refusedEverywhere("file")
			putText(t, d, text)
			if info, err := os.Lstat(contentPath(dir, id)); err != nil || !info.Mode().IsRegular() {
				t.Errorf("put leaves the link: %v, %v", info.Mode(), err)
			}
			must(t, d.Delete(ctx, id))
			link(secret, contentPath(dir, id))
			must(t, d.Delete(ctx, id))
			if _, err := os.Lstat(contentPath(dir, id)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("delete leaves the link: %v", err)
			}

			// In the place of a folder.
			must(t, os.Rename(secret, filepath.Join(outside, id.String())))
			untouched2 := tree(t, outside)
			shard := filepath.Dir(contentPath(dir, id))
			must(t, os.RemoveAll(shard))
			link(outside, shard)
			refusedEverywhere("folder")
			if _, err := d.Put(ctx, strings.NewReader(text)); !blob.KeepInline(err) || !strings.Contains(err.Error(), "is a symbolic link") {
				t.Errorf("put through a folder: %v", err)
			}
			if err := d.Delete(ctx, id); !errors.Is(err, blob.ErrCorrupt) {
				t.Errorf("delete through a folder: %v", err)
			}
			if err := d.RemoveAll(ctx); err == nil || !strings.Contains(err.Error(), "other files") {
				t.Errorf("remove all: %v", err)
			}
			if got := tree(t, outside); got != untouched2 {
				t.Errorf("there is\n%swas\n%s", got, untouched2)
			}
			must(t, os.Rename(filepath.Join(outside, id.String()), secret))
			must(t, os.Remove(shard))

			// In the place of the folder for temporary files.
			must(t, os.RemoveAll(filepath.Join(dir, "tmp")))
			link(filepath.Join(outside, "folder"), filepath.Join(dir, "tmp"))
			must(t, os.WriteFile(filepath.Join(outside, "folder", "part-old"), nil, 0o600))
			must(t, os.Chtimes(filepath.Join(outside, "folder", "part-old"), time.Unix(1, 0), time.Unix(1, 0)))
			if _, err := d.Put(ctx, strings.NewReader(text)); !blob.KeepInline(err) || !strings.Contains(err.Error(), "is a symbolic link") {
				t.Errorf("put with a linked folder: %v", err)
			}
			_ = d.RemoveAll(ctx) // it reports what is left
			must(t, os.Remove(filepath.Join(outside, "folder", "part-old")))
			if got := tree(t, outside); got != untouched {
				t.Errorf("there is\n%swas\n%s", got, untouched)
			}
		})
	}
}

// A link in the place of the folder is refused, when the store is opened and later: who can
// put one beside a session must not choose where we write. A link above it is followed, as
// when the data folder is on another disk. Issue 11, defect 1.
func TestDirRefusesALinkInItsPlace(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	disk, link := filepath.Join(base, "disk"), filepath.Join(base, "link")
	putText(t, openDir(t, disk), "hello")
	early := openDir(t, link)
	cache, err := blob.OpenCache(link)
	must(t, err)
	if err := os.Symlink("disk", link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	untouched := tree(t, disk)
	id := blob.IDOf([]byte("hello"))
	put := func(d *blob.Dir, text string) error { _, err := d.Put(ctx, strings.NewReader(text)); return err }
	for name, do := range map[string]func() error{
		"open":  func() error { _, err := blob.OpenDir(link); return err },
		"cache": func() error { _, err := blob.OpenCache(link); return err },
		"put":   func() error { return put(early, "world") },
		"read":  func() error { _, err := read(early, id); return err },
		"stat":  func() error { _, err := early.Stat(ctx, id); return err },
		"list": func() (bad error) {
			for _, err := range early.List(ctx) {
				bad = err
			}
			return bad
		},
		"delete": func() error { return early.Delete(ctx, id) },
		"erase":  func() error { return early.Erase(ctx, id) },
		"remove": func() error { return early.RemoveAll(ctx) },
		"path": func() error {
			_, err := cache.Path(ctx, id, "x", func(context.Context, blob.ID) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader("hello")), nil
			})
			return err
		},
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if got := tree(t, disk); got != untouched {
		t.Errorf("there is\n%swas\n%s", got, untouched)
	}
	below := openDir(t, filepath.Join(link, "below"))
	must(t, put(below, "world"))
}

// Erasing overwrites content and not what a link in its place leads to.
func TestDirErasesNothingThroughALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openDir(t, dir)
	id := putText(t, d, "hello")
	precious := filepath.Join(dir, "precious")
	must(t, os.WriteFile(precious, []byte("hello"), 0o600))
	must(t, os.Remove(contentPath(dir, id)))
	if err := os.Symlink(filepath.Join("..", "precious"), contentPath(dir, id)); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	if err := d.Erase(ctx, id); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
		t.Errorf("error %v", err)
	}
	if got, err := os.ReadFile(precious); err != nil || string(got) != "hello" {
		t.Errorf("it has %q, %v", got, err)
	}
}

// What is no content of ours is neither listed nor counted nor removed.
func TestDirLeavesOtherFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openDir(t, dir)
	id := putText(t, d, "hello")
	shard := filepath.Dir(contentPath(dir, id))
	others := []string{
		filepath.Join(dir, "notes.txt"),
		filepath.Join(dir, "zz", id.String()),
		filepath.Join(dir, "00", id.String()),
		filepath.Join(shard, "notes.txt"),
		filepath.Join(shard, strings.ToUpper(id.String())+"x"),
		filepath.Join(dir, "tmp", "mine"),
	}
	for _, path := range others {
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte("more than the quota has room for"), 0o600))
		must(t, os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)))
	}
	putText(t, d, "world")
	var n int
	for _, err := range d.List(ctx) {
		must(t, err)
		n++
	}
	if n != 2 {
		t.Errorf("%d are listed", n)
	}
	err := d.RemoveAll(ctx)
	if err == nil || !strings.Contains(err.Error(), "other files, like 00/sha256-") {
		t.Errorf("error %v", err)
	}
	for _, path := range others {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%v is gone", path)
		}
	}
	if _, err := d.Stat(ctx, id); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("the content is left: %v", err)
	}
}

// A folder with the name of content is no content, and is not removed.
func TestDirFolderInThePlaceOfAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openDir(t, dir)
	id := blob.IDOf([]byte("hello"))
	must(t, os.MkdirAll(filepath.Join(contentPath(dir, id), "x"), 0o700))
	if _, err := d.Open(ctx, id); !errors.Is(err, blob.ErrCorrupt) || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("open: %v", err)
	}
	if err := d.Delete(ctx, id); !errors.Is(err, blob.ErrCorrupt) {
		t.Errorf("delete: %v", err)
	}
	if _, err := d.Put(ctx, strings.NewReader("hello")); !blob.KeepInline(err) {
		t.Errorf("put: %v", err)
	}
	if _, err := os.Stat(filepath.Join(contentPath(dir, id), "x")); err != nil {
		t.Error(err)
	}
	if left := temps(t, dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	putText(t, d, "world")
}

func temps(t testing.TB, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "tmp", "*"))
	must(t, err)
	return list
}

// A Put removes what a crash left an hour ago.
func TestDirSweepsTemporaryFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Now()
	d := blob.At(openDir(t, dir), func() time.Time { return now })
	putText(t, d, "0123456789")
	old, young := filepath.Join(dir, "tmp", "part-OLD"), filepath.Join(dir, "tmp", "part-YOUNG")
	for path, age := range map[string]time.Duration{old: time.Hour + time.Second, young: time.Hour - time.Second} {
		must(t, os.WriteFile(path, bytes.Repeat([]byte("x"), 40), 0o600))
		must(t, os.Chtimes(path, now.Add(-age), now.Add(-age)))
	}
	putText(t, d, "abcdefghij")
	if left := temps(t, dir); !slices.Equal(left, []string{young}) {
		t.Errorf("%v are left", left)
	}
	now = now.Add(2 * time.Second)
	putText(t, d, strings.Repeat("y", 41))
	if left := temps(t, dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	must(t, os.WriteFile(young, nil, 0o600)) // as if it had just crashed
	must(t, d.RemoveAll(ctx))
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

// Storing content again renews its time, so that who removes what is old does not
// remove it.
func TestDirRenews(t *testing.T) {
	t.Parallel()
	now := time.Date(2040, 5, 6, 7, 8, 0, 0, time.UTC)
	d := blob.At(openDir(t, t.TempDir()), func() time.Time { return now })
	id := putText(t, d, "hello")
	for range 2 {
		now = now.Add(time.Hour)
		putText(t, d, "hello")
		if info, err := d.Stat(ctx, id); err != nil || !info.Stored.Equal(now) {
			t.Errorf("%v, %v, want %v", info.Stored, err, now)
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
