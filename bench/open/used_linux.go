package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// used returns what this process has used so far: CPU time in milliseconds and
// the largest resident memory in MiB.
func used() (cpu, memory float64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		cpu = float64(u.Utime.Sec+u.Stime.Sec)*1e3 + float64(u.Utime.Usec+u.Stime.Usec)/1e3
	}
	// Not ru_maxrss: a child begins with that of its parent.
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return cpu, 0
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
			kib, _ := strconv.ParseFloat(f[1], 64)
			memory = kib / 1024
		}
	}
	return cpu, memory
}
