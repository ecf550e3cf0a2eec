package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
)

// migrate turns a file of version 1 or 2 into version 3. A crash at any point
// leaves the old file or the new one under the name; the old one stays as
// FILE.bak.
func (f *File) migrate(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	temp := f.path + ".migrating"
	if err := f.fs.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	info, err := f.f.Stat()
	if err != nil {
		return err
	}
	data := f.legacy.data // with its unfinished end, if it has one: that is cut off next
	err = vfs.WriteNew(f.fs, temp, info.Mode().Perm(), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("can't write the file in the new format: %w", err)
	}
	if err := f.keepBackup(); err != nil {
		_ = f.fs.Remove(temp)
		return fmt.Errorf("can't keep the file in the old format: %w", err)
	}
	_ = f.f.Close() // an open file can't be replaced on Windows
	if err := f.fs.Rename(temp, f.path); err != nil {
		_ = f.fs.Remove(temp)
		if old, oerr := f.fs.OpenFile(f.path, os.O_RDWR|os.O_APPEND, 0); oerr == nil {
			f.f = old
		}
		return err
	}
	if err := f.fs.SyncDir(filepath.Dir(f.path)); err != nil {
		return err
	}
	if f.f, err = f.fs.OpenFile(f.path, os.O_RDWR|os.O_APPEND, 0); err != nil {
		return err
	}
	// The index was made on the same bytes; only the place to read them changes.
	f.x.r, f.x.back.r = f.f, f.f
	f.size = int64(len(data))
	f.legacy = nil
	f.version = session.Version
	return nil
}

// keepBackup gives the file a second name, FILE.bak or FILE.bak2 and so on.
func (f *File) keepBackup() error {
	for n := 1; n < 1000; n++ {
		name := f.path + ".bak"
		if n > 1 {
			name = fmt.Sprintf("%s.bak%d", f.path, n)
		}
		err := f.fs.Link(f.path, name)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, fs.ErrExist):
			continue
		}
		// A file system without links: a copy.
		err = vfs.WriteNew(f.fs, name, 0o600, func(w io.Writer) error {
			info, err := f.f.Stat()
			if err != nil {
				return err
			}
			_, err = io.Copy(w, io.NewSectionReader(f.f, 0, info.Size()))
			return err
		})
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return errors.New("too many backups of it")
}
