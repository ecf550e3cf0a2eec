package jsonl

import (
	"context"
	"errors"
	"io"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
)

// CopyTo writes the session to a new file, durably: byte for byte, but as
// version 3 and without an unfinished end. It fails with fs.ErrExist when there
// is a file of that name.
func (f *File) CopyTo(ctx context.Context, path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(ctx); err != nil {
		return err
	}
	err := vfs.Publish(f.fs, path, 0o600, func(w io.Writer) error {
		if _, err := io.Copy(w, io.NewSectionReader(f.x.r, 0, f.end)); err != nil {
			return err
		}
		if f.open {
			_, err := w.Write([]byte{'\n'})
			return err
		}
		return nil
	})
	if err == nil {
		return nil
	}
	err = createError(path, err)
	var rich *session.Error
	if errors.As(err, &rich) {
		rich.Op = "write"
	}
	return err
}
