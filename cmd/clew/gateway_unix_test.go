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

// It says for what it waits then, and a second interrupt ends it at once.
func TestGatewayInterruptedTwice(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, "data: one\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer up.Close()
	p := startGatewayProcess(t, "clew", nil, "--dir", t.TempDir(), "--upstream", "anthropic="+up.URL)
	resp, err := http.Post(p.url+"/v1/messages", "application/json", bytes.NewReader(talk("agent", 1)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, say := range []string{"waiting up to 30s for 1 answer", ""} {
		if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if say != "" {
			p.until(t, say)
		}
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	if err := p.cmd.Wait(); err == nil || err.Error() != "signal: interrupt" {
		t.Errorf("it ended with %v", err)
	}
}

// Gateways on one database are restarted one after the other. Each says that it is not ready before it takes no more
// requests, and its stream comes to its end; no request fails that goes to one that is ready.
func TestRollingRestart(t *testing.T) {
	at := address(t)
	run(t, exitDone, "db", "migrate", "--db", at)
	next := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprint(w, "data: one\n\n")
		w.(http.Flusher).Flush()
		if bytes.Contains(body, []byte("hold")) {
			<-next
		}
		fmt.Fprint(w, "data: two\n\n")
	}))
	defer up.Close()
	defer close(next)
	dir := t.TempDir()
	key, config := filepath.Join(dir, "key"), filepath.Join(dir, "gateway.json")
	for name, text := range map[string]string{key: "secret\n", config: fmt.Sprintf(`{"keyFile": %q, "db": %q, "drainSeconds": 2, "upstreams": {"anthropic": %q}}`, key, at, up.URL)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(method, url, body string) (*http.Response, error) {
		req, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("X-Clew-Key", "secret")
		return http.DefaultClient.Do(req)
	}
	status := func(url string) int {
		resp, err := http.Get(url)
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	send := func(p *gatewayProcess, who string) *http.Response {
		t.Helper()
		resp, err := ask("POST", p.url+"/v1/messages", string(talk(who, 1)))
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v, %v", resp, err)
		}
		return resp
	}
	whole := func(resp *http.Response) {
		t.Helper()
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "data: one\n\ndata: two\n\n" {
			t.Errorf("%q, %v", body, err)
		}
	}
	start := func() *gatewayProcess { return startGatewayProcess(t, "clew", nil, "--config", config) }
	gateways := []*gatewayProcess{start(), start()}
	if got := status(gateways[0].url + "/v1/models"); got != 401 {
		t.Errorf("without the key of the file: %d", got)
	}
	for i, p := range gateways {
		stream := send(p, "hold")
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for status(p.url+"/readyz") == 200 {
		}
		if ready, alive := status(p.url+"/readyz"), status(p.url+"/healthz"); ready != 503 || alive != 200 {
			t.Errorf("about to end: ready %d, alive %d", ready, alive)
		}
		whole(send(p, "late"))
		other := gateways[1-i]
		if got := status(other.url + "/readyz"); got != 200 {
			t.Fatalf("the other one is not ready: %d", got)
		}
		whole(send(other, "agent"))
		next <- struct{}{}
		whole(stream)
		p.until(t, "")
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
		gateways[i] = start()
	}
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
