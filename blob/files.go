package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/vfs"
)

const (
	dirPerm  = 0o700
	filePerm = 0o600
)

// files is a folder and what is in it. Names are relative to it, with slashes, and never lead out of it.
type files interface {
	vfs.FS
	Mkdir(name string, perm fs.FileMode) error
	ReadDir(name string) ([]fs.DirEntry, error) // what is in a folder, by name
	Chtimes(name string, t time.Time) error
	Close() error
}

// rootFiles is files in an os.Root.
type rootFiles struct{ *os.Root }

func (r rootFiles) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := r.Root.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err // not f: a nil *os.File in the interface is not nil
	}
	return f, nil
}

func (r rootFiles) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(r.FS(), name) }

func (r rootFiles) Chtimes(name string, t time.Time) error { return r.Root.Chtimes(name, t, t) }

// SyncDir implements vfs.FS. Windows has no such call and needs none.
func (r rootFiles) SyncDir(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := r.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// A place is a folder that is opened for each operation and made when it is first needed: a session without large
// content has no folder for it, and one that was removed meanwhile comes back. Nothing needs closing.
type place struct {
	path string // absolute
	now  func() time.Time
	wrap func(files) files // stands between us and the file system in tests
}

func newPlace(path string) (place, error) {
	if path == "" {
		return place{}, errors.New("no folder is named")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return place{}, err
	}
	info, err := os.Lstat(abs)
	if err == nil && !info.IsDir() {
		err = notA("folder", abs, info)
	}
	if err != nil && !missing(err) {
		return place{}, err
	}
	return place{path: abs, now: time.Now}, nil
}

// open opens the folder. When it is not there, the error is fs.ErrNotExist. A link to a
// folder is refused: who can put one beside a session would choose where we write.
func (p place) open() (files, error) {
	root, err := os.OpenRoot(p.path)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	var info fs.FileInfo
	if err == nil {
		info, err = os.Lstat(p.path)
	}
	if err == nil && !os.SameFile(opened, info) {
		err = notA("folder", p.path, info)
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	if p.wrap != nil {
		return p.wrap(rootFiles{root}), nil
	}
	return rootFiles{root}, nil
}

// create is open that makes the folder, and those that it is in.
func (p place) create() (files, error) {
	f, err := p.open()
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := makePath(p.path); err != nil {
		return nil, err
	}
	return p.open()
}

func makePath(path string) error {
	parent := filepath.Dir(path)
	err := os.Mkdir(path, dirPerm)
	if errors.Is(err, fs.ErrNotExist) && parent != path {
		if err = makePath(parent); err == nil {
			err = os.Mkdir(path, dirPerm)
		}
	}
	if err == nil {
		if err = (vfs.OS{}).SyncDir(parent); err != nil {
			_ = os.Remove(path) // so that the next attempt makes and syncs it again
		}
		return err
	}
	if info, serr := os.Stat(path); serr == nil && info.IsDir() {
		return nil // someone else was faster
	}
	return err
}

// makeFolder makes a folder in f. A link to a folder is refused.
func makeFolder(f files, name string) error {
	err := f.Mkdir(name, dirPerm)
	if errors.Is(err, fs.ErrExist) {
		err = checkFolder(f, name)
	}
	return err
}

func checkFolder(f files, name string) error {
	info, err := f.Lstat(name)
	if err == nil && !info.IsDir() {
		err = notA("folder", name, info)
	}
	return err
}

// openRegular opens a file that is there, for reading or writing. A link to a file is refused.
func openRegular(f files, name string, flag int) (vfs.File, error) {
	info, err := lstatRegular(f, name)
	if err != nil {
		return nil, err
	}
	file, err := f.OpenFile(name, flag, 0)
	if err != nil {
		return nil, err
	}
	opened, err := file.Stat()
	if err == nil && !os.SameFile(info, opened) {
		err = fmt.Errorf("%w: %s was exchanged while it was opened", ErrCorrupt, name)
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	return file, nil
}

func lstatRegular(f files, name string) (fs.FileInfo, error) {
	info, err := f.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = notA("file", name, info)
	}
	return info, err
}

// notAError says that something has the name of a file or folder of ours and is none.
type notAError struct{ want, name, is string }

func (e *notAError) Error() string {
	return fmt.Sprintf("%s should be a %s and is %s", e.name, e.want, e.is)
}

func notA(want, name string, info fs.FileInfo) error {
	is := "something else"
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		is = "a symbolic link"
	case info.IsDir():
		is = "a folder"
	case info.Mode().IsRegular():
		is = "a file"
	}
	return &notAError{want, name, is}
}

const (
	tempDir    = "tmp"
	tempPrefix = "part-"
	grace      = time.Hour // after its last write a temporary file counts as left by a crash
)

// A temp is a file in the folder tmp that is being written, to be renamed when it is whole.
type temp struct {
	vfs.File
	files files
	path  string // tmp/part-...
	moved bool
}

// takeTemp removes what a crash left, writes what r gives to a temporary file and returns the address of that.
func takeTemp(ctx context.Context, f files, now time.Time, r io.Reader) (*temp, ID, error) {
	if err := makeFolder(f, tempDir); err != nil {
		return nil, ID{}, err
	}
	sweep(f, now.Add(-grace))
	path := tempDir + "/" + tempPrefix + rand.Text()
	file, err := f.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, filePerm)
	if err != nil {
		return nil, ID{}, err
	}
	t := &temp{File: file, files: f, path: path}
	id, err := Copy(ctx, t, r)
	if err != nil {
		t.discard()
	}
	return t, id, err
}

func (t *temp) finish() error { return errors.Join(t.Sync(), t.Close()) }

// move gives the file its name, in the place of what has it now.
func (t *temp) move(to string) error {
	err := t.files.Rename(t.path, to)
	t.moved = err == nil
	return err
}

// discard removes the file, unless it was moved. If that fails, a sweep removes it later.
func (t *temp) discard() {
	_ = t.Close() // again, when it was finished
	if !t.moved {
		_ = t.files.Remove(t.path)
	}
}

// sweep removes temporary files last written to before a time. A writer that is slower than that gets an error.
func sweep(f files, before time.Time) {
	list, err := f.ReadDir(tempDir)
	if err != nil {
		return // making a file in it gives the error
	}
	for _, e := range list {
		info, err := e.Info()
		if err == nil && isTemp(e.Name()) && info.Mode().IsRegular() && info.ModTime().Before(before) {
			_ = f.Remove(tempDir + "/" + e.Name()) // tried again next time
		}
	}
}

func isTemp(name string) bool { return strings.HasPrefix(name, tempPrefix) }

// missing reports whether err says that a file is not there.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
