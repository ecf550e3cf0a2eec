package builtin

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxWhole is how large a file may be that is read as a whole: to edit it, or to show
// what a write would change. In bytes.
const maxWhole = 16 << 20

// handle is a place that was entered: name below root. Without a symbolic link in it,
// unless one was put there meanwhile; then root holds.
type handle struct {
	root *os.Root
	name string
	own  bool // root is of this place alone
}

func (h handle) Close() error {
	if h.own {
		return h.root.Close()
	}
	return nil
}

// enter opens the folder of a place: the project, or outside the nearest one that exists.
func (s *Set) enter(p place) (handle, error) {
	if !p.outside {
		return handle{root: s.root, name: p.rel}, nil
	}
	base, name := p.abs, "."
	for {
		info, err := os.Lstat(base)
		if err == nil && info.IsDir() {
			break
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return handle{}, err
		}
		parent := filepath.Dir(base)
		if parent == base {
			return handle{}, fs.ErrNotExist
		}
		base, name = parent, filepath.Join(filepath.Base(base), name)
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return handle{}, err
	}
	// OpenRoot follows links. There were none; there must be none now.
	there, err := os.Lstat(base)
	if err == nil {
		var here fs.FileInfo
		if here, err = root.Stat("."); err == nil && !os.SameFile(here, there) {
			err = changed("a folder on the way was replaced")
		}
	}
	if real, realErr := realPath(base); err == nil && (realErr != nil || real != base) {
		err = changed("a folder on the way was replaced")
	}
	if err != nil {
		return handle{}, errors.Join(err, root.Close())
	}
	return handle{root: root, name: name, own: true}, nil
}

// check returns an error for what is no regular file.
func check(m fs.FileMode) error {
	switch t := m.Type(); {
	case t == 0:
		return nil
	case t&fs.ModeDir != 0:
		return errFolder
	case t&fs.ModeSymlink != 0:
		return changed("a symbolic link was put there")
	case t&fs.ModeNamedPipe != 0:
		return refused("it is a named pipe, and only regular files are opened")
	case t&fs.ModeSocket != 0:
		return refused("it is a socket, and only regular files are opened")
	case t&fs.ModeDevice != 0:
		return refused("it is a device, and only regular files are opened")
	}
	return refused("it is no regular file")
}

var errFolder = errors.New("it is a folder")

// openFile opens a regular file for reading. It never waits, and never follows a link.
func openFile(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
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
		err = changed("the file was replaced")
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// whole reads a regular file of at most maxWhole bytes. A file that does not exist is
// nil, nil, nil.
func (h handle) whole() ([]byte, fs.FileInfo, error) {
	f, info, err := openFile(h.root, h.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxWhole+1))
	if err == nil && len(data) > maxWhole {
		return nil, info, errLarge
	}
	return data, info, err
}

var errLarge = errors.New("the file is larger than 16 MiB")

// replace gives a file new content in one step. old is what was there, nil for nothing:
// if it is not what is there at the end, nothing is changed.
func (h handle) replace(ctx context.Context, data []byte, old fs.FileInfo) (err error) {
	dir := filepath.Dir(h.name)
	perm := fs.FileMode(0o666)
	if old == nil {
		if err := h.root.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	} else {
		// A new file could take the name of one that must not be written to.
		f, err := h.root.OpenFile(h.name, os.O_WRONLY|nonblock, 0)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		perm = 0o600 // until it has the owner of the old one
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	temp := filepath.Join(dir, ".clew-"+hex.EncodeToString(random[:])+".tmp")
	f, err := h.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = h.root.Remove(temp) // there is nothing else to be done with it
		}
	}()
	_, err = f.Write(data)
	if err == nil && old != nil {
		keepOwner(f, old)
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	now, err := h.root.Lstat(h.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && old == nil:
	case errors.Is(err, fs.ErrNotExist):
		return changed("another program removed the file")
	case err != nil:
		return err
	case old == nil:
		return changed("another program made the file")
	case !os.SameFile(now, old) || now.Size() != old.Size() || !now.ModTime().Equal(old.ModTime()):
		return changed("another program changed the file")
	}
	return h.root.Rename(temp, h.name)
}
