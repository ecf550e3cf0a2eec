package jsonl

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
)

// Create makes a new session file that holds the header, durably, and opens
// it. It fails with fs.ErrExist when there is a file of that name. Options'
// ReadOnly is ignored.
func Create(ctx context.Context, path string, h session.Header, opt Options) (*File, error) {
	if opt.FS == nil {
		opt.FS = vfs.OS{}
	}
	opt.ReadOnly = false
	if err := createFile(opt.FS, path, h); err != nil {
		return nil, createError(path, err)
	}
	return Open(ctx, path, opt)
}

// createFile writes the header under another name first, so that a file with
// half a header never has the session's name.
func createFile(fsys vfs.FS, path string, h session.Header) error {
	if _, err := fsys.Stat(path); err == nil {
		return fs.ErrExist
	}
	write := func(w io.Writer) error {
		_, err := w.Write(append(h.JSON(), '\n'))
		return err
	}
	temp := path + ".new"
	if err := fsys.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := vfs.WriteNew(fsys, temp, 0o600, write); err != nil {
		return err
	}
	err := fsys.Link(temp, path)
	_ = fsys.Remove(temp)
	if err == nil {
		return fsys.SyncDir(dirOf(path))
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, os.ErrPermission) && exists(fsys, path) {
		return err
	}
	return vfs.WriteNew(fsys, path, 0o600, write) // a file system without links
}

func exists(fsys vfs.FS, path string) bool {
	_, err := fsys.Stat(path)
	return err == nil
}

func createError(path string, err error) error {
	var rich *session.Error
	if errors.As(err, &rich) {
		return err
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	h := hint(err)
	if errors.Is(err, fs.ErrExist) {
		h = "choose another name; nothing was written"
	}
	return &session.Error{Op: "create", Subject: path, Err: err, Hint: h}
}
