package blob

import (
	"time"

	"github.com/clew-dev/clew/internal/vfs"
)

// Files is files.
type Files = files

// Wrap puts something between a store or cache and the file system.
func Wrap[T *Dir | *Cache](on T, wrap func(Files) Files) T {
	switch on := any(on).(type) {
	case *Dir:
		on.wrap = wrap
	case *Cache:
		on.wrap = wrap
	}
	return on
}

// At gives a store or cache a clock.
func At[T *Dir | *Cache](on T, now func() time.Time) T {
	switch on := any(on).(type) {
	case *Dir:
		on.now = now
	case *Cache:
		on.now = now
	}
	return on
}

// Faulty is Files whose changes go through a vfs.Fault, and making folders too.
func Faulty(under Files, step func(op, name string) (short int, err error)) Files {
	return faulty{under, &vfs.Fault{FS: under, At: func(_ int, op, name string) (int, error) { return step(op, name) }}, step}
}
