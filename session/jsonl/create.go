package jsonl

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
)

// Create makes a new session file that holds the header, durably, and opens
// it. It fails with fs.ErrExist when there is a file of that name. Options'
// ReadOnly is ignored.
func Create(ctx context.Context, path string, h session.Header, opt Options) (*File, error) {
	opt.ReadOnly = false
	f := newFile(path, opt)
	if err := f.create(ctx, h); err != nil {
		f.release()
		return nil, createError(path, err)
	}
	return f, nil
}

func (f *File) create(ctx context.Context, h session.Header) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := f.fs.Stat(f.real); err == nil {
		return fs.ErrExist
	}
	// With the lock, so that of two that create the same file one fails.
	if err := f.acquire(); err != nil {
		return err
	}
	err := vfs.Publish(f.fs, f.real, 0o600, func(w io.Writer) error {
		_, err := w.Write(append(h.JSON(), '\n'))
		return err
	})
	if err != nil {
		return err
	}
	if err := f.openPath(ctx); err != nil {
		// It is ours, and nobody has seen it: the lock is still held.
		return errors.Join(err, f.fs.Remove(f.real))
	}
	return nil
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
