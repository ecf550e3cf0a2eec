package blob

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/clew-dev/clew/internal/vfs"
)

const (
	dirPerm  = 0o700
	filePerm = 0o600
)

var errClosed = fs.ErrClosed

// files is one folder and what is in it. Names are relative to it, with slashes,
// and never lead out of it.
type files interface {
	vfs.FS
	Lstat(name string) (fs.FileInfo, error)
	Mkdir(name string, perm fs.FileMode) error
	// ReadDir returns what is in a folder, by name.
	ReadDir(name string) ([]fs.DirEntry, error)
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

func (r rootFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	d, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return list, err
}

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

// A place is a folder that is opened for each operation and made when it is first
// needed: a session without large content has no folder for it, and one that was
// removed meanwhile comes back. Nothing needs closing.
type place struct {
	path string // absolute
	// wrap stands between us and the file system in tests.
	wrap func(files) files
}

// newPlace checks path as far as that can be done before it is used.
func newPlace(path string) (place, error) {
	if path == "" {
		return place{}, errors.New("no folder is named")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return place{}, err
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return place{}, err
	case !info.IsDir():
		return place{}, errors.New("it is no folder")
	}
	return place{path: abs}, nil
}

// open opens the folder. When it is not there, the error is fs.ErrNotExist.
func (p place) open() (files, error) {
	root, err := os.OpenRoot(p.path)
	if err != nil {
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

// makePath makes a folder durably.
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

// makeFolder makes a folder in f. A link to a folder is none.
func makeFolder(f files, name string) error {
	err := f.Mkdir(name, dirPerm)
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := f.Lstat(name)
	if err == nil && !info.IsDir() {
		err = notA("folder", name, info)
	}
	return err
}

// openRegular opens a file for reading, if it is one and no link to one.
func openRegular(f files, name string) (vfs.File, error) {
	info, err := lstatRegular(f, name)
	if err != nil {
		return nil, err
	}
	file, err := f.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	opened, err := file.Stat()
	if err == nil && !os.SameFile(info, opened) {
		err = fmt.Errorf("%w: %s was exchanged while it was opened", ErrCorrupt, name)
	}
	if err != nil {
		_ = file.Close() // it was only read
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

// notAError says that something has the name of a file or folder of ours and is
// none.
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
