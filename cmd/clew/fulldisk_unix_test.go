//go:build unix

package main

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// clew-full is clew on a disk on which no file can grow beyond $FILE_LIMIT bytes.
func init() {
	programs["clew-full"] = func() {
		signal.Ignore(syscall.SIGXFSZ) // then writing fails instead
		n, err := strconv.ParseUint(os.Getenv("FILE_LIMIT"), 10, 64)
		if err == nil {
			err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n})
		}
		if err != nil {
			panic(err)
		}
		main()
	}
}
