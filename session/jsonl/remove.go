package jsonl

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clew-dev/clew/session"
)

var errNotRegular = errors.New("not a regular file")

// Remove deletes a session file and all that belongs to it: what was cut off
// its end, its backups, what a stopped writer left; and the symbolic link, where
// path is one. It returns what it removed. A file that is no session, and a session that another program has
// open for writing, stay as they are.
func Remove(ctx context.Context, path string) (removed []string, err error) {
	removed, err = remove(ctx, path)
	if err != nil {
		err = openError(path, err)
		var rich *session.Error
		if errors.As(err, &rich) && rich.Op == "open" {
			rich.Op = "remove"
		}
	}
	return removed, err
}

func remove(ctx context.Context, path string) (removed []string, err error) {
	if _, err := peek(ctx, path); err != nil {
		return nil, err
	}
	f := newFile(path, Options{Program: "clew rm"})
	if err := f.acquire(); err != nil {
		return nil, err
	}
	defer f.release()
	belongings, err := companions(f.real)
	if err != nil {
		return nil, err
	}
	// The session goes last: what fails before it can be tried again.
	names := append(belongings, f.real)
	if link, err := os.Lstat(path); err == nil && link.Mode()&os.ModeSymlink != 0 {
		names = append(names, path)
	}
	for _, name := range names {
		err := os.Remove(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return removed, err
		}
		removed = append(removed, name)
	}
	return removed, f.fs.SyncDir(filepath.Dir(f.real))
}

// companions lists the files beside a session that belong to it, but for the
// lock, which goes when it is given back.
func companions(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		end, ok := strings.CutPrefix(e.Name(), filepath.Base(path))
		if ok && e.Type().IsRegular() && belongs(end) {
			names = append(names, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return names, nil
}

// belongs reports whether a file whose name is that of a session and this
// ending belongs to the session.
func belongs(end string) bool {
	switch end {
	case ".cut", ".new", ".migrating":
		return true
	}
	n, ok := strings.CutPrefix(end, ".bak")
	return ok && strings.Trim(n, "0123456789") == ""
}
