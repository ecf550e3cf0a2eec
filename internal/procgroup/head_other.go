//go:build !unix && !windows

package procgroup

import "syscall"

func head() *syscall.SysProcAttr { return nil }
