package mcp

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clew-dev/clew/internal/text"
)

// grace is how long a program gets to end by itself, first when its input has ended and
// then when it is told to.
const grace = 500 * time.Millisecond

// process is a program that is a server. It has a process group of its own, which ends
// with it.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *os.File
	stderr *ring
	ended  chan struct{} // closed when the program has ended and err is set
	err    error
	told   atomic.Bool // it was told to end
	alone  bool        // it has ended without being told to
}

// start runs a command. Stop it.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, stderr: &ring{}, ended: make(chan struct{})}
	// Not StdoutPipe, for what a program wrote last must be read although it has ended.
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childOut.Close()
	p.out = out
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = childOut, p.stderr, grace
	if p.in, err = cmd.StdinPipe(); err != nil {
		_ = out.Close()
		return nil, err
	}
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		_, _ = out.Close(), p.in.Close()
		return nil, err
	}
	go p.wait()
	return p, nil
}

// wait waits for the end of the program, and ends what it leaves behind.
func (p *process) wait() {
	p.err = p.cmd.Wait()
	p.alone = !p.told.Load()
	killGroup(p.cmd)
	// A child that left the group may hold the output open: it is not waited for.
	_ = p.out.SetReadDeadline(time.Now().Add(grace))
	close(p.ended)
}

// stop ends the program: politely, then not. It returns when it has ended.
func (p *process) stop() {
	p.told.Store(true)
	_ = p.in.Close()
	for _, next := range []func(*exec.Cmd){endGroup, killGroup} {
		select {
		case <-p.ended:
			return
		case <-time.After(grace):
			next(p.cmd)
		}
	}
	<-p.ended
}

// kill ends the program at once, and frees who writes to it.
func (p *process) kill() {
	p.told.Store(true)
	killGroup(p.cmd)
	_ = p.in.Close()
	<-p.ended
}

// how says how the program ended by itself; "" where it did not. It waits a moment for
// one whose output has ended.
func (p *process) how() string {
	select {
	case <-p.ended:
	case <-time.After(grace):
		return ""
	}
	switch {
	case !p.alone:
		return ""
	case p.err != nil:
		return "its program has ended: " + p.err.Error()
	}
	return "its program has ended"
}

// maxStderr is how much is kept of what a program says on its error output, in bytes.
const maxStderr = 8 << 10

// ring keeps the end of what is written to it.
type ring struct {
	mu  sync.Mutex
	buf []byte
}

// Write implements io.Writer.
func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf = append(r.buf, p[max(0, len(p)-maxStderr):]...)
	if over := len(r.buf) - maxStderr; over > 0 {
		r.buf = append(r.buf[:0], r.buf[over:]...)
	}
	return len(p), nil
}

// last returns the last lines that say something.
func (r *ring) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(r.buf)), "\n")
	return text.OneLine(strings.Join(lines[max(0, len(lines)-3):], " "), maxLine)
}
