package jsonl

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
)

// Create makes a new session file that holds the header, durably, and opens it for writing. It fails with
// fs.ErrExist when there is a file of that name.
func Create(ctx context.Context, path string, h session.Header, opt Options) (*File, error) {
	opt.ReadOnly = false
	f := newFile(path, opt)
	_, err := f.writeNew(ctx, h, nil)
	if err == nil {
		if err = f.openPath(ctx); err != nil {
			// It is ours, and nobody has seen it: the lock is still held.
			err = errors.Join(err, f.fs.Remove(f.real))
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, failed("create", path, err)
	}
	return f, nil
}

// WriteNew makes a new session file of a header and entries, durably, and returns how many entries it wrote. The
// file is there whole or not at all, after a crash too. Entries are written one at a time, so that a session of any
// size can be; where the file system has no links they are asked for twice.
//
// It fails with fs.ErrExist when there is a file of that name, and with session.ErrBadEntry and
// session.ErrDuplicateID for entries that Append would refuse.
func WriteNew(ctx context.Context, path string, h session.Header, entries iter.Seq2[*session.Entry, error], opt Options) (int, error) {
	opt.ReadOnly = false
	f := newFile(path, opt)
	defer f.Close()
	n, err := f.writeNew(ctx, h, entries)
	if err != nil {
		return 0, failed("create", path, err)
	}
	return n, nil
}

func (f *File) writeNew(ctx context.Context, h session.Header, entries iter.Seq2[*session.Entry, error]) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if _, err := f.fs.Stat(f.real); err == nil {
		return 0, fs.ErrExist
	}
	// With the lock, so that of two that create the same file one fails.
	if err := f.acquire(); err != nil {
		return 0, err
	}
	err = publish(f.fs, f.real, func(w *bufio.Writer) error {
		if err := writeLine(w, h.JSON()); err != nil || entries == nil {
			return err
		}
		n, err = writeEntries(ctx, w, entries)
		return err
	})
	return n, err
}

func writeEntries(ctx context.Context, w *bufio.Writer, entries iter.Seq2[*session.Entry, error]) (n int, err error) {
	seen := map[string]bool{}
	for e, err := range entries {
		if err = cmp.Or(err, ctx.Err()); err == nil {
			err = session.CheckAppend(e)
		}
		if err == nil && seen[e.ID] {
			hint := fmt.Sprintf("it is that of an entry before it, so entry %d can't be told from that one", n+1)
			err = &session.Error{Op: "write entry", Subject: e.ID, Err: session.ErrDuplicateID, Hint: hint}
		}
		if err == nil {
			err = writeLine(w, e.Raw())
		}
		if err != nil {
			return n, err
		}
		seen[e.ID] = true
		n++
	}
	return n, nil
}

func writeLine(w *bufio.Writer, raw []byte) error {
	if _, err := w.Write(raw); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// CopyTo writes the session to a new file, durably: byte for byte, but as version 3 and without an unfinished end.
// It fails with fs.ErrExist when there is a file of that name.
func (f *File) CopyTo(ctx context.Context, path string) error {
	return f.locked(ctx, "write", func() error {
		return writeOut(f.fs, path, func(w *bufio.Writer) error {
			_, err := io.Copy(w, io.NewSectionReader(f.x.r, 0, f.end))
			if err == nil && f.open {
				err = w.WriteByte('\n')
			}
			return err
		})
	})
}

func writeOut(fsys vfs.FS, path string, write func(w *bufio.Writer) error) error {
	if err := publish(fsys, path, write); err != nil {
		return failed("write", path, err)
	}
	return nil
}

func publish(fsys vfs.FS, path string, write func(w *bufio.Writer) error) error {
	return vfs.Publish(fsys, path, 0o600, func(to io.Writer) error {
		w := bufio.NewWriterSize(to, 1<<18)
		if err := write(w); err != nil {
			return err
		}
		return w.Flush()
	})
}
