//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblock makes that opening a pipe or a device does not wait.
const nonblock = syscall.O_NONBLOCK

// keepOwner gives a new file the owner and group of an old one, where it may.
func keepOwner(f *os.File, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid)) // only root may give files away
	}
}
