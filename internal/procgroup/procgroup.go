// Package procgroup ends a program together with the programs that it has started.
//
//	cmd := exec.CommandContext(ctx, "sh", "-c", command)
//	procgroup.Own(cmd)
//	err := cmd.Run()
//	procgroup.Kill(cmd) // what is left of it
package procgroup

import "os/exec"

// Own makes a program that is not started yet the head of a group. One with a context is told to end with its group when
// that ends.
func Own(cmd *exec.Cmd) {
	cmd.SysProcAttr = head()
	if cmd.Cancel != nil {
		cmd.Cancel = func() error { return End(cmd) }
	}
}
