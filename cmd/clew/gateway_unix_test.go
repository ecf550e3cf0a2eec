//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func init() { hangupSignal = syscall.SIGHUP }

// Told to end, the gateway lets an answer that is under way come to its end.
func TestGatewayEndsGracefully(t *testing.T) {
	next := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "data: one\n\n")
		w.(http.Flusher).Flush()
		<-next
		fmt.Fprint(w, "data: two\n\n")
	}))
	defer up.Close()
	p := startGatewayProcess(t, "clew", nil, "--dir", t.TempDir(), "--upstream", "anthropic="+up.URL)
	resp, err := http.Post(p.url+"/v1/messages", "application/json", bytes.NewReader(talk("agent", 1)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for { // until it listens no more
		c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if err != nil {
			break
		}
		_ = c.Close()
	}
	close(next)
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "data: one\n\ndata: two\n\n" {
		t.Errorf("%q, %v", body, err)
	}
	p.until(t, "1 request, ")
}

// On a full disk agents go on: what leaves the context can't be kept, and the log says so.
func TestGatewayOnAFullDisk(t *testing.T) {
	sent := make(chan int, 10)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		sent <- int(n)
		fmt.Fprint(w, `{}`)
	}))
	defer up.Close()
	dir := filepath.Join(t.TempDir(), "sessions")
	p := startGatewayProcess(t, "clew-full", []string{"FILE_LIMIT=20000"}, "--dir", dir, "--window", "32k", "--upstream", "anthropic="+up.URL)
	for _, n := range []int{40, 41, 80} {
		body := talk("agent", n)
		resp, err := http.Post(p.url+"/v1/messages", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := <-sent; resp.StatusCode != 200 || got > 90_000 {
			t.Errorf("%d turns: %d, %d bytes of %d", n, resp.StatusCode, got, len(body))
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Size() > 20_000 {
			t.Errorf("%s: %v, %v", f.Name(), info, err)
		}
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.until(t, "3 requests, ")
}
