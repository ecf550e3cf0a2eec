package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clew-dev/clew/internal/procgroup"
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
	procgroup.Own(cmd)
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
	procgroup.Kill(p.cmd)
	// A child that left the group may hold the output open: it is not waited for.
	_ = p.out.SetReadDeadline(time.Now().Add(grace))
	close(p.ended)
}

// stop ends the program: politely, then not. It returns when it has ended.
func (p *process) stop() {
	p.told.Store(true)
	_ = p.in.Close()
	for _, next := range []func(){func() { _ = procgroup.End(p.cmd) }, func() { procgroup.Kill(p.cmd) }} {
		select {
		case <-p.ended:
			return
		case <-time.After(grace):
			next()
		}
	}
	<-p.ended
}

// kill ends the program at once, and frees who writes to it.
func (p *process) kill() {
	p.told.Store(true)
	procgroup.Kill(p.cmd)
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
	return oneLine(strings.Join(lines[max(0, len(lines)-3):], " "))
}

// web makes the calls to an address.
type web struct {
	base   *http.Transport
	header http.Header
	life   context.Context // ends every request
}

// newWeb returns a client for one address, whose requests end with life. Close its idle
// connections.
func newWeb(life context.Context, address string, header http.Header) (*http.Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("url must be like https://example.com/mcp, and is %q", address)
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	return &http.Client{
		Transport: &web{base, header, life},
		CheckRedirect: func(next *http.Request, before []*http.Request) error {
			// The headers may hold a secret, which belongs to the address that was named.
			if next.URL.Host != u.Host || next.URL.Scheme != u.Scheme || len(before) > 3 {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}, nil
}

// RoundTrip implements http.RoundTripper.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(w.life, cancel)
	end := func() { stop(); cancel() }
	r = r.Clone(ctx)
	for name, values := range w.header {
		r.Header[name] = values
	}
	resp, err := w.base.RoundTrip(r)
	if err != nil {
		end()
		return nil, err
	}
	b := &body{resp.Body, maxMessage, end}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" {
		b.left = math.MaxInt64 // the SDK bounds each event, and no other answer
	}
	resp.Body = b
	return resp, nil
}

// CloseIdleConnections is what http.Client asks for.
func (w *web) CloseIdleConnections() { w.base.CloseIdleConnections() }

var errTooLarge = errors.New("the server's answer is larger than 16 MiB")

// body is an answer of at most left bytes, with something to do when it is closed.
type body struct {
	io.ReadCloser
	left int64
	end  func()
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
