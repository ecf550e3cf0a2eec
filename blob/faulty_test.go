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
