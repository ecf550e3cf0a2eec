//go:build unix

package procgroup

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

func head() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// End tells the group to end.
func End(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// Kill ends what is left of the group, and reports whether there was something.
func Kill(cmd *exec.Cmd) bool { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) == nil }

// Signal returns the signal that ended a program, 0 for none.
func Signal(p *os.ProcessState) (int, string) {
	if st, ok := p.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		return int(st.Signal()), st.Signal().String()
	}
	return 0, ""
}
