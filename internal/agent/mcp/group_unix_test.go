//go:build unix

package mcp_test

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/internal/waittest"
)

func ignoreTermination() { signal.Ignore(syscall.SIGTERM) }

// Close ends a program that does not end by itself, and its children.
func TestCloseEndsTheGroup(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	set := connect(t, map[string]settings.MCPServer{"s": program("stubborn", map[string]string{"PIDS": pids})})
	var server, child int
	data, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(data), &server, &child); err != nil {
		t.Fatal(err)
	}
	set.Close()
	for name, pid := range map[string]int{"the server": server, "its child": child} {
		waittest.Until(t, name+" to end", func() bool { return syscall.Kill(pid, 0) != nil || zombie(pid) })
	}
}

// zombie reports whether a process has ended and nobody has asked how.
func zombie(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	var id int
	var name, state string
	_, err = fmt.Sscan(string(data), &id, &name, &state)
	return err == nil && state == "Z"
}
