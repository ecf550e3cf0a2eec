package blob_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clew-dev/clew/blob"
)

// A disk that can't be read at any one place is reported, never taken for content
// that is not there, and loses nothing.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for _, sc := range []struct {
		name string
		do   func(d *blob.Dir) error
		// mends says that the operation has another way to come to the same.
		mends bool
	}{
		{"open", func(d *blob.Dir) error {
			p, err := read(d, blob.IDOf([]byte(resident)))
			if err == nil && string(p) != resident {
				return errors.New("something else was read")
			}
			return err
		}, false},
		{"stat", func(d *blob.Dir) error {
			_, err := d.Stat(ctx, blob.IDOf([]byte(resident)))
			return err
		}, false},
		{"list", func(d *blob.Dir) error {
			var bad error
			n := 0
			for _, err := range d.List(ctx) {
				if n++; err != nil {
					bad = err
				}
			}
			if bad == nil && n != 3 {
				return fmt.Errorf("%d are listed", n)
			}
			return bad
		}, false},
		{"delete", func(d *blob.Dir) error { return d.Delete(ctx, blob.IDOf([]byte(resident))) }, false},
		{"put", func(d *blob.Dir) error {
			_, err := d.Put(ctx, strings.NewReader("new"))
			return err
		}, true},
		{"put what is there", func(d *blob.Dir) error {
			_, err := d.Put(ctx, strings.NewReader(resident))
			return err
		}, true},
	} {
		t.Run(sc.name, func(t *testing.T) {
			failed := 0
			for n := 1; ; n++ {
				dir := t.TempDir()
				plain := blob.Wrap(openDir(t, dir), blob.NoSync)
				for _, text := range []string{"one", "another", resident} {
					putText(t, plain, text)
				}
				step, what := 0, ""
				d := blob.Wrap(openDir(t, dir), func(f blob.Files) blob.Files {
					return blob.Unreadable(blob.NoSync(f), func(op, name string) error {
						if step++; step != n {
							return nil
						}
						what = op + " " + name
						return &fs.PathError{Op: op, Path: name, Err: syscall.EIO}
					})
				})
				err := sc.do(d)
				if what == "" {
					must(t, err)
					break
				}
				var rich *blob.Error
				switch {
				case err == nil && !sc.mends:
					t.Errorf("%s fails and nobody says so", what)
				case err == nil:
					checkWhole(t, what, dir)
				case !errors.As(err, &rich) || !errors.Is(err, syscall.EIO) || errors.Is(err, blob.ErrNotFound):
					t.Errorf("%s: error %v", what, err)
				default:
					failed++
				}
				if getText(t, plain, blob.IDOf([]byte(resident))) != resident {
					t.Errorf("%s: other content is gone", what)
				}
			}
			if failed == 0 {
				t.Error("nothing failed; the test tests nothing")
			}
		})
	}
}

// A file that is exchanged for another between looking at it and opening it is not
// read.
func TestExchangedWhileOpening(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := putText(t, openDir(t, dir), "hello")
	path := contentPath(dir, id)
	d := blob.Wrap(openDir(t, dir), func(f blob.Files) blob.Files {
		return blob.CountReads(f, func() {
			must(t, os.Rename(path, path+".old"))
			if err := os.Symlink(filepath.Base(path)+".new", path); err != nil {
				t.Skip("no symbolic links here: ", err)
			}
			must(t, os.WriteFile(path+".new", []byte("secret"), 0o600))
		})
	})
	if r, err := d.Open(ctx, id); !errors.Is(err, blob.ErrCorrupt) || !strings.Contains(err.Error(), "exchanged") {
		t.Errorf("%v, %v", r, err)
	}
}

// What the system forbids is said as such.
func TestDenied(t *testing.T) {
	t.Parallel()
	if os.Geteuid() <= 0 {
		t.Skip("root and Windows may do anything")
	}
	base := t.TempDir()
	must(t, os.Chmod(base, 0o500))
	d := openDir(t, filepath.Join(base, "store"))
	if _, err := d.Put(ctx, strings.NewReader("x")); !errors.Is(err, blob.ErrDenied) || !blob.KeepInline(err) {
		t.Errorf("error %v", err)
	}
	must(t, os.Chmod(base, 0o700))
	id := putText(t, d, "x")
	must(t, os.Chmod(contentPath(filepath.Join(base, "store"), id), 0))
	if _, err := d.Open(ctx, id); !errors.Is(err, blob.ErrDenied) {
		t.Errorf("error %v", err)
	}
	putText(t, d, "x") // replaces what can't be read
	getText(t, d, id)
}

// A consumer may stop at an error, and cancelling ends the list.
func TestListStops(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openDir(t, dir)
	for _, text := range []string{"one", "another"} {
		id := putText(t, d, text)
		must(t, os.Remove(contentPath(dir, id)))
		must(t, os.Mkdir(contentPath(dir, id), 0o700))
	}
	n := 0
	for info, err := range d.List(ctx) {
		if n++; err == nil || info.ID.IsZero() {
			t.Errorf("%+v, %v", info, err)
		}
		break
	}
	if n != 1 {
		t.Errorf("%d are listed", n)
	}
	var m blob.Memory
	r, err := m.Open(ctx, putText(t, &m, "x"))
	must(t, err)
	must(t, r.Close())
	if _, err := r.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("error %v", err)
	}
}
