package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/clew-dev/clew/internal/text"
)

// What can be wrong with a place.
var (
	ErrRefused  = errors.New("refused")           // it is none for files
	ErrReplaced = errors.New("changed meanwhile") // it leads elsewhere than before, or another program has changed it
	ErrFolder   = errors.New("it is a folder")
	ErrLarge    = errors.New("the file is larger than 16 MiB")
)

// Because is an error with words of its own that errors.Is finds a kind in.
type Because struct {
	Kind error
	What string
}

func (b *Because) Error() string { return b.What }
func (b *Because) Unwrap() error { return b.Kind }

// Refused is an ErrRefused, Replaced an ErrReplaced, with what is known of it.
func Refused(what string) error { return &Because{ErrRefused, what} }

// Replaced is described at Refused.
func Replaced(what string) error { return &Because{ErrReplaced, what} }

// MaxWhole is how large a file may be that is read as a whole. In bytes.
const MaxWhole = 16 << 20

// Place is a file or folder: a name below a root. Without a symbolic link in it, unless one was put there meanwhile; then
// the root holds.
type Place struct {
	Root *os.Root
	Name string
	own  bool // Root is of this place alone
}

// Close ends the use of a place.
func (p Place) Close() error {
	if p.own {
		return p.Root.Close()
	}
	return nil
}

// Enter opens the nearest folder that exists on an absolute path, in which there must be no symbolic link.
func Enter(path string) (Place, error) {
	base, name := path, "."
	for {
		info, err := os.Lstat(base)
		if err == nil && info.IsDir() {
			break
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Place{}, err
		}
		parent := filepath.Dir(base)
		if parent == base {
			return Place{}, fs.ErrNotExist
		}
		base, name = parent, filepath.Join(filepath.Base(base), name)
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return Place{}, err
	}
	// OpenRoot follows links. There were none; there must be none now.
	there, err := os.Lstat(base)
	if err == nil {
		var here fs.FileInfo
		if here, err = root.Stat("."); err == nil && !os.SameFile(here, there) {
			err = Replaced("a folder on the way was replaced")
		}
	}
	if real, realErr := filepath.EvalSymlinks(base); err == nil && (realErr != nil || real != base) {
		err = Replaced("a folder on the way was replaced by a link")
	}
	if err != nil {
		return Place{}, errors.Join(err, root.Close())
	}
	return Place{root, name, true}, nil
}

// check returns an error for what is no regular file.
func check(m fs.FileMode) error {
	switch t := m.Type(); {
	case t == 0:
		return nil
	case t&fs.ModeDir != 0:
		return ErrFolder
	case t&fs.ModeSymlink != 0:
		return Replaced("a symbolic link was put there")
	case t&fs.ModeNamedPipe != 0:
		return Refused("it is a named pipe, and only regular files are opened")
	case t&fs.ModeSocket != 0:
		return Refused("it is a socket, and only regular files are opened")
	case t&fs.ModeDevice != 0:
		return Refused("it is a device, and only regular files are opened")
	}
	return Refused("it is no regular file")
}

// Open opens a regular file for reading. It never waits, and never follows a link.
func Open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	before, err := root.Lstat(name)
	if err == nil {
		err = check(before.Mode())
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = check(info.Mode())
	}
	if err == nil && !os.SameFile(before, info) {
		err = Replaced("the file was replaced")
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// Whole reads a regular file of at most 16 MiB. A file that does not exist is nil, nil, nil.
func (p Place) Whole() ([]byte, fs.FileInfo, error) {
	f, info, err := Open(p.Root, p.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxWhole+1))
	if err == nil && len(data) > MaxWhole {
		return nil, info, ErrLarge
	}
	return data, info, err
}

// Replace gives a file new content in one step. old is what was there, nil for nothing:
// if it is not what is there at the end, nothing is changed.
func (p Place) Replace(ctx context.Context, data []byte, old fs.FileInfo) error {
	perm := fs.FileMode(0o666)
	if old == nil {
		if err := p.Root.MkdirAll(filepath.Dir(p.Name), 0o777); err != nil {
			return err
		}
	} else {
		// A new file could take the name of one that must not be written to.
		f, err := p.Root.OpenFile(p.Name, os.O_WRONLY|nonblock, 0)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		perm = 0o600 // until it has the owner of the old one
	}
	return p.put(data, perm, func(f *os.File) error {
		if old == nil {
			return nil
		}
		keepOwner(f, old)
		return f.Chmod(old.Mode().Perm())
	}, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		now, err := p.Root.Lstat(p.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && old == nil:
			return nil
		case errors.Is(err, fs.ErrNotExist):
			return Replaced("another program removed the file")
		case err != nil:
			return err
		case old == nil:
			return Replaced("another program made the file")
		case !os.SameFile(now, old) || now.Size() != old.Size() || !now.ModTime().Equal(old.ModTime()):
			return Replaced("another program changed the file")
		}
		return nil
	})
}

// put gives the file its content in one step: a new file takes its name. It is made with perm; written is called when the
// content is in it, before just before it takes the name.
func (p Place) put(data []byte, perm fs.FileMode, written func(*os.File) error, before func() error) (err error) {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	temp := filepath.Join(filepath.Dir(p.Name), ".clew-"+hex.EncodeToString(random[:])+".tmp")
	f, err := p.Root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = p.Root.Remove(temp) // there is nothing else to be done with it
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
	return p.Root.Rename(temp, p.Name)
}

// place enters a path as it is kept: one in the project may not lead out of it.
func (h *History) place(path string) (Place, error) {
	if filepath.IsAbs(path) {
		return Enter(path)
	}
	root, err := os.OpenRoot(h.cfg.Dir)
	return Place{root, filepath.FromSlash(path), true}, err
}

// look returns what is in a file now; nil where there is none.
func (h *History) look(path string) ([]byte, fs.FileMode, error) {
	p, err := h.place(path)
	if err != nil {
		return nil, 0, err
	}
	defer p.Close()
	data, info, err := p.Whole()
	if errors.Is(err, ErrFolder) {
		err = fmt.Errorf("%w, and no regular file", err)
	}
	if info == nil || err != nil {
		return nil, 0, err
	}
	return data, info.Mode().Perm(), nil
}

// write gives a file its content in one step, or removes it where data is nil.
func (h *History) write(path string, data []byte, mode fs.FileMode) error {
	p, err := h.place(path)
	if err != nil {
		return err
	}
	defer p.Close()
	if data == nil {
		if err := p.Root.Remove(p.Name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := p.Root.MkdirAll(filepath.Dir(p.Name), 0o777); err != nil {
		return err
	}
	return p.put(data, 0o600, func(f *os.File) error { return f.Chmod(mode) }, func() error { return nil })
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
