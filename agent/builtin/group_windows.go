package builtin

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// ownGroup lets the command be ended with its children.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	cmd.Cancel = func() error {
		// The children are found through their parent, so it must still be there.
		if err := exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run(); err != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
}

// killGroup does nothing: once the command has ended its children can't be told
// from others.
func killGroup(*exec.Cmd) bool { return false }

func signalOf(*os.ProcessState) (int, string) { return 0, "" }
