// Package vfs is the little of a file system that clew writes through, so that
// tests can make any step of it fail.
package vfs

import (
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

// WriteNew writes a new file durably: all of it or none under that name. It
// fails with fs.ErrExist when the name is taken.
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
