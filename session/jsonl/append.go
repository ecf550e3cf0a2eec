package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
)

// Append implements session.Store. The batch is written with one call and then
// synced. When writing fails the file is cut back to what it was. After a
// crash in the middle of a batch, the entries before the crash are there and
// the torn one is not; a pass is there whole or not at all.
func (f *File) Append(ctx context.Context, batch []*session.Entry, opt session.AppendOptions) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.append(ctx, batch, opt); err != nil {
		return f.wrap("append", err)
	}
	return nil
}

func (f *File) append(ctx context.Context, batch []*session.Entry, opt session.AppendOptions) error {
	if err := f.writable(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := f.refresh(ctx); err != nil {
		return err
	}
	if err := f.check(batch, opt); err != nil {
		return err
	}
	if len(batch) == 0 {
		return nil
	}
	if f.legacy != nil {
		if err := f.migrate(ctx); err != nil {
			return err
		}
	}
	if err := f.cutTail(); err != nil {
		return err
	}
	data, recs := f.lay(batch)
	if err := f.write(data, opt.NoSync); err != nil {
		return err
	}
	return f.written(data, recs)
}

func (f *File) writable() error {
	switch {
	case f.closed:
		return session.ErrClosed
	case f.version > session.Version:
		return fmt.Errorf("%w: it is of format version %d, and this clew writes version %d",
			session.ErrReadOnly, f.version, session.Version)
	case f.opt.ReadOnly:
		return session.ErrReadOnly
	}
	return nil
}

func (f *File) check(batch []*session.Entry, opt session.AppendOptions) error {
	if opt.IfLast != "" {
		last, err := f.x.newest()
		if err != nil {
			return err
		}
		if last == nil || last.id != opt.IfLast {
			return &session.Error{
				Op: "append", Subject: f.path, Err: session.ErrConflict,
				Hint: "look at what was added, and try again",
			}
		}
	}
	seen := map[string]bool{}
	for _, e := range batch {
		if e.ID == "" || seen[e.ID] || f.x.byID[e.ID] != nil {
			return &session.Error{Op: "append entry", Subject: e.ID, Err: session.ErrDuplicateID}
		}
		seen[e.ID] = true
	}
	return nil
}

// lay puts a batch into the bytes to be written and says where each record
// will be if they land at f.end.
func (f *File) lay(batch []*session.Entry) ([]byte, []*rec) {
	n := 1
	for _, e := range batch {
		n += len(e.Raw()) + 1
	}
	data := make([]byte, 0, n)
	if f.open {
		data = append(data, '\n')
	}
	recs := make([]*rec, len(batch))
	for i, e := range batch {
		off := f.end + int64(len(data))
		data = append(data, oneLine(e.Raw())...)
		recs[i] = &rec{
			off: off, size: f.end + int64(len(data)) - off,
			typ: e.Type, id: e.ID, parent: e.ParentID, entry: e,
		}
		data = append(data, '\n')
	}
	return data, recs
}

// oneLine makes sure that a record is one line: a line break in JSON can only
// be white space.
func oneLine(raw []byte) []byte {
	if !bytes.ContainsAny(raw, "\r\n") {
		return raw
	}
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, raw)
}

// write puts data at the end of the file, all of it or nothing.
func (f *File) write(data []byte, noSync bool) error {
	n, err := f.f.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil && !noSync {
		err = f.f.Sync()
	}
	if err == nil {
		f.dirty = noSync || f.dirty && noSync
		return nil
	}
	// Back to what it was, unless another program wrote behind us.
	if info, serr := f.f.Stat(); serr == nil && info.Size() > f.end && info.Size() <= f.end+int64(n) {
		if terr := f.f.Truncate(f.end); terr != nil {
			// The rest of the batch stays. It is cut before the next append.
			f.size = info.Size()
			err = errors.Join(err, fmt.Errorf("and its %d bytes can't be taken back yet: %w", info.Size()-f.end, terr))
		}
	}
	return err
}

// written makes the index know a batch that was written.
func (f *File) written(data []byte, recs []*rec) error {
	info, err := f.f.Stat()
	if err == nil && info.Size() != f.end+int64(len(data)) {
		// Another program wrote between our look and our write: what stands
		// where is to be read.
		_, torn, gerr := f.x.grow(f.end, info.Size())
		f.end, f.size, f.open = info.Size()-torn, info.Size(), false
		return gerr
	}
	for _, r := range recs {
		f.x.byID[r.id] = r
		f.x.newer = append(f.x.newer, r)
	}
	f.end += int64(len(data))
	f.size, f.open = f.end, false
	return nil
}

// Sync implements session.Store.
func (f *File) Sync(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return session.ErrClosed
	}
	if !f.dirty {
		return nil
	}
	if err := f.f.Sync(); err != nil {
		return f.wrap("sync", err)
	}
	f.dirty = false
	return nil
}

// Refresh implements session.Store.
func (f *File) Refresh(ctx context.Context) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, session.ErrClosed
	}
	n, err := f.refresh(ctx)
	return n, f.wrap("read", err)
}

// waitTorn is how long to wait for another program to finish its line.
const waitTorn = 100 * time.Millisecond

// refresh notices what other programs did to the file.
func (f *File) refresh(ctx context.Context) (int, error) {
	if f.f == nil {
		return 0, nil
	}
	size, err := f.look()
	if err != nil || size == f.size {
		return 0, err
	}
	if f.legacy != nil {
		return f.reread(ctx, size)
	}
	if size < f.size {
		return 0, fmt.Errorf("%w: it has become shorter", ErrReplaced)
	}
	if f.size > f.end && !f.open {
		// Behind a torn end. If the torn line was only not finished yet, it is now.
		f.problems = nil
		return f.reread(ctx, size)
	}
	n, torn, err := f.x.grow(f.end, size)
	for start := time.Now(); err == nil && torn > 0 && time.Since(start) < waitTorn; {
		time.Sleep(waitTorn / 10)
		var now int64
		if now, err = f.look(); err != nil || now == size {
			continue
		}
		var more int
		from := size - torn
		size = now
		more, torn, err = f.x.grow(from, size)
		n += more
	}
	if err != nil {
		return n, err
	}
	f.end, f.size, f.open = size-torn, size, false
	if torn == 0 {
		var last [1]byte
		if _, err := f.x.r.ReadAt(last[:], size-1); err == nil {
			f.open = last[0] != '\n'
		}
	}
	return n, nil
}

// reread reads the file anew.
func (f *File) reread(ctx context.Context, size int64) (int, error) {
	before := len(f.x.older) + len(f.x.newer)
	known := f.x.complete()
	f.legacy = nil
	if err := f.read(ctx, f.f, size); err != nil {
		return 0, err
	}
	if !known {
		return 1, nil // how many it is would take a look at the whole file
	}
	if err := f.x.all(ctx); err != nil {
		return 0, err
	}
	return max(len(f.x.older)-before, 0), nil
}

// look returns the size of the file if it is still the one that was opened.
func (f *File) look() (int64, error) {
	on, err := f.fs.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, ErrReplaced
	}
	if err != nil {
		return 0, err
	}
	held, err := f.f.Stat()
	if err != nil {
		return 0, err
	}
	if !os.SameFile(on, held) {
		return 0, ErrReplaced
	}
	return held.Size(), nil
}

// cutTail moves what a stopped writer left behind the last sound record to a
// file beside the session.
func (f *File) cutTail() error {
	if f.size <= f.end {
		return nil
	}
	rest := make([]byte, f.size-f.end)
	if _, err := f.x.r.ReadAt(rest, f.end); err != nil && err != io.EOF {
		return err
	}
	if err := keepCut(f.fs, f.path+".cut", rest); err != nil {
		return fmt.Errorf("can't keep the unfinished end of the file: %w", err)
	}
	if err := f.f.Truncate(f.end); err != nil {
		return err
	}
	f.size = f.end
	return nil
}

// keepCut adds bytes to a file and syncs it.
func keepCut(fsys vfs.FS, name string, data []byte) error {
	c, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = c.Write(append(data, '\n'))
	if err == nil {
		err = c.Sync()
	}
	return errors.Join(err, c.Close())
}
