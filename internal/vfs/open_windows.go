package vfs

import "syscall"

// NoFollow is no flag: Windows has none for it, and links there need a privilege.
const NoFollow = 0

// ErrNoSpace is the error of a full disk.
const ErrNoSpace = syscall.Errno(112) // ERROR_DISK_FULL
