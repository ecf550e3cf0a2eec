package blob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/clew-dev/clew/internal/vfs"
)

// Delete implements Store.
func (d *Dir) Delete(ctx context.Context, id ID) error {
	f, err := d.openFor(ctx)
	if missing(err) {
		return nil
	}
	if err != nil {
		return d.fail("delete", id, err)
	}
	defer f.Close()
	err = removeContent(f, id)
	if err == nil {
		err = f.SyncDir(id.shard())
	}
	if missing(err) {
		return nil
	}
	return d.fail("delete", id, err)
}

// removeContent removes what has the name of content; of a link, the link.
func removeContent(f files, id ID) error {
	if err := checkShard(f, id.shard()); err != nil {
		return err
	}
	info, err := f.Lstat(id.path())
	if err != nil {
		return err
	}
	if info.IsDir() {
		return notA("file", id.path(), info)
	}
	return f.Remove(id.path())
}

// RemoveAll removes all content, what crashes left, and the folder itself. Files
// that have no name of ours stay, and their folder with them; that is
// reported as an error. Nobody else may use the store meanwhile.
//
// When it fails it has removed what it could, and may be called again. The
// store may be used again, too: it is empty then.
func (d *Dir) RemoveAll(ctx context.Context) error {
	f, err := d.openFor(ctx)
	if missing(err) {
		return nil
	}
	if err != nil {
		return fail("remove", d.path, err)
	}
	c := cleaner{ctx: ctx, f: f}
	list, err := f.ReadDir(".")
	c.note(err)
	for _, e := range list {
		switch {
		case e.Name() == tempDir && e.IsDir():
			c.folder(tempDir, isTemp)
		case isShard(e.Name()) && e.IsDir():
			c.folder(e.Name(), func(name string) bool {
				id, err := ParseID(name)
				return err == nil && id.shard() == e.Name()
			})
		}
	}
	return fail("remove", d.path, c.end(d.path))
}

// A cleaner removes what is ours and remembers what went wrong first.
type cleaner struct {
	ctx context.Context
	f   files
	err error
}

func (c *cleaner) note(err error) {
	if c.err == nil && err != nil && !missing(err) {
		c.err = err
	}
}

// files removes the files in a folder whose names are ours.
func (c *cleaner) files(dir string, ours func(name string) bool) {
	list, err := c.f.ReadDir(dir)
	c.note(err)
	for _, e := range list {
		if err := c.ctx.Err(); err != nil {
			c.note(err)
			return
		}
		if !e.IsDir() && ours(e.Name()) {
			c.note(c.f.Remove(strings.TrimPrefix(dir+"/"+e.Name(), "./")))
		}
	}
}

// folder removes a folder with what is ours in it. If there is more, it stays.
func (c *cleaner) folder(dir string, ours func(name string) bool) {
	c.files(dir, ours)
	if list, err := c.f.ReadDir(dir); err == nil && len(list) == 0 {
		c.note(c.f.Remove(dir))
	}
}

// end closes the files and removes their folder, at path, if it is empty.
func (c *cleaner) end(path string) error {
	defer c.f.Close()
	list, err := c.f.ReadDir(".")
	c.note(err)
	if c.err != nil {
		return c.err
	}
	if len(list) > 0 {
		return fmt.Errorf("what is ours is removed, but the folder has other files, like %s; look at them and remove it by hand", c.leftover(list[0].Name()))
	}
	_ = c.f.Close() // Windows removes no folder that is open
	if err := os.Remove(path); err != nil && !missing(err) {
		return err
	}
	return vfs.OS{}.SyncDir(filepath.Dir(path))
}

// leftover names a file in a folder that could not be emptied.
func (c *cleaner) leftover(name string) string {
	if info, err := c.f.Lstat(name); err == nil && info.IsDir() {
		if list, err := c.f.ReadDir(name); err == nil && len(list) > 0 {
			return name + "/" + list[0].Name()
		}
	}
	return name
}

// Erase overwrites content with zeros and removes it. What the file system or
// the device keep of it elsewhere is out of reach. Content that is not there is no
// error.
func (d *Dir) Erase(ctx context.Context, id ID) error {
	if err := d.overwrite(ctx, id); err != nil && !missing(err) {
		return d.fail("erase", id, err)
	}
	return d.Delete(ctx, id)
}

func (d *Dir) overwrite(ctx context.Context, id ID) (err error) {
	f, err := d.openFor(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := checkShard(f, id.shard()); err != nil {
		return err
	}
	info, err := lstatRegular(f, id.path())
	if err != nil {
		return err
	}
	file, err := f.OpenFile(id.path(), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var zeros [64 << 10]byte
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
