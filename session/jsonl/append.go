package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
)

// Append implements session.Store. The batch is written with one call and then synced; when that fails the file is
// cut back. After a crash in the middle of a batch the entries before it are there, the torn one is not, and a pass
// is there whole or not at all.
func (f *File) Append(ctx context.Context, batch []*session.Entry, opt session.AppendOptions) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wrap("append", f.append(ctx, batch, opt))
}

func (f *File) append(ctx context.Context, batch []*session.Entry, opt session.AppendOptions) error {
	if err := f.writable(); err != nil {
		return err
	}
	var begun time.Time
	stood := false
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := f.refresh(ctx); err != nil {
			return err
		}
		if err := f.check(ctx, batch, opt); err != nil {
			return err
		}
		if len(batch) == 0 {
			return nil
		}
		// What follows takes a while, so it is looked again afterwards.
		var err error
		switch {
		case f.unfinished() && !stood && (begun.IsZero() || time.Since(begun) < waitTorn):
			if begun.IsZero() {
				begun = time.Now()
			}
			stood, err = f.standsStill(ctx)
		case f.legacy != nil:
			err = f.migrate(ctx)
		case f.unfinished():
			err = f.cutTail()
		default:
			data, recs := f.lay(batch)
			if err := f.write(data, opt.NoSync); err != nil {
				return err
			}
			return f.written(ctx, batch, data, recs)
		}
		if err != nil {
			return err
		}
	}
}

func (f *File) writable() error {
	switch {
	case f.closed:
		return session.ErrClosed
	case f.version > session.Version:
		return f.futureError("write")
	case f.opt.ReadOnly || f.f == nil && f.broken == nil:
		return session.ErrReadOnly
	}
	return nil
}

func (f *File) futureError(op string) error {
	err := fmt.Errorf("%w: it is of format version %d, and this clew writes version %d", session.ErrReadOnly, f.version, session.Version)
	return &session.Error{Op: op, Subject: f.path, Err: err, Hint: "use a newer clew"}
}

func (f *File) check(ctx context.Context, batch []*session.Entry, opt session.AppendOptions) error {
	if opt.IfLast != "" {
		last, err := f.x.nth(0)
		if err != nil {
			return err
		}
		if last == nil || last.ID != opt.IfLast {
			return &session.Error{Op: "append", Subject: f.path, Err: session.ErrConflict, Hint: "look at what was added, and try again"}
		}
	}
	seen := make(map[string]bool, len(batch))
	for _, e := range batch {
		if err := session.CheckAppend(e); err != nil {
			return err
		}
		r := f.x.byID[e.ID]
		if r == nil && !randomID(e.ID) {
			var err error
			if r, err = f.x.find(ctx, e.ID); err != nil {
				return err
			}
		}
		if r != nil || seen[e.ID] {
			return &session.Error{Op: "append entry", Subject: e.ID, Err: session.ErrDuplicateID}
		}
		seen[e.ID] = true
	}
	return nil
}

// randomID reports whether an id is as session.Log makes them: that one of them is taken is hardly to be expected.
func randomID(id string) bool { return len(id) == 16 && strings.Trim(id, "0123456789abcdef") == "" }

// lay puts a batch into the bytes to be written and says where each record will be if they land at f.end.
func (f *File) lay(batch []*session.Entry) ([]byte, []*rec) {
	var data []byte
	if f.open {
		data = append(data, '\n')
	}
	recs := make([]*rec, len(batch))
	for i, e := range batch {
		off := f.end + int64(len(data))
		data = append(append(data, e.Raw()...), '\n')
		recs[i] = &rec{Shape: e.Shape(), off: off, size: int64(len(e.Raw()))}
	}
	return data, recs
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
		f.dirty = noSync
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

func (f *File) written(ctx context.Context, batch []*session.Entry, data []byte, recs []*rec) error {
	info, err := f.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == f.end+int64(len(data)) {
		for i, r := range recs {
			f.x.byID[r.ID] = r
			f.x.newer = append(f.x.newer, r)
			f.x.keep(r, batch[i])
		}
		f.end += int64(len(data))
		f.size, f.open = f.end, false
		return nil
	}
	// Another program wrote between our look and our write: what stands where is to be read.
	if err := f.growTo(ctx, info.Size()); err != nil {
		return err
	}
	for _, r := range recs {
		if f.x.byID[r.ID] == nil {
			return fmt.Errorf("another program wrote into the middle of entry %s: %w", r.ID, errChanged)
		}
	}
	return nil
}

func (f *File) growTo(ctx context.Context, size int64) error {
	torn, err := f.x.grow(f.end, size)
	if err != nil {
		return err
	}
	f.end, f.size = size-torn, size
	if f.open, err = midLine(f.x.r, f.end); err != nil {
		return err
	}
	return f.dropPartPass(ctx)
}

// Sync implements session.Store.
func (f *File) Sync(ctx context.Context) error {
	return f.locked(ctx, "sync", func() (err error) {
		if f.dirty {
			err = f.f.Sync()
			f.dirty = err != nil
		}
		return err
	})
}

// cutTail moves what a stopped writer left behind the last sound record to a file beside the session.
func (f *File) cutTail() error {
	rest := make([]byte, f.size-f.end)
	if err := readFull(f.f, rest, f.end); err != nil {
		return err
	}
	if err := addTo(f.fs, f.real+".cut", rest); err != nil {
		return fmt.Errorf("can't keep the unfinished end of the file: %w", err)
	}
	// The other program may have lived on meanwhile.
	if size, err := f.look(); err != nil || size != f.size {
		return err
	}
	if err := f.f.Truncate(f.end); err != nil {
		return err
	}
	f.size = f.end
	return nil
}

func addTo(fsys vfs.FS, name string, data []byte) error {
	c, err := vfs.OpenOwn(fsys, name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = c.Write(append(data, '\n'))
	if err == nil {
		err = c.Sync()
	}
	if err = errors.Join(err, c.Close()); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

// Refresh implements session.Store.
func (f *File) Refresh(ctx context.Context) (n int, err error) {
	err = f.locked(ctx, "read", func() (err error) { n, err = f.refresh(ctx); return err })
	return n, err
}

const (
	// How long an unfinished line may stand still before its writer is taken for dead: much longer than between two
	// parts of a write.
	stillTorn = 100 * time.Millisecond
	waitTorn  = 2 * time.Second // how long to wait for a line that keeps growing
	pollTorn  = 5 * time.Millisecond
)

// refresh notices what other programs did to the file, and returns how many records they added.
func (f *File) refresh(ctx context.Context) (n int, err error) {
	if f.broken != nil || f.f == nil {
		return 0, f.broken
	}
	size, err := f.look()
	if err != nil || size == f.size {
		return 0, err
	}
	if size < f.size && (size < f.end || f.legacy != nil) {
		return 0, fmt.Errorf("%w: it has become shorter", ErrReplaced)
	}
	if f.legacy != nil || f.unfinished() {
		// What was left out at the end may be finished by now.
		return f.reread(ctx, size)
	}
	before := f.end
	if err := f.growTo(ctx, size); err != nil {
		return 0, err
	}
	return f.countUntil(func(r *rec) bool { return r.off < before })
}

func (f *File) unfinished() bool {
	if f.legacy != nil {
		return int64(len(f.legacy.data)) > f.end
	}
	return f.size > f.end
}

// standsStill gives another program time to finish its line, and is false as soon as the file has changed.
func (f *File) standsStill(ctx context.Context) (bool, error) {
	for begun := time.Now(); time.Since(begun) < f.patience; {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(pollTorn):
		}
		if size, err := f.look(); err != nil || size != f.size {
			return false, err
		}
	}
	return true, nil
}

func (f *File) countUntil(known func(r *rec) bool) (n int, err error) {
	for {
		r, err := f.x.nth(n)
		if r == nil || err != nil || known(r) {
			return n, err
		}
		n++
	}
}

func (f *File) reread(ctx context.Context, size int64) (int, error) {
	before := f.end
	known := func(r *rec) bool { return r.off < before }
	if f.legacy != nil { // its places change as it grows
		newest, err := f.x.nth(0)
		if err != nil {
			return 0, err
		}
		known = func(r *rec) bool { return newest != nil && r.ID == newest.ID }
	}
	version, id := f.version, f.header.ID
	switch err := f.read(ctx, f.f, size); {
	case err != nil && ctx.Err() != nil:
		return 0, err
	case err != nil:
		f.broken = fmt.Errorf("%w: %w", ErrReplaced, err)
	case f.version != version || f.header.ID != id:
		f.broken = fmt.Errorf("%w: another program rewrote it as version %d", ErrReplaced, f.version)
	default:
		return f.countUntil(known)
	}
	return 0, f.broken
}

// look returns the size of the file if it is still the one that was opened.
func (f *File) look() (int64, error) {
	on, err := f.fs.Stat(f.real)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrReplaced
	}
	if err != nil {
		return 0, err
	}
	held, err := f.f.Stat()
	if err != nil {
		return 0, err
	}
	if !vfs.SameFile(on, held) {
		return 0, ErrReplaced
	}
	return held.Size(), nil
}

var _ session.Store = (*File)(nil)
