package blob

import "syscall"

// fullErrnos are the system's words for a full disk: ERROR_HANDLE_DISK_FULL,
// ERROR_DISK_FULL and ERROR_DISK_QUOTA_EXCEEDED; see System Error Codes.
var fullErrnos = []syscall.Errno{39, 112, 1295}
