package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Source opens content. Store.Open is one.
type Source func(ctx context.Context, id ID) (io.ReadCloser, error)

// Cache keeps copies of content as files with readable names, for tools that
// read paths. Any file, and the folder itself, may be deleted at any time: Path
// makes it again. It may be used from several goroutines and processes.
type Cache struct {
	place
	from Source
	opt  CacheOptions

	mu sync.Mutex
	// seen has what the files were like when their content was last checked.
	seen map[string]fs.FileInfo
}

// CacheOptions changes what a Cache does.
type CacheOptions struct {
	// Grace is as in DirOptions. Default: one hour.
	Grace time.Duration
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// OpenCache returns the cache in the folder at path. It is made when it is first
// needed. Content comes from the source; it may be nil if only PathFrom is used.
func OpenCache(path string, from Source, opt CacheOptions) (*Cache, error) {
	p, err := newPlace(path)
	if err == nil {
		opt.Grace, err = checkGrace(opt.Grace)
	}
	if err != nil {
		return nil, fail("cache", path, err)
	}
	return &Cache{place: p, from: from, opt: opt, seen: map[string]fs.FileInfo{}}, nil
}

// Path returns the absolute path of a file that has the content of id, and makes
// the file if it is not there or was changed. Its name is FileName(id, hint).
// The error is ErrNotFound or ErrCorrupt when the source has no such content;
// otherwise see KeepInline.
func (c *Cache) Path(ctx context.Context, id ID, hint string) (string, error) {
	return c.PathFrom(ctx, id, hint, c.from)
}

// PathFrom is Path with a source for this content alone, as for content that is
// in the log. What the source gives must be the content of id.
func (c *Cache) PathFrom(ctx context.Context, id ID, hint string, from Source) (string, error) {
	name := FileName(id, hint)
	path := filepath.Join(c.path, name)
	if err := c.provide(ctx, id, name, from); err != nil {
		return "", fail("cache", path, err)
	}
	return path, nil
}

func (c *Cache) provide(ctx context.Context, id ID, name string, from Source) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := c.create()
	if err != nil {
		return err
	}
	defer f.Close()
	if c.has(ctx, f, id, name) {
		return nil
	}
	if from == nil {
		return fmt.Errorf("%w: there is no source for it", ErrNotFound)
	}
	src, err := from(ctx, id)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	defer src.Close()
	t, err := newTemp(f, now(c.opt.Now), c.opt.Grace)
	if err != nil {
		return err
	}
	defer t.discard()
	in, err := take(ctx, t, src, always, math.MaxInt64)
	if err != nil {
		return err
	}
	if in.id != id {
		return fmt.Errorf("%w: the source gave that of %s", ErrCorrupt, in.id)
	}
	// The file is synced, so that its name never stands for a part of it; the
	// folder is not, for a file that is gone comes back.
	if err := t.finish(); err != nil {
		return err
	}
	if err := t.move(name); err != nil && !c.has(ctx, f, id, name) {
		return err
	}
	return nil
}

// settled is how old a file must be for its time to tell whether it was changed:
// some systems count in steps of two seconds.
const settled = 2 * time.Second

// has reports whether the file is there with the right content. A tool might
// have written to it; so it is read, unless it looks as it did when it was last
// read.
func (c *Cache) has(ctx context.Context, f files, id ID, name string) bool {
	info, err := lstatRegular(f, name)
	if err != nil {
		return false
	}
	c.mu.Lock()
	seen := c.seen[name]
	c.mu.Unlock()
	if seen != nil && os.SameFile(seen, info) && seen.Size() == info.Size() && seen.ModTime().Equal(info.ModTime()) {
		return true
	}
	file, err := openRegular(f, name)
	if err != nil {
		return false
	}
	r := newReader(ctx, id, file)
	defer r.Close()
	if _, err := io.Copy(io.Discard, r); err != nil {
		return false
	}
	if age := now(c.opt.Now).Sub(info.ModTime()); age >= settled {
		c.mu.Lock()
		c.seen[name] = info
		c.mu.Unlock()
	}
	return true
}

// Remove removes the files of one content, under whatever hint.
func (c *Cache) Remove(ctx context.Context, id ID) error {
	return c.clean(ctx, func(name string) bool {
		digits, ok := isCacheName(name)
		return ok && digits == shortHex(id)
	}, false)
}

// RemoveAll removes all files of the cache, and its folder. Files that have no
// name of ours stay, which is reported as an error.
func (c *Cache) RemoveAll(ctx context.Context) error {
	return c.clean(ctx, func(name string) bool {
		_, ok := isCacheName(name)
		return ok
	}, true)
}

func (c *Cache) clean(ctx context.Context, ours func(name string) bool, all bool) error {
	err := ctx.Err()
	var f files
	if err == nil {
		f, err = c.open()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fail("remove", c.path, err)
	}
	w := cleaner{ctx: ctx, f: f}
	w.files(".", ours)
	if all {
		if info, err := f.Lstat(tempDir); err == nil && info.IsDir() {
			w.folder(tempDir, isTemp)
		}
		return fail("remove", c.path, w.end(c.path))
	}
	_ = f.Close() // a folder that was only read
	return fail("remove", c.path, w.err)
}
