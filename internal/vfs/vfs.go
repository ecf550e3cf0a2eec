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
	Rename(from, to string) error
	Remove(name string) error
	// Link gives a file a second name; it fails when the name is taken.
	Link(from, to string) error
	// SyncDir makes creations and renames in a folder durable.
	SyncDir(dir string) error
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

// Publish is WriteNew for a name under which there must never be a part of the
// file, not even after a crash: it is written as NAME.new first. What stands
// under that name is removed; so two may not publish the same name at once. On a
// file system without links a crash may leave a part after all.
func Publish(fsys FS, name string, perm fs.FileMode, write func(io.Writer) error) error {
	if _, err := fsys.Stat(name); err == nil {
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	temp := name + ".new"
	if err := fsys.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := WriteNew(fsys, temp, perm, write); err != nil {
		return err
	}
	err := fsys.Link(temp, name)
	_ = fsys.Remove(temp)
	if err == nil {
		if err = fsys.SyncDir(filepath.Dir(name)); err != nil {
			_ = fsys.Remove(name)
		}
		return err
	}
	if _, serr := fsys.Stat(name); serr == nil {
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	return WriteNew(fsys, name, perm, write) // a file system without links
}
