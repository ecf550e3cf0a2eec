package vfs

import (
	"errors"
	"io/fs"
	"os"
	"sync"
)

// Fault is a file system whose changing operations can be counted and made to
// fail, for tests. Reading is passed through.
type Fault struct {
	FS
	mu sync.Mutex
	n  int
	// At is called before the n-th changing operation (from 1). A non-nil error
	// is returned instead of doing it; for a write, short bytes of it are
	// written first.
	At func(n int, op, name string) (short int, err error)
	// Short, if not nil, is called after the short bytes of a failing write
	// were written and before the error is returned, so that a test can end
	// its process right there.
	Short func(n int)
}

// Count returns how many changing operations there were.
func (f *Fault) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

func (f *Fault) step(op, name string) (int, error) {
	f.mu.Lock()
	f.n++
	n := f.n
	f.mu.Unlock()
	if f.At == nil {
		return 0, nil
	}
	return f.At(n, op, name)
}

// do counts a changing operation and does it, unless it is to fail.
func (f *Fault) do(op, name string, then func() error) error {
	if _, err := f.step(op, name); err != nil {
		return err
	}
	return then()
}

// OpenFile implements FS; opening counts when it may create the file.
func (f *Fault) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	if flag&os.O_CREATE != 0 {
		if _, err := f.step("create", name); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultFile{file, f, name}, nil
}

// CreateUnnamed counts as a create, and giving the file its name as a link.
func (f *Fault) CreateUnnamed(dir string, perm fs.FileMode) (File, func(string) error, error) {
	u, ok := f.FS.(unnamer)
	if !ok {
		return nil, nil, errors.ErrUnsupported
	}
	if _, err := f.step("create", dir); err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	file, link, err := u.CreateUnnamed(dir, perm)
	if err != nil {
		return nil, nil, err
	}
	return &faultFile{file, f, dir}, func(name string) error {
		return f.do("link", name, func() error { return link(name) })
	}, nil
}

// Rename implements FS.
func (f *Fault) Rename(from, to string) error {
	return f.do("rename", to, func() error { return f.FS.Rename(from, to) })
}

// Remove implements FS.
func (f *Fault) Remove(name string) error {
	return f.do("remove", name, func() error { return f.FS.Remove(name) })
}

// Link implements FS.
func (f *Fault) Link(from, to string) error {
	return f.do("link", to, func() error { return f.FS.Link(from, to) })
}

// SyncDir implements FS.
func (f *Fault) SyncDir(dir string) error {
	return f.do("syncdir", dir, func() error { return f.FS.SyncDir(dir) })
}

type faultFile struct {
	File
	fault *Fault
	name  string
}

func (f *faultFile) Write(p []byte) (int, error) {
	short, err := f.fault.step("write", f.name)
	if err != nil {
		n, _ := f.File.Write(p[:min(short, len(p))])
		if f.fault.Short != nil {
			f.fault.Short(n)
		}
		return n, &fs.PathError{Op: "write", Path: f.name, Err: err}
	}
	return f.File.Write(p)
}

func (f *faultFile) Sync() error {
	return f.fault.do("sync", f.name, f.File.Sync)
}

func (f *faultFile) Truncate(size int64) error {
	return f.fault.do("truncate", f.name, func() error { return f.File.Truncate(size) })
}
