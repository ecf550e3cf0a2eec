package jsonl

import "syscall"

// errNoSpace is the system's word for a full disk: ERROR_DISK_FULL.
const errNoSpace = syscall.Errno(112)
