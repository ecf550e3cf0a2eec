package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"sync"
	"time"
)

// Dir is a Store that keeps content in a folder; the package comment says how.
type Dir struct {
	place
	opt DirOptions

	mu sync.Mutex // held from counting to renaming, so that no two take the same room
	// inFlight are the temporary files of this Dir. They don't count yet: which
	// of them fit is settled one after the other.
	inFlight map[string]bool
	// used is how many bytes were in the folder when they were counted last, and
	// before that as many as there may be, so that the first Put counts.
	used int64
}

var _ Store = (*Dir)(nil)

// DirOptions changes what a Dir does.
type DirOptions struct {
	// Quota is how many bytes of content the folder may hold, whoever wrote them.
	// Default: no limit. Put fails with a *QuotaError when it would hold more;
	// what other processes are just writing counts. With a quota, Put looks at
	// each file in the folder.
	Quota int64
	// Grace is for how long a temporary file may not have grown before Put takes
	// it for one that a crash left, and removes it. Default: one hour.
	Grace time.Duration
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// OpenDir returns the store in the folder at path. The first Put makes it; until
// then it need not exist, and holds nothing. There is nothing to close.
func OpenDir(path string, opt DirOptions) (*Dir, error) {
	p, err := newPlace(path)
	if err == nil {
		err = checkQuota(opt.Quota)
	}
	if err == nil {
		opt.Grace, err = checkGrace(opt.Grace)
	}
	if err != nil {
		return nil, fail("open", path, err)
	}
	return &Dir{place: p, opt: opt, inFlight: map[string]bool{}, used: opt.Quota}, nil
}

func checkGrace(grace time.Duration) (time.Duration, error) {
	switch {
	case grace < 0:
		return 0, fmt.Errorf("a grace of %v would remove what is still being written; it must be positive, or 0 for %v", grace, defaultGrace)
	case grace == 0:
		return defaultGrace, nil
	}
	return grace, nil
}

// shard is the folder that content is in: 256 of them keep each small.
func (id ID) shard() string { return id.String()[len(idPrefix):][:2] }

// path is where content is, relative to the folder of the store.
func (id ID) path() string { return id.shard() + "/" + id.String() }

// Open implements Store.
func (d *Dir) Open(ctx context.Context, id ID) (io.ReadCloser, error) {
	f, err := d.openFor(ctx)
	if err != nil {
		return nil, d.fail("open", id, err)
	}
	defer f.Close()
	file, err := openContent(f, id)
	if err != nil {
		return nil, d.fail("open", id, err)
	}
	return newReader(ctx, id, file), nil
}

// Stat implements Store.
func (d *Dir) Stat(ctx context.Context, id ID) (Info, error) {
	f, err := d.openFor(ctx)
	if err != nil {
		return Info{}, d.fail("stat", id, err)
	}
	defer f.Close()
	err = checkShard(f, id.shard())
	var info fs.FileInfo
	if err == nil {
		info, err = lstatRegular(f, id.path())
	}
	if err != nil {
		return Info{}, d.fail("stat", id, err)
	}
	return Info{id, info.Size(), info.ModTime()}, nil
}

// List implements Store.
func (d *Dir) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		f, err := d.openFor(ctx)
		if missing(err) {
			return
		}
		if err != nil {
			yield(Info{}, fail("list", d.path, err))
			return
		}
		defer f.Close()
		for e, err := range contents(ctx, f) {
			var info Info
			switch {
			case err == nil:
				info = Info{e.id, e.info.Size(), e.info.ModTime()}
			case e.id.IsZero():
				err = fail("list", d.path, err)
			default:
				info, err = Info{ID: e.id}, d.fail("list", e.id, err)
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

func (d *Dir) openFor(ctx context.Context) (files, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return d.open()
}

// fail is fail for an operation on one content.
func (d *Dir) fail(op string, id ID, err error) error {
	var not *notAError
	switch {
	case missing(err):
		err = fmt.Errorf("%w in %s", ErrNotFound, d.path)
	case errors.As(err, &not):
		err = fmt.Errorf("%w: in %s, %w", ErrCorrupt, d.path, err)
	}
	return fail(op, id.String(), err)
}

func checkShard(f files, shard string) error {
	info, err := f.Lstat(shard)
	if err == nil && !info.IsDir() {
		err = notA("folder", shard, info)
	}
	return err
}

func openContent(f files, id ID) (io.ReadCloser, error) {
	if err := checkShard(f, id.shard()); err != nil {
		return nil, err
	}
	return openRegular(f, id.path())
}

// content is one file of a store.
type content struct {
	id   ID
	info fs.FileInfo
}

// contents yields what is in the shards, by address. What has no name of ours is
// passed over.
func contents(ctx context.Context, f files) iter.Seq2[content, error] {
	return func(yield func(content, error) bool) {
		shards, err := f.ReadDir(".")
		if err != nil {
			yield(content{}, err)
			return
		}
		for _, shard := range shards {
			if !isShard(shard.Name()) {
				continue
			}
			err := checkShard(f, shard.Name())
			var list []fs.DirEntry
			if err == nil {
				list, err = f.ReadDir(shard.Name())
			}
			if err != nil && !missing(err) && !yield(content{}, err) {
				return
			}
			for _, e := range list {
				if err := ctx.Err(); err != nil {
					yield(content{}, err)
					return
				}
				id, err := ParseID(e.Name())
				if err != nil || id.shard() != shard.Name() {
					continue
				}
				info, err := e.Info()
				if missing(err) {
					continue // removed meanwhile
				}
				if err == nil && !info.Mode().IsRegular() {
					err = notA("file", id.path(), info)
				}
				if !yield(content{id, info}, err) {
					return
				}
			}
		}
	}
}

func isShard(name string) bool {
	return len(name) == 2 && strings.Trim(name, hexDigits) == ""
}
