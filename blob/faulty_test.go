package blob

import (
	"io/fs"

	"github.com/clew-dev/clew/internal/vfs"
)

type faulty struct {
	files
	fault *vfs.Fault
	step  func(op, name string) (short int, err error)
}

func (f faulty) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	return f.fault.OpenFile(name, flag, perm)
}
func (f faulty) Rename(from, to string) error { return f.fault.Rename(from, to) }
func (f faulty) Remove(name string) error     { return f.fault.Remove(name) }
func (f faulty) SyncDir(dir string) error     { return f.fault.SyncDir(dir) }

func (f faulty) Mkdir(name string, perm fs.FileMode) error {
	if _, err := f.step("mkdir", name); err != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: err}
	}
	return f.files.Mkdir(name, perm)
}

// noSync is Files that makes nothing durable: tests of what is stored need not wait
// for the disk.
type noSync struct{ files }

type noSyncFile struct{ vfs.File }

func (noSyncFile) Sync() error { return nil }

func (noSync) SyncDir(string) error { return nil }

func (n noSync) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := n.files.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return noSyncFile{f}, nil
}

// NoSync is for Wrap.
func NoSync(under Files) Files { return noSync{under} }

// CountReads is Files that says when a file is opened for reading.
func CountReads(under Files, count func()) Files { return counting{under, count} }

type counting struct {
	files
	count func()
}

func (c counting) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	if flag == 0 { // os.O_RDONLY
		c.count()
	}
	return c.files.OpenFile(name, flag, perm)
}

// Unreadable is Files in which looking and reading may fail, too.
func Unreadable(under Files, step func(op, name string) error) Files { return unreadable{under, step} }

type unreadable struct {
	files
	step func(op, name string) error
}

func (u unreadable) Lstat(name string) (fs.FileInfo, error) {
	if err := u.step("lstat", name); err != nil {
		return nil, err
	}
	return u.files.Lstat(name)
}

func (u unreadable) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := u.step("readdir", name); err != nil {
		return nil, err
	}
	return u.files.ReadDir(name)
}

func (u unreadable) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	if flag == 0 { // os.O_RDONLY
		if err := u.step("open", name); err != nil {
			return nil, err
		}
	}
	f, err := u.files.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return unreadableFile{f, name, u.step}, nil
}

type unreadableFile struct {
	vfs.File
	name string
	step func(op, name string) error
}

func (u unreadableFile) Read(p []byte) (int, error) {
	if err := u.step("read", u.name); err != nil {
		return 0, err
	}
	return u.File.Read(p)
}

func (u unreadableFile) Stat() (fs.FileInfo, error) {
	if err := u.step("fstat", u.name); err != nil {
		return nil, err
	}
	return u.File.Stat()
}
