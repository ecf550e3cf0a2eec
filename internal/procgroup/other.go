//go:build !unix

package procgroup

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
)

// End ends the program; on Windows with its children, which are found through it while it is there, for there is no way
// to ask them.
func End(cmd *exec.Cmd) error {
	if runtime.GOOS == "windows" && exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() == nil {
		return nil
	}
	return cmd.Process.Kill()
}

// Kill is End where the program has not ended. It reports false: its children can't be told from others afterwards.
func Kill(cmd *exec.Cmd) bool {
	if cmd.ProcessState == nil {
		_ = End(cmd)
	}
	return false
}

// Signal returns 0: there are no signals.
func Signal(*os.ProcessState) (int, string) { return 0, "" }
