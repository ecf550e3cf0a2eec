//go:build !unix

package hook

import "os/exec"

// ownGroup does nothing without process groups: the program is killed alone, its children are not waited for.
func ownGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
