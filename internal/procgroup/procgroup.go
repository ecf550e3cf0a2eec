// Package procgroup ends a program together with the programs that it has started, and looks into the environment that
// it is given.
//
//	cmd := exec.CommandContext(ctx, "sh", "-c", command)
//	procgroup.Own(cmd)
//	err := cmd.Run()
//	procgroup.Kill(cmd) // what is left of it
package procgroup

import (
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// Own makes a program that is not started yet the head of a group. One with a context is told to end with its group when
// that ends.
func Own(cmd *exec.Cmd) {
	cmd.SysProcAttr = head()
	if cmd.Cancel != nil {
		cmd.Cancel = func() error { return End(cmd) }
	}
}

// Getenv returns a variable of an environment as os.Environ gives it; the last one counts. On Windows small and capital
// letters of names are the same.
func Getenv(environ []string, name string) string {
	for _, v := range slices.Backward(environ) {
		if n, value, _ := strings.Cut(v, "="); n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			return value
		}
	}
	return ""
}

// Home returns the user's home folder in an environment, "" where it has none.
func Home(environ []string) string {
	if runtime.GOOS == "windows" {
		return Getenv(environ, "USERPROFILE")
	}
	return Getenv(environ, "HOME")
}
