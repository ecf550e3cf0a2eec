package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// CreateUnnamed creates a file that has no name until link gives it one, so that
// nothing is left of it when the program ends before.
func (OS) CreateUnnamed(dir string, perm fs.FileMode) (File, func(name string) error, error) {
	f, err := os.OpenFile(dir, os.O_WRONLY|unix.O_TMPFILE, perm)
	switch {
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, unix.EISDIR), errors.Is(err, unix.EINVAL):
		return nil, nil, errors.ErrUnsupported
	case err != nil:
		return nil, nil, err
	}
	return f, func(name string) error {
		self := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
		return unix.Linkat(unix.AT_FDCWD, self, unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	}, nil
}
