// Package s3test gives tests a real S3-compatible server, versitygw.
//
// The go command builds it from the module in the folder server, in which its version is. Nothing is downloaded in a
// test: where the module is not there yet, tests are skipped, and say so. `.ci/run` fetches it.
//
// One server a test binary is started when the first test asks for a bucket. It keeps its files in a temporary folder,
// listens on a unix socket there, and ends with the test binary. Requests reach it through a proxy of ours, at which a
// test can make them fail.
package s3test

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

//go:embed server.sh
var script string

// ErrMissing is why tests are skipped.
var ErrMissing = errors.New("no S3-compatible server to test with; fetch it with: go -C internal/s3test/server tool -n versitygw")

// AccessKey and SecretKey are those of every bucket.
const (
	AccessKey = "clew-test"
	SecretKey = "not-a-secret"
	region    = "us-east-1"
)

var (
	server  = sync.OnceValues(start)
	buckets atomic.Int64
	input   io.Closer // of the server, kept from the garbage collector, which would close it
)

// Bucket is an empty bucket.
type Bucket struct {
	URL  string // of the server
	Name string
	Dir  string // where the server keeps the objects, as files

	front *httptest.Server
	fault atomic.Pointer[func(w http.ResponseWriter, r *http.Request, real http.Handler) bool]
}

// New makes a bucket.
func New(t testing.TB) *Bucket {
	t.Helper()
	b, err := Open()
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// Open makes a bucket, which lives until Close.
func Open() (*Bucket, error) {
	dir, err := server()
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "s")
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "versitygw", r.In.Host
		},
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}},
	}
	b := &Bucket{Name: fmt.Sprint("bucket", buckets.Add(1))}
	b.Dir = filepath.Join(dir, "data", b.Name)
	if err := os.Mkdir(b.Dir, 0o700); err != nil { // which is a bucket to the server
		return nil, err
	}
	b.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := b.fault.Load(); f == nil || !(*f)(w, r, proxy) {
			proxy.ServeHTTP(w, r)
		}
	}))
	b.front.Config.ErrorLog = nil
	b.URL = b.front.URL
	return b, nil
}

// Close ends the way to the bucket.
func (b *Bucket) Close() { b.front.Close() }

// Fail has f look at each request from now on; nil ends it. f says whether it has answered.
func (b *Bucket) Fail(f func(w http.ResponseWriter, r *http.Request, real http.Handler) bool) {
	if f == nil {
		b.fault.Store(nil)
		return
	}
	b.fault.Store(&f)
}

// Program returns the path of versitygw. It fails where the module has not been fetched.
func Program() (string, error) {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrMissing, err)
	}
	mod, err := exec.Command(goCommand, "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrMissing, err)
	}
	cmd := exec.Command(goCommand, "tool", "-n", "versitygw")
	cmd.Dir = filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "internal", "s3test", "server")
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = errors.New(strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("%w (%w)", ErrMissing, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// start starts the server and returns its folder. It ends when our end of its input is closed,
// which the operating system does however this program ends.
func start() (dir string, err error) {
	program, err := Program()
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "s3"); err != nil {
		return "", err
	}
	cmd := exec.Command("sh", "-c", script, "server.sh", program, dir)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey, "VGW_REGION="+region)
	if input, err = cmd.StdinPipe(); err != nil {
		return "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("%w: %w", ErrMissing, err)
	}
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	if line != "ready\n" {
		rest, _ := io.ReadAll(r)
		return "", fmt.Errorf("versitygw does not start: %s%s (%w)", line, rest, errors.Join(err, input.Close(), cmd.Wait()))
	}
	return dir, nil
}
