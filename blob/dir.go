package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/clew-dev/clew/internal/vfs"
)

// Dir is a Store that keeps content in a folder; the package comment says how.
type Dir struct{ place }

var _ Store = (*Dir)(nil)

// OpenDir returns the store in the folder at path, no symbolic link, which the first Put makes. It needs no closing.
func OpenDir(path string) (*Dir, error) {
	p, err := newPlace(path)
	if err != nil {
		return nil, fail("open", path, err)
	}
	return &Dir{p}, nil
}

func (id ID) shard() string { return id.String()[len(idPrefix):][:2] }

func (id ID) path() string { return id.shard() + "/" + id.String() }

// Open implements Store.
func (d *Dir) Open(ctx context.Context, id ID) (r io.ReadCloser, err error) {
	err = d.on(ctx, "open", id, func(f files) error {
		file, err := openContent(f, id, os.O_RDONLY)
		if err == nil {
			r = NewReader(ctx, id, file)
		}
		return err
	})
	return r, err
}

// Stat implements Store.
func (d *Dir) Stat(ctx context.Context, id ID) (info Info, err error) {
	err = d.on(ctx, "stat", id, func(f files) error {
		info, err = lstatContent(f, id)
		return err
	})
	return info, err
}

func lstatContent(f files, id ID) (Info, error) {
	err := checkFolder(f, id.shard())
	if err != nil {
		return Info{ID: id}, err
	}
	info, err := lstatRegular(f, id.path())
	if err != nil {
		return Info{ID: id}, err
	}
	return Info{id, info.Size(), info.ModTime()}, nil
}

// List implements Store. What has no name of ours is skipped.
func (d *Dir) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		f, err := d.openFor(ctx)
		if missing(err) {
			return
		}
		var shards []fs.DirEntry
		if err == nil {
			defer f.Close()
			shards, err = f.ReadDir(".")
		}
		if err != nil {
			yield(Info{}, fail("list", d.path, err))
			return
		}
		for _, shard := range shards {
			if isShard(shard.Name()) && !d.listShard(ctx, f, shard.Name(), yield) {
				return
			}
		}
	}
}

func (d *Dir) listShard(ctx context.Context, f files, shard string, yield func(Info, error) bool) bool {
	err := checkFolder(f, shard)
	var list []fs.DirEntry
	if err == nil {
		list, err = f.ReadDir(shard)
	}
	if err != nil && !missing(err) && !yield(Info{}, fail("list", d.path, err)) {
		return false
	}
	for _, e := range list {
		if err := ctx.Err(); err != nil {
			yield(Info{}, fail("list", d.path, err))
			return false
		}
		id, err := ParseID(e.Name())
		if err != nil || id.shard() != shard {
			continue
		}
		info, err := lstatContent(f, id)
		if !missing(err) && !yield(info, d.fail("list", id, err)) { // else it was removed meanwhile
			return false
		}
	}
	return true
}

func (d *Dir) openFor(ctx context.Context) (files, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return d.open()
}

func (d *Dir) on(ctx context.Context, op string, id ID, do func(f files) error) error {
	f, err := d.openFor(ctx)
	if err == nil {
		defer f.Close()
		err = do(f)
	}
	return d.fail(op, id, err)
}

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

func openContent(f files, id ID, flag int) (vfs.File, error) {
	if err := checkFolder(f, id.shard()); err != nil {
		return nil, err
	}
	return openRegular(f, id.path(), flag)
}

func isShard(name string) bool { return len(name) == 2 && strings.Trim(name, "0123456789abcdef") == "" }

// Put implements Store.
func (d *Dir) Put(ctx context.Context, r io.Reader) (ID, error) {
	id, err := d.put(ctx, r)
	if err != nil {
		return ID{}, fail("put", d.path, err)
	}
	return id, nil
}

func (d *Dir) put(ctx context.Context, r io.Reader) (ID, error) {
	if err := ctx.Err(); err != nil {
		return ID{}, err
	}
	f, err := d.create()
	if err != nil {
		return ID{}, err
	}
	defer f.Close()
	t, id, err := takeTemp(ctx, f, d.now(), r)
	if err != nil {
		return ID{}, err
	}
	defer t.discard()
	if holds(ctx, f, id) {
		_ = f.Chtimes(id.path(), d.now()) // the time only helps those who look for content that nobody needs
	} else if err := install(ctx, f, t, id); err != nil {
		return ID{}, err
	}
	// The folders are synced even if another process made them: it may not have done so yet.
	if err := f.SyncDir(id.shard()); err != nil {
		return ID{}, err
	}
	return id, f.SyncDir(".")
}

func install(ctx context.Context, f files, t *temp, id ID) error {
	if err := t.finish(); err != nil {
		return err
	}
	if err := makeFolder(f, id.shard()); err != nil {
		return err
	}
	// Where a file that is open can't be replaced, the reason may be that someone else stored the same.
	if err := t.move(id.path()); err != nil && !holds(ctx, f, id) {
		return err
	}
	return nil
}

// holds reports whether content is there and sound. Damaged content is as good as none, and Put replaces it.
func holds(ctx context.Context, f files, id ID) bool {
	file, err := openContent(f, id, os.O_RDONLY)
	return err == nil && sound(ctx, file, id)
}

func sound(ctx context.Context, file io.ReadCloser, id ID) bool {
	r := NewReader(ctx, id, file)
	defer r.Close()
	_, err := io.Copy(io.Discard, r)
	return err == nil
}

// Delete implements Store.
func (d *Dir) Delete(ctx context.Context, id ID) error {
	return none(d.on(ctx, "delete", id, func(f files) error {
		if err := checkFolder(f, id.shard()); err != nil {
			return err
		}
		if err := removeFile(f, id.path()); err != nil {
			return err
		}
		return f.SyncDir(id.shard())
	}))
}

// none is err, unless it says that there is nothing to remove.
func none(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func removeFile(f files, name string) error {
	info, err := f.Lstat(name)
	if err == nil && info.IsDir() {
		err = notA("file", name, info)
	}
	if err != nil {
		return err
	}
	return f.Remove(name)
}

// RemoveAll removes all content, what crashes left, and the folder itself. Other files stay,
// and the folder with them; the error names one. Nobody else may use the store meanwhile.
// When it fails it has removed what it could, and may be called again.
func (d *Dir) RemoveAll(ctx context.Context) error {
	f, err := d.openFor(ctx)
	if missing(err) {
		return nil
	}
	if err != nil {
		return fail("remove", d.path, err)
	}
	defer f.Close()
	err = removeAll(ctx, f)
	if err == nil {
		_ = f.Close() // Windows removes no folder that is open
		if err = os.Remove(d.path); err == nil || missing(err) {
			err = vfs.OS{}.SyncDir(filepath.Dir(d.path))
		}
	}
	return fail("remove", d.path, err)
}

// removeAll empties a folder, as far as it goes, and returns the first error.
func removeAll(ctx context.Context, f files) (first error) {
	note := func(err error) bool {
		if first == nil && !missing(err) {
			first = err
		}
		return err == nil
	}
	list, err := f.ReadDir(".")
	note(err)
	for _, folder := range list {
		dir := folder.Name()
		ours := func(name string) bool {
			id, err := ParseID(name)
			return dir == tempDir && isTemp(name) || err == nil && id.shard() == dir
		}
		if !folder.IsDir() || dir != tempDir && !isShard(dir) {
			continue
		}
		list, err := f.ReadDir(dir)
		note(err)
		left := len(list)
		for _, e := range list {
			if note(ctx.Err()); ctx.Err() == nil && !e.IsDir() && ours(e.Name()) {
				if note(f.Remove(dir + "/" + e.Name())) {
					left--
				}
			}
		}
		if left == 0 {
			note(f.Remove(dir))
		}
	}
	list, err = f.ReadDir(".")
	if note(err); first == nil && len(list) > 0 {
		name := list[0].Name()
		if checkFolder(f, name) == nil {
			if list, err := f.ReadDir(name); err == nil && len(list) > 0 {
				name += "/" + list[0].Name()
			}
		}
		first = fmt.Errorf("all content is removed, but the folder has other files, like %s; look at them and remove it by hand", name)
	}
	return first
}

// Erase overwrites content with zeros and removes it. Copies that the file system or the
// device keep elsewhere are out of reach. Erasing what is not there is no error.
func (d *Dir) Erase(ctx context.Context, id ID) error {
	err := none(d.on(ctx, "erase", id, func(f files) error {
		file, err := openContent(f, id, os.O_WRONLY)
		if err != nil {
			return err
		}
		return errors.Join(overwrite(file), file.Close())
	}))
	if err != nil {
		return err
	}
	return d.Delete(ctx, id)
}

func overwrite(file vfs.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	var zeros [chunk]byte
	for left := info.Size(); left > 0; left -= int64(len(zeros)) {
		if _, err := file.Write(zeros[:min(left, int64(len(zeros)))]); err != nil {
			return err
		}
	}
	return file.Sync()
}

// Path returns the folder of the store.
func (d *Dir) Path() string { return d.path }

// File returns the name of the file that has content, or would have it.
func (d *Dir) File(id ID) string { return filepath.Join(d.path, filepath.FromSlash(id.path())) }
