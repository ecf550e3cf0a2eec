package gateway_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/clew-dev/clew/gateway"
)

func serve(t *testing.T, cfg gateway.HandlerConfig) *httptest.Server {
	t.Helper()
	h, err := gateway.NewHandler(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// A key goes to the upstream that the path names, and to no other.
func TestHandlerRoutes(t *testing.T) {
	a, b := newUpstream(t), newUpstream(t)
	s := serve(t, gateway.HandlerConfig{Upstreams: map[string]string{"anthropic": a.URL, "local": b.URL + "/base"}, Key: "k"})
	paths := map[string]string{}
	about := []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"} // who asks, and how
	for _, u := range []*upstream{a, b} {
		inner := u.Config.Handler
		u.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			paths[r.URL.RequestURI()] = r.Header.Get("X-Api-Key") + r.Header.Get("X-Clew-Key")
			for _, name := range about {
				if v := r.Header.Get(name); v != "" {
					t.Errorf("the upstream is told %s: %s", name, v)
				}
			}
			if "http://"+r.Host != u.URL {
				t.Errorf("the upstream %s is called %s", u.URL, r.Host)
			}
			inner.ServeHTTP(w, r)
		})
	}
	send(t, nil, s.URL+"/v1/messages?beta=true", long(1, "x"), "X-Clew-Key: k", "X-Api-Key: one",
		"X-Forwarded-For: 10.0.0.7", "X-Forwarded-Host: inside", "X-Forwarded-Proto: https", "Forwarded: for=10.0.0.7")
	send(t, nil, s.URL+"/local/v1/chat/completions", []byte(`{"messages":[{"role":"user","content":"x"}]}`), "X-Clew-Key: k", "X-Api-Key: two")
	send(t, nil, s.URL+"/local/v1/models/org%2Fm%20x:y", nil, "X-Clew-Key: k", "X-Api-Key: three")
	if len(paths) != 3 || paths["/v1/messages?beta=true"] != "one" || paths["/base/v1/chat/completions"] != "two" || paths["/base/v1/models/org%2Fm%20x:y"] != "three" {
		t.Errorf("the upstreams saw %v", paths)
	}
	for _, bad := range []string{"ftp://x", "x", "http://", "http://x?a=b"} {
		if _, err := gateway.NewHandler(gateway.HandlerConfig{Upstreams: map[string]string{"x": bad}}); err == nil {
			t.Errorf("%s is taken for an address", bad)
		}
	}
}

// Refusals have the shape of the API that was called, and nothing goes upstream.
func TestHandlerRefuses(t *testing.T) {
	u := newUpstream(t)
	for _, c := range []struct {
		name, path string
		cfg        gateway.HandlerConfig
		header     []string
		host       string
		status     int
		want       string
	}{
		{"a web page", "/v1/messages", gateway.HandlerConfig{}, []string{"Origin: https://evil.example"}, "", 403, `"type":"permission_error"`},
		{"a web page, by another header", "/v1/messages", gateway.HandlerConfig{}, []string{"Sec-Fetch-Site: cross-site"}, "", 403, `"type":"permission_error"`},
		{"another machine's address", "/v1/messages", gateway.HandlerConfig{}, nil, "192.168.1.5:8790", 403, `"permission_error"`},
		{"another host", "/v1/messages", gateway.HandlerConfig{}, nil, "evil.example", 403, `"permission_error"`},
		{"no key", "/v1/chat/completions", gateway.HandlerConfig{Key: "k"}, nil, "", 401, `"gateway_error"`},
		{"an unknown path", "/nowhere", gateway.HandlerConfig{}, nil, "", 404, "/anthropic, /chatgpt, /gemini, /gone, /openai"},
		{"a websocket", "/v1/responses", gateway.HandlerConfig{}, []string{"Upgrade: websocket"}, "", 426, "websocket"},
		{"an upstream that is gone", "/gone/v1beta/models/m:generateContent", gateway.HandlerConfig{}, nil, "", 502, `"status":"BAD_GATEWAY"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			gone := httptest.NewServer(nil)
			gone.Close()
			c.cfg.Upstreams = map[string]string{"anthropic": u.URL, "openai": u.URL, "gemini": u.URL, "gone": gone.URL}
			h, err := gateway.NewHandler(c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8790"+c.path, strings.NewReader("{}"))
			if c.host != "" {
				req.Host = c.host
			}
			for _, h := range c.header {
				k, v, _ := strings.Cut(h, ": ")
				req.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if len(u.bodies) > 0 {
				t.Error("the request went upstream")
			}
		})
	}
}

// An address that other machines can reach is told from one that they can't; a name may be anything.
func TestCheckListen(t *testing.T) {
	for addr, want := range map[string]error{
		"127.0.0.1:1": nil, "localhost:1": nil, "[::1]:1": nil, "127.8.9.1:1": nil,
		":1": gateway.ErrExposed, "0.0.0.0:1": gateway.ErrExposed, "[::]:1": gateway.ErrExposed, "192.168.1.2:1": gateway.ErrExposed,
		"build7:1": gateway.ErrExposed, "localhost.example.com:1": gateway.ErrExposed,
	} {
		if err := gateway.CheckListen(addr); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v", addr, err)
		}
	}
	for _, bad := range []string{"8790", "127.0.0.1:99999", "127.0.0.1:-1"} {
		if err := gateway.CheckListen(bad); err == nil || errors.Is(err, gateway.ErrExposed) {
			t.Errorf("%s is taken for an address: %v", bad, err)
		}
	}
}

// As a middleware it shortens what the next one gets, and each client has its own next one.
func TestMiddleware(t *testing.T) {
	m := gateway.Middleware(gateway.Config{Window: window(20_000)})
	for i := range 2 {
		body, got := long(40, "go on"), 0
		req, err := http.NewRequest(http.MethodPost, "http://model.example/v1/messages", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := m(req, func(r *http.Request) (*http.Response, error) {
			sent, err := io.ReadAll(r.Body)
			got = len(sent)
			return &http.Response{StatusCode: 200 + i, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(plainAnswer))}, err
		})
		if err != nil || resp.StatusCode != 200+i || got == 0 || got > len(body)/2 {
			t.Fatalf("of %d bytes %d were sent on, %v", len(body), got, err)
		}
		_ = resp.Body.Close()
	}
}

// Anthropic's stream says at its beginning what the input was, and at its end what the output
// was, however short it is.
func TestUsageOfStreams(t *testing.T) {
	for _, words := range []int{1, 5000} {
		u := newUpstream(t)
		u.answer = func(w http.ResponseWriter, _ int) {
			write(w, "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":90,\"output_tokens\":1}}}\n\n")
			write(w, strings.Repeat("data: {\"text\":\"the usage\"}\n\n", words))
			write(w, "data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":42}}\n\n")
		}
		var got *gateway.Usage
		send(t, gateway.Transport(nil, gateway.Config{OnEvent: func(e gateway.Event) { got = e.Usage }}), u.URL+"/v1/messages", long(1, "x"))
		if got == nil || *got != (gateway.Usage{Input: 100, CacheRead: 90, Output: 42}) {
			t.Errorf("%d words: %+v", words, got)
		}
	}
}

// Events of a stream arrive one by one, and one that breaks off does not end well.
func TestHandlerStreams(t *testing.T) {
	u := newUpstream(t)
	next := make(chan struct{})
	u.answer = func(w http.ResponseWriter, n int) {
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, "data: one\n\n")
		w.(http.Flusher).Flush()
		<-next
		if n == 2 {
			panic(http.ErrAbortHandler)
		}
		write(w, "data: two\n\n")
	}
	s := serve(t, gateway.HandlerConfig{Upstreams: map[string]string{"anthropic": u.URL}})
	for _, broken := range []bool{false, true} {
		resp, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"x"}],"stream":true}`))
		if err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(resp.Body)
		if line, err := r.ReadString('\n'); err != nil || line != "data: one\n" {
			t.Fatalf("first %q, %v", line, err)
		}
		next <- struct{}{} // the second event is not sent before the first has arrived
		rest, err := io.ReadAll(r)
		if !broken && (err != nil || string(rest) != "\ndata: two\n\n") || broken && err == nil {
			t.Errorf("broken %v: then %q, %v", broken, rest, err)
		}
		_ = resp.Body.Close()
	}
}

func TestHandlerIsFull(t *testing.T) {
	u := newUpstream(t)
	inside, release := make(chan struct{}), make(chan struct{})
	u.answer = func(w http.ResponseWriter, _ int) { inside <- struct{}{}; <-release; write(w, plainAnswer) }
	s := serve(t, gateway.HandlerConfig{Upstreams: map[string]string{"anthropic": u.URL}, MaxRequests: 1})
	done := make(chan int)
	go func() {
		status, _ := send(t, nil, s.URL+"/v1/messages", long(1, "x"))
		done <- status
	}()
	<-inside
	if status, body := send(t, nil, s.URL+"/v1/messages", long(1, "x")); status != 429 || !strings.Contains(body, "rate_limit_error") {
		t.Errorf("%d %s", status, body)
	}
	close(release)
	if status := <-done; status != 200 {
		t.Errorf("the first request ended with %d", status)
	}
}
