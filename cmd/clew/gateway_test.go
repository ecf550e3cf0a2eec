package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/internal/top"
)

// hangupSignal is SIGHUP; nil where there is none.
var hangupSignal os.Signal

// gatewayProcess is clew gateway as a process of its own.
type gatewayProcess struct {
	cmd  *exec.Cmd
	url  string
	said *bufio.Scanner
}

func startGatewayProcess(t *testing.T, program string, env []string, args ...string) *gatewayProcess {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{"gateway", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := time.AfterFunc(60*time.Second, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		end.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p := &gatewayProcess{cmd: cmd, said: bufio.NewScanner(out)}
	p.url = strings.TrimPrefix(p.until(t, "listening on "), "listening on ")
	return p
}

// until returns the next line that begins so.
func (p *gatewayProcess) until(t *testing.T, begin string) string {
	t.Helper()
	last := ""
	for ; p.said.Scan(); last = p.said.Text() {
		if strings.HasPrefix(p.said.Text(), begin) {
			return p.said.Text()
		}
	}
	t.Fatalf("the gateway ended before it said %q, after %q", begin, last)
	return ""
}

// talk is the list of a conversation after n turns, of about 700 tokens each.
func talk(who string, n int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"m","max_tokens":1000,"messages":[`)
	for i := range n {
		fmt.Fprintf(&b, `{"role":"user","content":"Request %d: change the file part%d.go"},{"role":"assistant","content":[{"type":"text","text":"%s reads"},`, i, i, who)
		fmt.Fprintf(&b, `{"type":"tool_use","id":"c%d","name":"read","input":{"path":"part%d.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"%s"}]},`,
			i, i, i, strings.Repeat(fmt.Sprintf(`func part%d() error { return nil }\n`, i), 70))
		fmt.Fprintf(&b, `{"role":"assistant","content":"Changed part%d.go, and all tests pass."},`, i)
	}
	b.WriteString(`{"role":"user","content":"go on"}]}`)
	return []byte(b.String())
}

// A gateway that is killed while agents work, and started again, sends for each list the same
// bytes as before: no epoch is lost that an upstream has seen.
func TestGatewayKilledUnderLoad(t *testing.T) {
	var mu sync.Mutex
	sent := map[string][]byte{} // what went upstream by conversation and turn
	arrived := make(chan struct{}, 1000)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		key := r.Header.Get("X-Test")
		mu.Lock()
		if was, ok := sent[key]; ok && !bytes.Equal(was, body) {
			t.Errorf("%s: the same list became other bytes after a restart", key)
		}
		sent[key] = body
		mu.Unlock()
		arrived <- struct{}{}
		fmt.Fprint(w, `{}`)
	}))
	defer up.Close()
	dir := filepath.Join(t.TempDir(), "sessions")
	for round := range 3 {
		p := startGatewayProcess(t, "clew", nil, "--dir", dir, "--window", "32k", "--upstream", "anthropic="+up.URL)
		var agents sync.WaitGroup
		for a := range 4 {
			agents.Go(func() {
				who := fmt.Sprintf("agent%d", a)
				for n := 1; n <= 60; n += 3 {
					req, _ := http.NewRequest(http.MethodPost, p.url+"/v1/messages", bytes.NewReader(talk(who, n)))
					req.Header.Set("X-Test", fmt.Sprintf("%s/%d", who, n))
					resp, err := http.DefaultClient.Do(req)
					if err != nil {
						return // it was killed
					}
					_ = resp.Body.Close()
				}
			})
		}
		if round < 2 {
			for range 40 + 15*round {
				<-arrived
			}
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		agents.Wait()
	}
	mu.Lock()
	defer mu.Unlock()
	if len(sent) != 80 {
		t.Fatalf("%d lists of 80 arrived", len(sent))
	}
	for a := range 4 {
		key := fmt.Sprintf("agent%d/58", a)
		if whole := talk(key[:6], 58); len(sent[key]) >= len(whole)*2/3 {
			t.Errorf("%s: %d bytes of %d", key, len(sent[key]), len(whole))
		}
	}
}

// The file is read again on SIGHUP, and when the second listener is asked to; where it is wrong the gateway says so and goes on.
func TestGatewayReads(t *testing.T) {
	hangup := hangupSignal
	if hangup == nil {
		t.Skip("there is no SIGHUP here")
	}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) }))
	defer up.Close()
	file := filepath.Join(t.TempDir(), "gateway.json")
	settings := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings(`{"upstreams": {}}`)
	p := startGatewayProcess(t, "clew", nil, "--dir", t.TempDir(), "--config", file, "--admin", "127.0.0.1:0")
	page := strings.TrimPrefix(p.until(t, "watch it on "), "watch it on ")
	status := func() int {
		resp, err := http.Post(p.url+"/local/v1/messages", "application/json", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if got := status(); got != 404 {
		t.Errorf("before: %d", got)
	}
	settings(`{"upstreams": {"local": "` + up.URL + `"}} /* new */`)
	if err := p.cmd.Process.Signal(hangup); err != nil {
		t.Fatal(err)
	}
	p.until(t, "settings read again")
	if got := status(); got != 200 {
		t.Errorf("after: %d", got)
	}
	settings(`{"upstreams": {"local": "nowhere"}}`)
	if err := p.cmd.Process.Signal(hangup); err != nil {
		t.Fatal(err)
	}
	p.until(t, "the settings stay as they are: ")
	if got := status(); got != 200 {
		t.Errorf("after a wrong file: %d", got)
	}
	settings(`{"upstreams": {}, "listen": "127.0.0.1:99999"}`)
	if err := p.cmd.Process.Signal(hangup); err != nil {
		t.Fatal(err)
	}
	if said := p.until(t, "the settings stay as they are: "); !strings.Contains(said, `listen was "" at the start and is "127.0.0.1:99999"; it can't change while the gateway runs`) {
		t.Errorf("after another address: %s", said)
	}
	if got := status(); got != 200 {
		t.Errorf("after a file with another address: %d", got)
	}
	for text, want := range map[string]int{`{"upstreams": {"local": "nowhere"}}`: 422, `{"admin": ":1"}`: 422, `{"upstreams": {}}`: 200} {
		settings(text)
		resp, err := http.Post(page+"/reload", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("asked on the page to read %s: %d", text, resp.StatusCode)
		}
	}
}

// exposed is a listener that other machines reach.
type exposed struct{ net.Listener }

func (exposed) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: 8790} }

type loopback struct{ net.Listener }

func (loopback) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8790} }

// Settings that are read again can't take the key from a gateway that others reach, and an
// agent that is wrapped goes on to the address in its environment.
func TestGatewayReloads(t *testing.T) {
	sent := 0
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/messages" {
			sent++
		}
		fmt.Fprint(w, `{}`)
	}))
	defer up.Close()
	t.Setenv("ANTHROPIC_BASE_URL", up.URL+"/v1/")
	file := filepath.Join(t.TempDir(), "gateway.json")
	flags := &gatewayFlags{config: file, over: gatewayFile{Dir: t.TempDir()}}
	h, err := gateway.NewHandler(gateway.HandlerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s := &gatewayServer{h: h, l: exposed{}}
	for text, ok := range map[string]bool{`{}`: false, `{"key": "k"}`: true, `{"key": "k", "byRules": ["other"]}`: false} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.reload(flags); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	flags.wrapped, s.l = true, loopback{} // and the agent knows no key
	if err := os.WriteFile(file, []byte(`{"key": "k"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.reload(flags); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/messages", strings.NewReader(`{}`))
	if h.ServeHTTP(httptest.NewRecorder(), r); sent != 1 {
		t.Errorf("%d requests came to the address in the environment", sent)
	}
}

// What was only watched is told at the end, with its cost.
func TestGatewayTellsWhatItWouldSave(t *testing.T) {
	c := &traffic{changed: map[gateway.Outcome]int{}}
	c.event(gateway.Event{Outcome: gateway.Passed, Before: 10, After: 10, Cost: 9})
	c.event(gateway.Event{Outcome: gateway.WouldBe, Before: 9_000, After: 4_000, Cost: 2, Otherwise: 1.5})
	const want = "2 requests, 0 compacted, 0 rescued from an overflow, 0 too long; 0 tokens not sent; 1 request would have been shortened, by 5,000 tokens, for about $1.50 instead of $2.00"
	if got := c.summary(); got != want {
		t.Errorf("%s", got)
	}
}

// Where a session can't be written the operator hears of it, after a reload too.
func TestGatewaySaysWhatWentWrong(t *testing.T) {
	if hangupSignal == nil {
		t.Skip("there is no SIGHUP here")
	}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) }))
	defer up.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := startGatewayProcess(t, "clew", nil, "--dir", filepath.Join(file, "d"), "--window", "32k", "--upstream", "anthropic="+up.URL)
	for _, who := range []string{"one", "two"} {
		resp, err := http.Post(p.url+"/v1/messages", "application/json", bytes.NewReader(talk(who, 50)))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if err := p.cmd.Process.Signal(hangupSignal); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		for p.said.Scan() && p.said.Text() != "settings read again" {
			said.WriteString(p.said.Text())
		}
		if !strings.Contains(said.String(), "what leaves the context can't be kept") {
			t.Errorf("it said %q", said.String())
		}
	}
}

// A port that is taken by another program is named, to gateway and to top.
func TestGatewayPortInUse(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	at := strings.TrimPrefix(other.URL, "http://")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"gateway", "--listen", at}, at + ": bind: address already in use; take another port with --listen"},
		{[]string{"gateway", "--listen", "127.0.0.1:0", "--admin", at}, at + ": bind: address already in use; take another port with --admin"},
		{[]string{"top", "--admin", at}, "what answers at " + at + " is not a gateway's admin listener; give --admin the address"},
	} {
		if _, said := run(t, exitFailed, c.args...); !strings.Contains(said, c.want) {
			t.Errorf("%v: %s", c.args, said)
		}
	}
}

// What answers at the second address can't write to the terminal with the name of a conversation.
func TestTopOfAnotherProgram(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"sessions":[{"id":"\u001b]0;title\u0007","model":"\u001b[2J"}]}`)
	}))
	defer up.Close()
	list, err := fetchSessions(t.Context(), strings.TrimPrefix(up.URL, "http://"))
	var out strings.Builder
	if err == nil {
		err = top.Text(&out, &list)
	}
	if err != nil || strings.ContainsAny(out.String(), "\x1b\x07") {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// At /mcp an agent reads what left its context, by the name that its summary says; no other
// way leads to a conversation.
func TestGatewayRecalls(t *testing.T) {
	sent := make(chan string, 1)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent <- string(body)
		fmt.Fprint(w, `{}`)
	}))
	defer up.Close()
	p := startGatewayProcess(t, "clew", nil, "--dir", filepath.Join(t.TempDir(), "d"), "--window", "32k", "--upstream", "anthropic="+up.URL)
	body := bytes.Replace(talk("agent", 50), []byte(`"messages"`), []byte(`"tools":[{"name":"mcp__clew__recall","input_schema":{}}],"messages"`), 1)
	resp, err := http.Post(p.url+"/v1/messages", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	shortened := <-sent
	at := regexp.MustCompile(`session\\": \\"([0-9a-f]{32})\\"`).FindStringSubmatch(shortened)
	if at == nil || strings.Contains(shortened, "func part3() error { return nil }\\nfunc part3() error { return nil }\\nfunc part3()") {
		t.Fatalf("%.3000s", shortened)
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: p.url + "/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ask := func(arguments map[string]any) (string, bool) {
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "recall", Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		return r.Content[0].(*mcp.TextContent).Text, r.IsError
	}
	if text, failed := ask(map[string]any{"query": "func part3", "session": at[1]}); failed || !strings.Contains(text, "func part3() error") {
		t.Error(text)
	}
	for _, id := range []string{"", at[1][:16], "../d/" + at[1], strings.Repeat("0", 32)} {
		if text, failed := ask(map[string]any{"query": "func part3", "session": id}); !failed || strings.Contains(text, "error {") {
			t.Errorf("%q: %s", id, text)
		}
	}
}

// What a gateway has learnt of a window is what its sessions are explained with, unless the command line says another.
func TestGatewayWindowIsExplained(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); len(body) > 60_000 {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 30000 tokens > 20000 maximum"}}`)
			return
		}
		fmt.Fprint(w, `{}`)
	}))
	defer up.Close()
	dir := t.TempDir()
	var last gateway.Event
	c := http.Client{Transport: gateway.Transport(nil, gateway.Config{Dir: dir, OnEvent: func(e gateway.Event) { last = e }})}
	resp, err := c.Post(up.URL+"/v1/messages", "application/json", bytes.NewReader(bytes.Replace(talk("agent", 50), []byte(`"m"`), []byte(`"claude-sonnet-4-5"`), 1)))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) != 1 || last.Outcome != gateway.Rescued {
		t.Fatalf("%q, %+v, %v", files, last, err)
	}
	for _, command := range []string{"explain", "context"} {
		if stdout, _ := run(t, exitDone, command, files[0]); !strings.Contains(stdout, "20,000") || !strings.Contains(stdout, "the gateway kept to") {
			t.Errorf("%s: %s", command, stdout)
		}
		if stdout, _ := run(t, exitDone, command, "--window", "50k", files[0]); !strings.Contains(stdout, "50,000") || strings.Contains(stdout, "the gateway kept to") {
			t.Errorf("%s: %s", command, stdout)
		}
	}
}
