package jsonl

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
)

// WriteNew makes a new session file of a header and entries, durably, and returns
// how many entries it wrote. The file is there whole or not at all, after a crash
// too. Entries are written one at a time, with their bytes as they are, so that a
// session of any size can be written; where the file system has no links they are
// asked for twice. Options' ReadOnly is ignored.
//
// It fails with fs.ErrExist when there is a file of that name, and with
// session.ErrBadEntry and session.ErrDuplicateID for entries that Append would
// refuse.
func WriteNew(ctx context.Context, path string, h session.Header, entries iter.Seq2[*session.Entry, error], opt Options) (int, error) {
	opt.ReadOnly = false
	f := newFile(path, opt)
	defer f.release()
	n, err := f.writeNew(ctx, h, entries)
	if err != nil {
		return 0, createError(path, err)
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
	// With the lock, as in create.
	if err := f.acquire(); err != nil {
		return 0, err
	}
	err = vfs.Publish(f.fs, f.real, 0o600, func(to io.Writer) error {
		w := bufio.NewWriterSize(to, 1<<18)
		n, err = writeRecords(ctx, w, h, entries)
		if err != nil {
			return err
		}
		return w.Flush()
	})
	return n, err
}

func writeRecords(ctx context.Context, w *bufio.Writer, h session.Header, entries iter.Seq2[*session.Entry, error]) (n int, err error) {
	line := func(raw []byte) error {
		if _, err := w.Write(raw); err != nil {
			return err
		}
		return w.WriteByte('\n')
	}
	if err := line(h.JSON()); err != nil {
		return 0, err
	}
	seen := map[string]bool{}
	for e, err := range entries {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = session.CheckAppend(e)
		}
		if err == nil && seen[e.ID] {
			err = &session.Error{
				Op: "write entry", Subject: e.ID, Err: session.ErrDuplicateID,
				Hint: fmt.Sprintf("it is that of an entry before it, so entry %d can't be told from that one", n+1),
			}
		}
		if err == nil {
			err = line(e.Raw())
		}
		if err != nil {
			return n, err
		}
		seen[e.ID] = true
		n++
	}
	return n, nil
}
