package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/clew-dev/clew/session"
)

// Refresh implements session.Store.
func (f *File) Refresh(ctx context.Context) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(ctx); err != nil {
		return 0, err
	}
	n, err := f.refresh(ctx)
	return n, f.wrap("read", err)
}

const (
	// stillTorn is how long an unfinished line may stand still before its
	// writer is taken for dead: much longer than between two parts of a write.
	stillTorn = 100 * time.Millisecond
	// waitTorn is how long to wait for a line that keeps growing.
	waitTorn = 2 * time.Second
	pollTorn = 5 * time.Millisecond
)

// refresh notices what other programs did to the file, and returns how many
// records they added.
func (f *File) refresh(ctx context.Context) (n int, err error) {
	if f.broken != nil {
		return 0, f.broken
	}
	if f.f == nil {
		return 0, nil
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
	if err := f.growTo(size); err != nil {
		return 0, err
	}
	if err := f.dropPartPass(ctx); err != nil {
		return 0, err
	}
	return f.countFrom(before)
}

// unfinished reports whether something stands behind the last sound record.
func (f *File) unfinished() bool {
	if f.legacy != nil {
		return int64(len(f.legacy.data)) > f.end
	}
	return f.size > f.end
}

// standsStill gives another program time to finish what it is writing. It
// returns false as soon as the file has changed.
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

// countFrom returns how many records stand at or behind off.
func (f *File) countFrom(off int64) (n int, err error) {
	for {
		r, err := f.x.nth(n)
		if r == nil || err != nil || r.off < off {
			return n, err
		}
		n++
	}
}

// reread reads the file anew.
func (f *File) reread(ctx context.Context, size int64) (int, error) {
	before, legacy := f.end, f.legacy
	last := "" // the newest record of a file whose places change as it grows
	if legacy != nil {
		r, err := f.x.newest()
		if err != nil {
			return 0, err
		}
		if r != nil {
			last = r.id
		}
	}
	version, id := f.version, f.header.ID
	err := f.read(ctx, f.f, size)
	if err != nil && ctx.Err() != nil {
		return 0, err
	}
	if err != nil {
		f.broken = fmt.Errorf("%w: %w", ErrReplaced, err)
		return 0, f.broken
	}
	if f.version != version || f.header.ID != id {
		f.broken = fmt.Errorf("%w: another program rewrote it as version %d", ErrReplaced, f.version)
		return 0, f.broken
	}
	if legacy == nil {
		return f.countFrom(before)
	}
	for n := 0; ; n++ {
		r, err := f.x.nth(n)
		if r == nil || err != nil || r.id == last {
			return n, err
		}
	}
}

// look returns the size of the file if it is still the one that was opened.
func (f *File) look() (int64, error) {
	on, err := f.fs.Stat(f.real)
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

var _ session.Store = (*File)(nil)
