//go:build unix

package vfs

import "syscall"

// NoFollow is the flag with which opening a symbolic link fails.
const NoFollow = syscall.O_NOFOLLOW

// ErrNoSpace is the error of a full disk.
const ErrNoSpace = syscall.ENOSPC
