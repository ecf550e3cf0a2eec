package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

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
	temp := f.real + ".migrating"
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
	// What another program added meanwhile must not go with the old file.
	if size, err := f.look(); err != nil || size != f.size {
		_ = f.fs.Remove(temp)
		return err
	}
	return f.replace(temp, int64(len(data)))
}

// replace puts the migrated file in the place of the old one.
func (f *File) replace(temp string, size int64) error {
	_ = f.f.Close() // an open file can't be replaced on Windows
	err := f.fs.Rename(temp, f.real)
	if err != nil {
		_ = f.fs.Remove(temp)
	}
	now, operr := f.fs.OpenFile(f.real, os.O_RDWR|os.O_APPEND, 0)
	if operr != nil {
		f.f, f.broken = nil, fmt.Errorf("it can't be opened again after it was turned into version %d: %w", session.Version, operr)
		return errors.Join(err, f.broken)
	}
	f.f = now
	if err != nil {
		return err
	}
	// The index was made on the same bytes; only the place to read them changes.
	f.x.r, f.x.back.r = f.f, f.f
	f.size = size
	f.problems = slices.DeleteFunc(f.problems, func(p session.Problem) bool { return p.Code != "torn-tail" })
	if h, err := session.ParseHeader(f.header.JSON()); err == nil {
		f.header = h
	}
	f.legacy = nil
	f.version = session.Version
	return f.fs.SyncDir(filepath.Dir(f.real))
}

// keepBackup gives the file a second name, FILE.bak or FILE.bak2 and so on.
func (f *File) keepBackup() error {
	for n := 1; n < 1000; n++ {
		name := f.real + ".bak"
		if n > 1 {
			name = fmt.Sprintf("%s.bak%d", f.real, n)
		}
		if f.sameFile(name) {
			return nil // from an attempt that went no further
		}
		err := f.fs.Link(f.real, name)
		switch {
		case err == nil:
			return f.fs.SyncDir(filepath.Dir(name))
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

func (f *File) sameFile(name string) bool {
	on, err := f.fs.Stat(name)
	held, herr := f.f.Stat()
	return err == nil && herr == nil && os.SameFile(on, held)
}
