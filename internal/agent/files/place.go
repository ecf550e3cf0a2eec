package files

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/clew-dev/clew/internal/text"
)

// maxFile is the largest file that is kept, in bytes.
const maxFile = 16 << 20

// root opens the folder that a path may not lead out of: the project. A path outside of
// it must have no symbolic link in it.
func (h *History) root(path string) (*os.Root, string, error) {
	if !filepath.IsAbs(path) {
		root, err := os.OpenRoot(h.cfg.Dir)
		return root, filepath.FromSlash(path), err
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		real, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
			continue
		}
		if err == nil && real != dir {
			err = errors.New("a folder on the way to it was replaced by a link")
		}
		if err != nil {
			return nil, "", err
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, "", err
		}
		name, err := filepath.Rel(dir, path)
		return root, name, err
	}
}

// look returns what is in a file now; nil where there is none.
func (h *History) look(path string) ([]byte, fs.FileMode, error) {
	root, name, err := h.root(path)
	if err != nil {
		return nil, 0, err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	switch {
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, errors.New("it is no regular file now")
	case info.Size() > maxFile:
		return nil, 0, errors.New("it is larger than 16 MiB now")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	return data, info.Mode().Perm(), errors.Join(err, f.Close())
}

// write gives a file its content in one step, or removes it where data is nil.
func (h *History) write(path string, data []byte, mode fs.FileMode) error {
	root, name, err := h.root(path)
	if err != nil {
		return err
	}
	defer root.Close()
	if data == nil {
		if err := root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return Put(root, name, data, 0o600, func(f *os.File) error { return f.Chmod(mode) }, func() error { return nil })
}

// Put gives a file its content in one step: a new file takes its name. It is made with perm; written is called when the
// content is in it, before just before it takes the name.
func Put(root *os.Root, name string, data []byte, perm fs.FileMode, written func(*os.File) error, before func() error) (err error) {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	temp := filepath.Join(filepath.Dir(name), ".clew-"+hex.EncodeToString(random[:])+".tmp")
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(temp) // there is nothing else to be done with it
		}
	}()
	if _, err = f.Write(data); err == nil {
		err = written(f)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = before()
	}
	if err != nil {
		return err
	}
	return root.Rename(temp, name)
}

// MaxDiff is how large a file is that is compared, in bytes.
const MaxDiff = 1 << 20

// maxShown is how long a diff is, in bytes.
const maxShown = 128 << 10

// Diff returns a unified diff. made says that there was no file before. It is empty for
// what is no text, and for large files.
func Diff(shown string, before, after []byte, made bool) string {
	if len(before) > MaxDiff || len(after) > MaxDiff || bytes.IndexByte(before, 0) >= 0 || bytes.IndexByte(after, 0) >= 0 {
		return ""
	}
	from := shown
	if made {
		from = "/dev/null"
	}
	old := string(before)
	d, err := udiff.ToUnified(from, shown, old, udiff.Lines(old, string(after)), udiff.DefaultContextLines)
	if err != nil {
		return ""
	}
	if d = text.Valid(d); len(d) > maxShown {
		d = text.Head(d, maxShown)
		d = d[:strings.LastIndexByte(d, '\n')+1] + "... the diff is longer\n"
	}
	return d
}
