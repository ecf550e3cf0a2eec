// Package vfs is the little of a file system that clew writes through, so that
// tests can make any step of it fail.
package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	Stat() (fs.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

// FS opens and moves files.
type FS interface {
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Stat(name string) (fs.FileInfo, error)
	// Lstat is Stat that does not follow a symbolic link.
	Lstat(name string) (fs.FileInfo, error)
	Rename(from, to string) error
	Remove(name string) error
	// Link gives a file a second name; it fails when the name is taken.
	Link(from, to string) error
	// SyncDir makes creations and renames in a folder durable.
	SyncDir(dir string) error
}

// SameFile is os.SameFile, which knows the files of the operating system alone, for
// any FS: others say by Sys what file it is.
func SameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) || a.Sys() != nil && a.Sys() == b.Sys()
}

// OS is the file system of the operating system.
type OS struct{}

// OpenFile implements FS.
func (OS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err // not f: a nil *os.File in the interface is not nil
	}
	return f, nil
}

// Stat implements FS.
func (OS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// Lstat implements FS.
func (OS) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// Link implements FS.
func (OS) Link(from, to string) error { return os.Link(from, to) }

// SyncDir implements FS. Windows has no such call and needs none.
func (OS) SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// WriteNew writes a new file and syncs it and its folder. It fails with
// fs.ErrExist when the name is taken. An error leaves no file; a crash may
// leave a part of one, see Publish.
func WriteNew(fsys FS, name string, perm fs.FileMode, write func(io.Writer) error) (err error) {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = fsys.Remove(name)
		}
	}()
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = fsys.SyncDir(filepath.Dir(name))
	}
	return err
}

// Replace writes a file under a name that may be taken, so that there is always the old
// one or the new one. It is written as NAME.new first, which is removed on an error, and
// by the next Replace after a crash.
func Replace(fsys FS, name string, perm fs.FileMode, data []byte) error {
	temp := name + ".new"
	if err := RemoveOwn(fsys, temp); err != nil {
		return err
	}
	if err := WriteNew(fsys, temp, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}); err != nil {
		return err
	}
	if err := fsys.Rename(temp, name); err != nil {
		_ = fsys.Remove(temp)
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

// Publish is WriteNew for a name under which there must never be a part of the
// file, not even after a crash. On Linux the file has no name until it is whole,
// so a crash leaves nothing. Elsewhere it is written as NAME.new first, which a
// crash leaves behind and the next Publish of the name removes; so two programs
// must not publish the same name at once. On a file system without links a crash
// may leave a part under the name itself.
func Publish(fsys FS, name string, perm fs.FileMode, write func(io.Writer) error) error {
	taken := &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	if _, err := fsys.Lstat(name); err == nil {
		return taken
	}
	if err := publishUnnamed(fsys, name, perm, write); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	temp := name + ".new"
	if err := RemoveOwn(fsys, temp); err != nil {
		return err
	}
	if err := WriteNew(fsys, temp, perm, write); err != nil {
		return err
	}
	err := fsys.Link(temp, name)
	_ = fsys.Remove(temp)
	if err == nil {
		return syncName(fsys, name)
	}
	if _, serr := fsys.Lstat(name); serr == nil {
		return taken
	}
	return WriteNew(fsys, name, perm, write) // a file system without links
}

// An unnamer is an FS that can create files without a name.
type unnamer interface {
	// CreateUnnamed creates a file in dir; link gives it its first name and fails
	// when that is taken. The error is errors.ErrUnsupported where the system has
	// no such files.
	CreateUnnamed(dir string, perm fs.FileMode) (f File, link func(name string) error, err error)
}

// publishUnnamed is Publish by a file without a name. It fails with
// errors.ErrUnsupported, and leaves nothing, where that is not possible.
func publishUnnamed(fsys FS, name string, perm fs.FileMode, write func(io.Writer) error) error {
	u, ok := fsys.(unnamer)
	if !ok {
		return errors.ErrUnsupported
	}
	f, link, err := u.CreateUnnamed(filepath.Dir(name), perm)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	switch err := link(name); {
	case errors.Is(err, fs.ErrExist):
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	case err != nil:
		return errors.ErrUnsupported
	}
	return syncName(fsys, name)
}

// syncName makes a new name durable, or takes it away.
func syncName(fsys FS, name string) error {
	err := fsys.SyncDir(filepath.Dir(name))
	if err != nil {
		_ = fsys.Remove(name)
	}
	return err
}

// Real returns a path without symbolic links, and as it is written where that is not known.
func Real(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// NotFileError says that a name that is derived from another one, such as
// FILE.lock, is taken by something that is no regular file. Whoever gave us the
// folder, as a cloned repository, may have put a symbolic link there.
type NotFileError struct {
	Name string
	Is   string // what is there: "a symbolic link to ..."
}

func (e *NotFileError) Error() string {
	return e.Name + " is " + e.Is + ", not a file of clew's"
}

// CheckOwn fails with a NotFileError when name is neither free nor a regular file.
func CheckOwn(fsys FS, name string) error {
	info, err := fsys.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return &NotFileError{name, "a folder"}
	case info.Mode()&fs.ModeSymlink == 0:
		return &NotFileError{name, "a device or a pipe"}
	}
	is := "a symbolic link"
	if to, err := os.Readlink(name); err == nil {
		is += " to " + to
	}
	return &NotFileError{name, is}
}

// OpenOwn is OpenFile for a derived name: it opens a regular file or, with
// os.O_CREATE, makes one, and never follows a symbolic link.
func OpenOwn(fsys FS, name string, flag int, perm fs.FileMode) (File, error) {
	if err := CheckOwn(fsys, name); err != nil {
		return nil, err
	}
	return fsys.OpenFile(name, flag|NoFollow, perm)
}

// ReadOwn reads a file with a derived name; see OpenOwn.
func ReadOwn(fsys FS, name string) ([]byte, error) {
	f, err := OpenOwn(fsys, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// RemoveOwn removes a regular file with a derived name. A name that is free is no
// error; what is no file of ours stays, and is one.
func RemoveOwn(fsys FS, name string) error {
	if err := CheckOwn(fsys, name); err != nil {
		return err
	}
	if err := fsys.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
