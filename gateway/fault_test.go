package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/gateway"
)

// A connection that breaks before the answer is told in the shape of the API. One that
// breaks within it, or goes silent, breaks off for the client as well; what ends early but
// well is passed on like that.
func TestUpstreamThatFails(t *testing.T) {
	const event = "event: message_start\ndata: {\"type\":\"message_start\"}\n\n"
	for _, c := range []struct {
		name   string
		answer func(w http.ResponseWriter, r *http.Request)
		status int
		broken bool
	}{
		{"reset before the answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 502, false},
		{"reset within", func(w http.ResponseWriter, _ *http.Request) {
			write(w, event)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, 200, true},
		{"silent within", func(w http.ResponseWriter, r *http.Request) {
			write(w, event)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, 200, true},
		{"shorter than it says", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			write(w, event)
		}, 200, true},
		{"without the last event", func(w http.ResponseWriter, _ *http.Request) { write(w, event) }, 200, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				c.answer(w, r)
			}))
			defer up.Close()
			s := serve(t, gateway.HandlerConfig{Upstreams: map[string]string{"anthropic": up.URL}, UpstreamTimeout: 50 * time.Millisecond})
			resp, err := http.Post(s.URL+"/v1/messages", "application/json", bytes.NewReader(long(1, "x")))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if resp.StatusCode != c.status || (err != nil) != c.broken {
				t.Errorf("%d %s, %v", resp.StatusCode, body, err)
			}
			if want := `"type":"api_error"`; c.status != 200 && !strings.Contains(string(body), want) || c.status == 200 && string(body) != event {
				t.Errorf("the client got %s", body)
			}
		})
	}
}

// A client that stops in the middle of its request, or stops reading, holds nothing for long;
// one that goes away ends the request upstream.
func TestClientThatFails(t *testing.T) {
	gone := make(chan struct{}, 1)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				break
			}
			w.(http.Flusher).Flush()
		}
		gone <- struct{}{}
	}))
	defer up.Close()
	s := serve(t, gateway.HandlerConfig{Upstreams: map[string]string{"anthropic": up.URL}, ClientTimeout: 100 * time.Millisecond})
	dial := func() net.Conn {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	head := func(n int) string {
		return fmt.Sprintf("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", n)
	}
	c := dial()
	write(c, head(1000)+`{"messages":[`)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a client that stops sending got %v, %v", resp, err)
	}
	_ = c.Close()
	c = dial()
	write(c, head(2)+`{}`)
	<-gone // it never reads
	_ = c.Close()
	c = dial()
	write(c, head(2)+`{}`)
	_, _ = io.ReadFull(c, make([]byte, 100))
	_ = c.Close()
	<-gone
}

// Memory of one request is used for the next, and no byte of one gets into another, also when
// upstreams answer before they have read, or hang up.
func TestBodiesDoNotMix(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := r.Header.Get("X-Who")
		if who[0]%3 == 1 {
			panic(http.ErrAbortHandler)
		}
		if who[0]%3 == 2 {
			_ = http.NewResponseController(w).EnableFullDuplex()
			write(w, "{}")
			w.(http.Flusher).Flush()
		}
		body, err := io.ReadAll(r.Body)
		if err == nil && len(bytes.Trim(body, who[:1])) > 0 {
			t.Errorf("the request of %s has bytes of another", who)
		}
	}))
	defer up.Close()
	rt := gateway.Transport(nil, gateway.Config{})
	rounds := 48
	if testing.Short() {
		rounds = 8
	}
	var agents sync.WaitGroup
	for a := range 8 {
		agents.Go(func() {
			for n := range rounds {
				who := string(rune('a' + a))
				req, _ := http.NewRequest(http.MethodPost, up.URL+"/v1/messages", strings.NewReader(strings.Repeat(who, 4_000_000>>(n%8))))
				req.Header.Set("X-Who", who)
				if resp, err := rt.RoundTrip(req); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			}
		})
	}
	agents.Wait()
}

// Redirects go to the client, and headers of one connection alone go nowhere.
func TestRedirectsAndHopHeaders(t *testing.T) {
	u := newUpstream(t)
	u.answer = func(w http.ResponseWriter, _ int) {
		w.Header().Set("Location", "http://169.254.169.254/latest")
		w.WriteHeader(307)
	}
	s := serve(t, gateway.HandlerConfig{Upstreams: map[string]string{"anthropic": u.URL}})
	req, _ := http.NewRequest(http.MethodPost, s.URL+"/v1/messages", bytes.NewReader(long(1, "x")))
	req.Header.Set("Connection", "X-Once")
	req.Header.Set("X-Once", "1")
	req.Header.Set("Proxy-Authorization", "secret")
	req.Header.Set("X-Kept", "1")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 307 || resp.Header.Get("Location") == "" || len(u.bodies) != 1 {
		t.Errorf("%d %v after %d requests", resp.StatusCode, resp.Header, len(u.bodies))
	}
	if h := u.header[0]; h.Get("X-Once") != "" || h.Get("Proxy-Authorization") != "" || h.Get("X-Kept") != "1" {
		t.Errorf("the upstream saw %v", h)
	}
}

// Requests that together need too much memory are refused; what is held is given back once an
// answer begins, and larger bodies than are read pass through without being held.
func TestMemoryIsLimited(t *testing.T) {
	u := newUpstream(t)
	inside, release := make(chan struct{}), make(chan struct{})
	u.answer = func(w http.ResponseWriter, n int) {
		if n == 1 {
			inside <- struct{}{}
			<-release
		}
		write(w, plainAnswer)
	}
	s := serve(t, gateway.HandlerConfig{Upstreams: map[string]string{"anthropic": u.URL}, MaxMemory: 40_000, Config: gateway.Config{MaxBody: 30_000}})
	done := make(chan int)
	go func() {
		status, _ := send(t, nil, s.URL+"/v1/messages", long(10, "x"))
		done <- status
	}()
	<-inside
	for _, body := range []io.Reader{bytes.NewReader(long(10, "x")), io.MultiReader(bytes.NewReader(long(10, "x")))} { // with its length and without
		resp, err := http.Post(s.URL+"/v1/messages", "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != 429 || !strings.Contains(string(answer), "rate_limit_error") || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%d %s", resp.StatusCode, answer)
		}
	}
	close(release)
	if status := <-done; status != 200 {
		t.Errorf("the first request ended with %d", status)
	}
	if status, body := send(t, nil, s.URL+"/v1/messages", long(60, "x")); status != 200 || !bytes.Equal(u.bodies[len(u.bodies)-1], long(60, "x")) {
		t.Errorf("a large body: %d %s", status, body)
	}
}

// What counts of a packed body is what it takes unpacked, from its reading to the beginning of
// the answer, of a stream to its first content.
func TestMemoryOfPackedBodies(t *testing.T) {
	const created = "data: {\"type\":\"response.created\"}\n\n"
	u := newUpstream(t)
	next := make(chan struct{})
	u.answer = func(w http.ResponseWriter, n int) {
		if n > 1 {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, created)
		w.(http.Flusher).Flush()
		<-next
		write(w, "data: {\"type\":\"content\"}\n\n")
		w.(http.Flusher).Flush()
		<-next
	}
	s := serve(t, gateway.HandlerConfig{Upstreams: map[string]string{"anthropic": u.URL}, MaxMemory: 40_000})
	post := func(body []byte, encoding string) *http.Response {
		req, _ := http.NewRequest(http.MethodPost, s.URL+"/v1/messages", bytes.NewReader(body))
		req.Header.Set("Content-Encoding", encoding)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	for _, encoding := range []string{"gzip", "br", "zstd"} {
		if resp := post(packed(t, encoding, long(30, "x")), encoding); resp.StatusCode != 429 || len(u.bodies) > 0 {
			t.Errorf("%s: %d, %d requests went upstream", encoding, resp.StatusCode, len(u.bodies))
		}
	}
	first := post(packed(t, "gzip", long(10, "x")), "gzip") // 26,000 bytes unpacked
	_, _ = io.ReadFull(first.Body, make([]byte, len(created)))
	if resp := post(long(10, "x"), ""); resp.StatusCode != 429 {
		t.Errorf("beside a request of 26,000 bytes one of as many got %d", resp.StatusCode)
	}
	next <- struct{}{}
	_, _ = io.ReadFull(first.Body, make([]byte, 20))
	if resp := post(long(10, "x"), ""); resp.StatusCode != 200 {
		t.Errorf("once the first answer has content: %d", resp.StatusCode)
	}
	next <- struct{}{}
}

// A body that a connection still reads when its request has ended takes no memory from others.
func TestBodyReadAfterTheEnd(t *testing.T) {
	var body *stalled
	var copied chan struct{}
	h, err := gateway.NewHandler(gateway.HandlerConfig{
		Upstreams: map[string]string{"anthropic": "http://upstream"}, Config: gateway.Config{MaxBody: 10_000}, MaxMemory: 40_000,
		Base: roundTrip(func(req *http.Request) (*http.Response, error) { // answers before it has the whole body
			copied = make(chan struct{})
			go func() { defer close(copied); _, _ = io.Copy(io.Discard, req.Body) }()
			<-body.waits
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("{}")), Request: req}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		body = &stalled{Reader: bytes.NewReader(make([]byte, 20_000)), waits: make(chan struct{}), goOn: make(chan struct{})}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/v1/messages", body))
		if w.Code != 200 {
			t.Fatalf("request %d: %d %s", n, w.Code, w.Body)
		}
		close(body.goOn)
		<-copied
	}
}

// stalled waits behind what its reader has, and then has more.
type stalled struct {
	io.Reader
	waits, goOn chan struct{}
}

func (s *stalled) Read(p []byte) (int, error) {
	if n, err := s.Reader.Read(p); err == nil {
		return n, nil
	}
	close(s.waits)
	<-s.goOn
	return len(p), nil
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// packed returns data as an encoding packs it.
func packed(t testing.TB, encoding string, parts ...[]byte) []byte {
	var b bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w, _ = gzip.NewWriterLevel(&b, gzip.BestSpeed)
	case "br":
		w = brotli.NewWriterLevel(&b, brotli.BestSpeed)
	case "zstd":
		z, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	for _, data := range parts {
		_, _ = w.Write(data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Packed bodies are shortened like others. What unpacks to more than is read is passed on,
// and takes no memory.
func TestPackedBodies(t *testing.T) {
	megabytes := 80
	if testing.Short() {
		megabytes = 10
	}
	large := slices.Repeat([][]byte{bytes.Repeat([]byte("0"), 1<<20)}, megabytes)
	large = slices.Insert(large, 0, []byte(`{"messages":[],"x":"`))
	for _, encoding := range []string{"gzip", "br", "zstd"} {
		t.Run(encoding, func(t *testing.T) {
			u := newUpstream(t)
			rt := gateway.Transport(nil, gateway.Config{Window: window(32_000), MaxBody: 1 << 20})
			body := long(60, "x")
			send(t, rt, u.URL+"/v1/messages", packed(t, encoding, body), "Content-Encoding: "+encoding)
			if got := u.bodies[0]; len(got) == 0 || len(got) >= len(body)/2 || got[0] != '{' || u.header[0].Get("Content-Encoding") != "" {
				t.Errorf("%d bytes of %d were sent on, as %q", len(got), len(body), u.header[0].Get("Content-Encoding"))
			}
			bomb := packed(t, encoding, large...)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			send(t, rt, u.URL+"/v1/messages", bomb, "Content-Encoding: "+encoding)
			runtime.ReadMemStats(&after)
			if !bytes.Equal(u.bodies[1], bomb) {
				t.Error("the bomb was changed")
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 48<<20 {
				t.Errorf("unpacking took %d MB", took>>20)
			}
		})
	}
}

// A zstd stream that asks for more memory than a body may take is passed on unread.
func TestZstdWindow(t *testing.T) {
	for size, shortened := range map[int]bool{16 << 20: true, 32 << 20: false} {
		u := newUpstream(t)
		var b bytes.Buffer
		z, err := zstd.NewWriter(&b, zstd.WithWindowSize(size), zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = z.Write(long(60, "x"))
		_ = z.Flush() // before the size is known
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		send(t, gateway.Transport(nil, gateway.Config{Window: window(32_000)}), u.URL+"/v1/messages", b.Bytes(), "Content-Encoding: zstd")
		if got := !bytes.Equal(u.bodies[0], b.Bytes()); got != shortened {
			t.Errorf("a window of %d MB: shortened %v", size>>20, got)
		}
	}
}

// The client's wish to get answers packed does not hide what the upstream says.
func TestPackedAnswers(t *testing.T) {
	u := newUpstream(t)
	u.answer = func(w http.ResponseWriter, n int) {
		w.Header().Set("Content-Encoding", "gzip")
		if n == 1 {
			w.WriteHeader(400)
			_, _ = w.Write(packed(t, "gzip", []byte(refusal)))
			return
		}
		_, _ = w.Write(packed(t, "gzip", []byte(plainAnswer)))
	}
	var last gateway.Event
	rt := gateway.Transport(nil, gateway.Config{OnEvent: func(e gateway.Event) { last = e }})
	status, answer := send(t, rt, u.URL+"/v1/messages", long(50, "x"), "Accept-Encoding: gzip, br")
	if status != 200 || answer != string(packed(t, "gzip", []byte(plainAnswer))) || last.Outcome != gateway.Rescued || last.Usage == nil || last.Usage.Input != 10 {
		t.Errorf("%d %q %+v", status, answer, last)
	}
	if got := u.header[0].Get("Accept-Encoding"); got != "identity" {
		t.Errorf("the upstream was asked for %q", got)
	}
	send(t, gateway.Transport(nil, gateway.Config{Observe: true, OnEvent: func(e gateway.Event) { last = e }}), u.URL+"/v1/messages", long(50, "x"), "Accept-Encoding: gzip, br")
	if got := u.header[2].Get("Accept-Encoding"); got != "gzip, br" || last.Usage == nil || last.Usage.Input != 10 {
		t.Errorf("watching, the upstream was asked for %q, and said %+v", got, last.Usage)
	}
}

// An error whose body is not packed as it says reaches the client as it came.
func TestMislabelledErrors(t *testing.T) {
	for _, encoding := range []string{"gzip", "deflate", "br"} {
		for _, said := range []string{"", "slow down"} {
			u := newUpstream(t)
			u.answer = func(w http.ResponseWriter, _ int) {
				w.Header().Set("Content-Encoding", encoding)
				w.WriteHeader(http.StatusTooManyRequests)
				write(w, said)
			}
			rt := gateway.Transport(nil, gateway.Config{})
			if status, answer := send(t, rt, u.URL+"/v1/messages", long(1, "x"), "Accept-Encoding: br"); status != http.StatusTooManyRequests || answer != said {
				t.Errorf("%s, %q: %d %q", encoding, said, status, answer)
			}
		}
	}
}

type brokenBody struct{ closed bool }

func (b *brokenBody) Read([]byte) (int, error) { return 0, errors.New("broken") }
func (b *brokenBody) Close() error             { b.closed = true; return nil }

// A body that can't be read is closed, and takes no more memory than what came of it.
func TestBrokenBody(t *testing.T) {
	body := &brokenBody{}
	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:1/v1/messages", body)
	req.Body, req.ContentLength = body, 64<<20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resp, err := gateway.Transport(nil, gateway.Config{}).RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	if runtime.ReadMemStats(&after); err == nil || !body.closed || after.TotalAlloc-before.TotalAlloc > 16<<20 {
		t.Errorf("%v, closed: %v, %d bytes", err, body.closed, after.TotalAlloc-before.TotalAlloc)
	}
}

const refusal = `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 30000 tokens > 20000 maximum"}}`

// Nothing that goes wrong inside keeps a request from being sent.
func TestGatewayThatFails(t *testing.T) {
	u := newUpstream(t)
	var logged bytes.Buffer
	rt := gateway.Transport(nil, gateway.Config{
		Window: window(32_000), Logger: slog.New(slog.NewTextHandler(&logged, nil)),
		Policy: func(string, string) compact.Policy { panic("quotes the parrot") },
	})
	status, _ := send(t, rt, u.URL+"/v1/messages", long(50, "x"))
	if status != 200 || !bytes.Equal(u.bodies[0], long(50, "x")) {
		t.Errorf("%d, %d bytes", status, len(u.bodies[0]))
	}
	if log := logged.String(); !strings.Contains(log, "the gateway failed") || strings.Contains(log, "parrot") {
		t.Errorf("logged: %.300s", log)
	}
	u.answer = func(w http.ResponseWriter, _ int) { w.WriteHeader(400); write(w, refusal) }
	if status, body := send(t, rt, u.URL+"/v1/messages", long(10, "x")); status != 400 || body != refusal {
		t.Errorf("%d %s", status, body)
	}
}

// An upstream that does not take what was made of a request gets the client's own, and
// that epoch is not used again.
func TestShortenedRequestThatIsRefused(t *testing.T) {
	u := newUpstream(t)
	body := long(50, "x")
	u.answer = func(w http.ResponseWriter, n int) {
		if !bytes.Equal(u.bodies[n-1], body) {
			w.WriteHeader(400)
			write(w, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: the thinking blocks can't be changed"}}`)
			return
		}
		write(w, `{}`)
	}
	var seen []gateway.Outcome
	rt := gateway.Transport(nil, gateway.Config{Window: window(32_000), OnEvent: func(e gateway.Event) { seen = append(seen, e.Outcome) }})
	for range 2 {
		if status, answer := send(t, rt, u.URL+"/v1/messages", body); status != 200 || answer != `{}` {
			t.Errorf("%d %s", status, answer)
		}
	}
	if len(u.bodies) != 3 || seen[0] != gateway.Refused {
		t.Errorf("%d requests, %v", len(u.bodies), seen)
	}
}

// Where it is too long as it came, the client is told that, and can shorten the list itself.
func TestShortenedRequestThatIsRefusedAndTooLong(t *testing.T) {
	u := newUpstream(t)
	body := long(50, "x")
	const tooLong = `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 40000 tokens > 32000 maximum"}}`
	u.answer = func(w http.ResponseWriter, n int) {
		w.WriteHeader(400)
		if bytes.Equal(u.bodies[n-1], body) {
			write(w, tooLong)
			return
		}
		write(w, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: the thinking blocks can't be changed"}}`)
	}
	var seen gateway.Event
	rt := gateway.Transport(nil, gateway.Config{Window: window(32_000), OnEvent: func(e gateway.Event) { seen = e }})
	if status, answer := send(t, rt, u.URL+"/v1/messages", body); status != 400 || answer != tooLong {
		t.Errorf("%d %s", status, answer)
	}
	if len(u.bodies) != 2 || seen.Outcome != gateway.TooLong || seen.Status != 400 || seen.After != seen.Before {
		t.Errorf("%d requests, %+v", len(u.bodies), seen)
	}
}

// Where the folder of the sessions is gone, can't be made or can't be written to, the agent
// goes on, and what was made before still holds.
func TestStoreThatFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		spoil func(dir string) error
	}{
		{"no folder can be made", func(dir string) error { return os.RemoveAll(dir) }},
		{"deleted", os.RemoveAll},
		{"damaged", func(dir string) error {
			files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
			if err == nil {
				err = os.WriteFile(files[0], []byte("not a session\n"), 0o600)
			}
			return err
		}},
		{"a folder in the way", func(dir string) error {
			files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
			if err == nil {
				err = os.Remove(files[0])
			}
			if err == nil {
				err = os.Mkdir(files[0], 0o700)
			}
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUpstream(t)
			dir := filepath.Join(t.TempDir(), "d")
			if strings.HasPrefix(c.name, "no") {
				dir = filepath.Join(file, "d")
			}
			rt := gateway.Transport(nil, gateway.Config{Window: window(32_000), Dir: dir})
			send(t, rt, u.URL+"/v1/messages", long(40, "x"))
			if err := c.spoil(dir); err != nil && !strings.HasPrefix(c.name, "no") {
				t.Fatal(err)
			}
			longer := bytes.TrimSuffix(long(41, "y"), []byte(`{"role":"user","content":"y"}]}`))
			longer = append(longer, `{"role":"user","content":"x"}]}`...)
			send(t, rt, u.URL+"/v1/messages", longer)
			send(t, rt, u.URL+"/v1/messages", long(120, "x"))
			for i, b := range u.bodies {
				if len(b) > 80_000 {
					t.Errorf("request %d went out with %d bytes", i, len(b))
				}
			}
		})
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// Neither keys nor what was said are in a log, an event, or, but for what was said, a file;
// an error that the gateway makes has neither.
func TestNothingLeaks(t *testing.T) {
	u := newUpstream(t)
	u.answer = func(w http.ResponseWriter, n int) {
		if n%2 == 1 {
			w.WriteHeader(400)
			write(w, refusal)
			return
		}
		write(w, plainAnswer)
	}
	var out lockedBuffer // a handler ends after its answer
	var answers strings.Builder
	dir := t.TempDir()
	h, err := gateway.NewHandler(gateway.HandlerConfig{
		Upstreams: map[string]string{"anthropic": u.URL, "gone": "http://127.0.0.1:1"},
		Config: gateway.Config{
			Window: window(32_000), Dir: dir, Logger: slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
			OnEvent: func(e gateway.Event) { fmt.Fprintf(&out, "%+v\n", e) },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	secret := bytes.ReplaceAll(long(50, "x"), []byte("all tests pass"), []byte("the parrot is called Quagga"))
	for _, path := range []string{"/v1/messages", "/gone/v1/messages", "/gone/v1beta/models/m:generateContent?key=canary-key", "/v1/messages/count_tokens", "/nowhere"} {
		for _, header := range []string{"X-Api-Key: canary-key", "Authorization: Bearer canary-key", "Cookie: canary-key"} {
			_, answer := send(t, nil, s.URL+path, secret, header)
			write(&answers, answer)
		}
	}
	s.Close()
	said := out.String() + answers.String()
	for _, word := range []string{"canary-key", "Quagga"} {
		if at := strings.Index(said, word); at >= 0 {
			t.Errorf("%s is in a log: %.200s", word, said[max(0, at-100):])
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		if data, err := os.ReadFile(f); err != nil || bytes.Contains(data, []byte("canary-key")) {
			t.Errorf("%s has the key: %v", f, err)
		}
	}
	if len(files) == 0 {
		t.Error("no session was written")
	}
}

// Two gateways that know nothing of each other make the same of a conversation, whatever the time.
func TestReplicasAgree(t *testing.T) {
	for path, parts := range pythonBodies(50) {
		u := newUpstream(t)
		for year := range 2 {
			rt := gateway.Transport(nil, gateway.Config{
				Window: window(20_000), Dir: t.TempDir(), Now: func() time.Time { return time.Date(2026+year, 2, 3, 4, 5, 6, 7, time.UTC) },
			})
			send(t, rt, u.URL+path, []byte(parts[0]+parts[1]))
		}
		if !bytes.Equal(u.bodies[0], u.bodies[1]) || len(u.bodies[0]) > len(parts[0])/2 {
			t.Errorf("%s: %.2000s\n\n%.2000s", path, u.bodies[0], u.bodies[1])
		}
	}
}

// Text that is no UTF-8, half of a surrogate pair or a control character does no harm in what is
// cut, and stays as it is in what is kept.
func TestOddTextIsShortened(t *testing.T) {
	const odd = "\xff\xfe \\ud83d \\u0000 \\u001b[31m \xc3( "
	u := newUpstream(t)
	body := bytes.ReplaceAll(long(60, odd), []byte("keep the tests green"), []byte("keep "+odd+" green"))
	send(t, gateway.Transport(nil, gateway.Config{Window: window(32_000)}), u.URL+"/v1/messages", body)
	sent := u.bodies[0]
	if len(sent) > len(body)/2 || !json.Valid(sent) || !bytes.HasSuffix(sent, []byte(`"content":"`+odd+`"}]}`)) {
		t.Errorf("%d bytes of %d: %.300q", len(sent), len(body), sent)
	}
	summary, _, ok := bytes.Cut(sent, []byte("</summary>"))
	if _, summary, _ = bytes.Cut(summary, []byte("<summary>")); !ok || !utf8.Valid(summary) || bytes.Contains(summary, []byte(`\ud83d`)) {
		t.Errorf("the summary: %q", summary)
	}
}

// A configuration that is wrong leaves the one that is in use; a new one counts from the next
// request on, and conversations go on as they were.
func TestReload(t *testing.T) {
	a, b := newUpstream(t), newUpstream(t)
	cfg := gateway.HandlerConfig{Upstreams: map[string]string{"anthropic": a.URL}, Config: gateway.Config{Window: window(32_000)}}
	h, err := gateway.NewHandler(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	send(t, nil, s.URL+"/v1/messages", long(40, "x"))
	cfg.Upstreams = map[string]string{"anthropic": "nowhere"}
	if err := h.Reload(cfg); err == nil {
		t.Error("an upstream without an address is taken")
	}
	send(t, nil, s.URL+"/v1/messages", long(40, "x"))
	cfg.Upstreams = map[string]string{"anthropic": a.URL, "other": b.URL}
	cfg.Window = window(1_000_000)
	if err := h.Reload(cfg); err != nil {
		t.Fatal(err)
	}
	send(t, nil, s.URL+"/v1/messages", long(40, "x"))
	send(t, nil, s.URL+"/other/v1/messages", long(40, "x"))
	if len(a.bodies) != 3 || len(b.bodies) != 1 {
		t.Fatalf("%d and %d requests", len(a.bodies), len(b.bodies))
	}
	if !bytes.Equal(a.bodies[0], a.bodies[1]) || !bytes.Equal(a.bodies[0], a.bodies[2]) || !bytes.Equal(b.bodies[0], long(40, "x")) {
		t.Error("the conversation did not go on as it was")
	}
}
