package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openPTY returns the two ends of a terminal of 80x24.
func openPTY(t *testing.T) (host, screen *os.File) {
	t.Helper()
	host, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	fd := int(host.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})); err == nil {
		screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return host, screen
}

// TestTerminalEndsAtSIGTERM: a signal ends the screen each time, whatever it is doing, and
// leaves the terminal as it was.
func TestTerminalEndsAtSIGTERM(t *testing.T) {
	if signal.Ignored(syscall.SIGTERM) {
		t.Skip("the tests were started so that the signal does nothing")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	for i := range rounds {
		host, screen := openPTY(t)
		c := exec.Command(program)
		c.Args = []string{"clew", "chat", "--demo", "fix the test"}
		c.Env = append(os.Environ(), "TERM=xterm-256color", "CLEW_DATA_DIR="+t.TempDir())
		c.Stdin, c.Stdout, c.Stderr = screen, screen, screen
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		_ = screen.Close()
		shown := make(chan struct{})
		rest := make(chan struct{})
		go func() { // reads until the program has ended
			defer close(rest)
			var seen bytes.Buffer
			buf := make([]byte, 4096)
			for open := true; ; {
				n, err := host.Read(buf)
				seen.Write(buf[:n])
				if open && bytes.Contains(seen.Bytes(), []byte("clew")) {
					open = false
					close(shown)
				}
				if err != nil {
					return
				}
			}
		}()
		<-shown
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		hung := time.AfterFunc(20*time.Second, func() { _ = c.Process.Kill() })
		err := c.Wait()
		hung.Stop()
		<-rest
		_ = host.Close()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
			t.Fatalf("round %d: it hung and had to be killed", i)
		}
		if code := c.ProcessState.ExitCode(); code != exitInterrupted {
			t.Fatalf("round %d: exit code %d", i, code)
		}
	}
}
