//go:build !windows

package jsonl

import "syscall"

// errNoSpace is the system's word for a full disk.
const errNoSpace = syscall.ENOSPC
