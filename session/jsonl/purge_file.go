package jsonl

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
)

// purgeFile replaces one of the session's files by what write writes, in one step,
// and then overwrites the bytes of the old one, under whatever other name it still
// has; unscrubbed is called when that fails. The File can't be used afterwards but
// to be closed.
func (f *File) purgeFile(name string, write func(io.Writer) error, unscrubbed func(error)) error {
	temp := f.real + ".new"
	if err := f.fs.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	info, err := f.fs.Stat(name)
	if err != nil {
		return err
	}
	if err := vfs.WriteNew(f.fs, temp, info.Mode().Perm(), write); err != nil {
		return err
	}
	old, err := f.exchange(name, temp)
	if err != nil {
		_ = f.fs.Remove(temp)
		return err
	}
	if err := f.fs.SyncDir(filepath.Dir(name)); err != nil {
		return err
	}
	if old != nil {
		if err := f.scrub(name, old); err != nil {
			unscrubbed(err)
		}
	}
	return nil
}

// exchange renames temp to name. It returns the old file, to be overwritten; nil
// where it is still in use under the session's name, or the system has no way to
// hold it.
func (f *File) exchange(name, temp string) (old vfs.File, err error) {
	// What another program added meanwhile must not be lost.
	f.mu.Lock()
	size, err := f.look()
	grown := size != f.size
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if grown {
		return nil, &session.Error{Op: "purge", Subject: f.path, Err: session.ErrConflict, Hint: "try again when nothing writes to it"}
	}
	if runtime.GOOS != "windows" && (name == f.real || !f.sameFile(name)) {
		if old, err = f.fs.OpenFile(name, os.O_WRONLY, 0); err != nil {
			return nil, err
		}
	}
	if name == f.real {
		f.mu.Lock()
		_ = f.f.Close() // an open file can't be replaced on Windows
		f.f = nil
		f.mu.Unlock()
	}
	if err := f.fs.Rename(temp, name); err != nil {
		if old != nil {
			_ = old.Close()
		}
		return nil, err
	}
	return old, nil
}

// scrub overwrites a file that has been replaced with what it was replaced by, so
// that what stood in it does not wait on the disk to be found.
func (f *File) scrub(name string, old vfs.File) error {
	defer old.Close()
	now, err := f.fs.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer now.Close()
	n, err := io.Copy(old, now)
	if err != nil {
		return fmt.Errorf("can't overwrite the old bytes: %w", err)
	}
	if err := old.Truncate(n); err != nil {
		return err
	}
	return old.Sync()
}
