//go:build !windows

package blob

import "syscall"

// fullErrnos are the system's words for a full disk, a spent disk quota and a
// file of the largest size that the process may write.
var fullErrnos = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}
