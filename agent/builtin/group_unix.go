//go:build unix

package builtin

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the command the head of a process group, which is told to end as a
// whole when the context is done.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}

// killGroup ends what is left of the group, and reports whether there was something.
func killGroup(cmd *exec.Cmd) bool {
	return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) == nil
}

// signalOf returns the signal that ended a process, 0 for none.
func signalOf(p *os.ProcessState) (int, string) {
	if st, ok := p.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		return int(st.Signal()), st.Signal().String()
	}
	return 0, ""
}
