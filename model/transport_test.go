package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/gemini"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/model/openai"
	"github.com/clew-dev/clew/wire"
)

// slept records how long was waited, without waiting.
type slept []time.Duration

func (s *slept) sleep(ctx context.Context, d time.Duration) error {
	*s = append(*s, d)
	return ctx.Err()
}

// A provider that says how long to wait is heard; else the wait doubles, between
// half and all of it; one that asks for too much is not waited for.
func TestWaits(t *testing.T) {
	each(t, modeltest.Config{}, func(t *testing.T, a adapter, s *modeltest.Server, _ model.Model) {
		var waits slept
		m := a.connect(t, s, func(e *model.Endpoint) {
			e.Transport = model.NewTransport(model.TransportConfig{Retry: model.Retry{
				Attempts: 5, Base: time.Second, Max: 3 * time.Second, Sleep: waits.sleep, Random: func() float64 { return 0.5 },
			}})
		})
		s.Add(modeltest.RateLimited(2*time.Second), modeltest.Fail(model.KindServer), modeltest.Fail(model.KindServer), modeltest.Text("ok"))
		if _, err := m.Complete(context.Background(), ask("hi")); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(waits), "[2s 1.5s 2.25s]"; got != want {
			t.Errorf("waited %s, want %s", got, want)
		}
		waits = nil
		s.Add(modeltest.RateLimited(time.Hour))
		_, err := m.Complete(context.Background(), ask("hi"))
		var e *model.Error
		if !errors.As(err, &e) || e.RetryAfter != time.Hour || e.Attempts != 1 || len(waits) != 0 {
			t.Errorf("asked to wait an hour: waited %v, %v", waits, err)
		}
	})
}

// A request may say itself how often it is tried; else the transport does.
func TestAttemptsOfARequest(t *testing.T) {
	each(t, modeltest.Config{}, func(t *testing.T, a adapter, s *modeltest.Server, _ model.Model) {
		var told []string
		m := a.connect(t, s, func(e *model.Endpoint) {
			e.Transport = model.NewTransport(model.TransportConfig{Retry: model.Retry{
				Attempts: 2, Sleep: new(slept).sleep,
				Notify: func(attempt, of int, _ *model.Error, _ time.Duration) {
					told = append(told, fmt.Sprint(attempt, "/", of))
				},
			}})
		})
		for own, want := range map[int]int{0: 2, 1: 1, 3: 3} {
			for _, call := range []func(*model.Request) (*model.Response, error){
				func(r *model.Request) (*model.Response, error) { return m.Complete(context.Background(), r) },
				func(r *model.Request) (*model.Response, error) { return m.Stream(context.Background(), r, nil) },
			} {
				told = nil
				for range want {
					s.Add(modeltest.Fail(model.KindServer))
				}
				r := ask("hi")
				r.Attempts = own
				_, err := call(r)
				var e *model.Error
				if !errors.As(err, &e) || e.Attempts != want || len(told) != want-1 {
					t.Errorf("a request for %d attempts: %v, told %v", own, err, told)
				}
				if want == 3 && fmt.Sprint(told) != "[1/3 2/3]" {
					t.Errorf("told %v", told)
				}
			}
		}
	})
	r := ask("hi")
	r.Attempts = -1
	if _, _, err := r.Build(wire.Anthropic, wire.Target{}); err == nil {
		t.Error("no error for fewer attempts than none")
	}
}

func TestRetryAfterForms(t *testing.T) {
	for _, c := range []struct {
		header, value, body string
		want                time.Duration
	}{
		{"Retry-After", "3", "", 3 * time.Second},
		{"Retry-After", "0.5", "", 500 * time.Millisecond},
		{"Retry-After-Ms", "250", "", 250 * time.Millisecond},
		{"Retry-After", "Sun, 06 Nov 1994 08:49:40 GMT", "", 3 * time.Second}, // after its Date
		{"Retry-After", "soon", "", 0},
		{"Retry-After", "-3", "", 0},
		{"Retry-After", "1e300", "", 0},
		{"", "", `{"error":{"message":"Please try again in 9.816s."}}`, 9816 * time.Millisecond},
		{"", "", `{"error":{"message":"Please try again in 1m2.5s."}}`, 62500 * time.Millisecond},
		{"", "", `{"error":{"message":"Please try again in 644ms."}}`, 644 * time.Millisecond},
		{"", "", `{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"59s"}]}}`, 59 * time.Second},
		{"", "", `{"error":{"message":"no"}}`, 0},
	} {
		h := http.Header{"Date": {"Sun, 06 Nov 1994 08:49:37 GMT"}}
		if c.header != "" {
			h.Set(c.header, c.value)
		}
		if e := model.ErrorFromBody("p", 429, h, []byte(c.body)); e.RetryAfter != c.want || e.Kind != model.KindRateLimit {
			t.Errorf("%+v: got %s, %s", c, e.RetryAfter, e.Kind)
		}
	}
}

// A cancelled call ends, at every step: while the server is
// silent, in the middle of a stream, while waiting to repeat.
func TestCancel(t *testing.T) {
	each(t, modeltest.Config{}, func(t *testing.T, a adapter, s *modeltest.Server, _ model.Model) {
		var cancel context.CancelFunc
		m := a.connect(t, s, func(e *model.Endpoint) {
			e.Transport = model.NewTransport(model.TransportConfig{Retry: model.Retry{
				Base: time.Hour, Max: time.Hour, Notify: func(int, int, *model.Error, time.Duration) { cancel() },
			}})
		})
		for name, reply := range map[string]modeltest.Reply{
			"silent":    modeltest.Text("x").With(modeltest.Faults{Delay: time.Hour}),
			"in stream": modeltest.Text("a text that never ends").With(modeltest.Faults{Pause: time.Hour}),
			"waiting":   modeltest.Fail(model.KindOverloaded),
		} {
			s.Add(reply)
			var ctx context.Context
			ctx, cancel = context.WithCancel(context.Background())
			if name != "waiting" { // whenever it comes
				time.AfterFunc(60*time.Millisecond, cancel)
			}
			_, err := m.Stream(ctx, ask("hi"), nil)
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != model.KindCanceled || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
			if name == "waiting" && !strings.Contains(err.Error(), "verloaded") {
				t.Errorf("it is not said what was waited for: %v", err)
			}
			cancel()
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		s.Add(modeltest.Text("x").With(modeltest.Faults{Delay: time.Hour}))
		_, err := m.Complete(ctx, ask("hi"))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.KindDeadline || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("deadline: %v", err)
		}
	})
}

// A server that says nothing, and one that stops in the middle, are given up.
func TestTimeouts(t *testing.T) {
	each(t, modeltest.Config{}, func(t *testing.T, a adapter, s *modeltest.Server, _ model.Model) {
		if a.name != "anthropic" {
			t.Skip("the transport is the same for all")
		}
		m := a.connect(t, s, func(e *model.Endpoint) {
			e.Transport = model.NewTransport(model.TransportConfig{
				Wait: 150 * time.Millisecond, Idle: 150 * time.Millisecond,
				Retry: model.Retry{Attempts: 2, Sleep: new(slept).sleep},
			})
		})
		s.Add(modeltest.Text("x").With(modeltest.Faults{Delay: time.Hour}), modeltest.Text("back"))
		if r, err := m.Stream(context.Background(), ask("hi"), nil); err != nil || r.Text() != "back" || r.Attempts != 2 {
			t.Errorf("silent at first: %v", err)
		}
		s.Add(modeltest.Answer(modeltest.Think("some words of thinking"), modeltest.Call("c", "read", `{"path":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}`)).With(modeltest.Faults{Pause: 400 * time.Millisecond}))
		_, err := m.Stream(context.Background(), ask("hi"), nil)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.KindTimeout && e.Kind != model.KindInvalid {
			t.Errorf("stopped in the middle: %v", err)
		}
		// Pauses that are short enough do not add up.
		m = a.connect(t, s, func(e *model.Endpoint) {
			e.Transport = model.NewTransport(model.TransportConfig{Wait: time.Minute, Idle: 500 * time.Millisecond})
		})
		s.Add(modeltest.Text("an answer that takes its time").With(modeltest.Faults{Pause: 90 * time.Millisecond}))
		if _, err := m.Stream(context.Background(), ask("hi"), nil); err != nil {
			t.Errorf("slow, but steady: %v", err)
		}
	})
}

func TestAnswerTooLarge(t *testing.T) {
	each(t, modeltest.Config{}, func(t *testing.T, a adapter, s *modeltest.Server, _ model.Model) {
		m := a.connect(t, s, func(e *model.Endpoint) {
			e.Transport = model.NewTransport(model.TransportConfig{MaxAnswer: 2000})
		})
		for _, stream := range []bool{false, true} {
			s.Add(modeltest.Text(strings.Repeat("long ", 1000)))
			_, err := call(m, ask("hi"), stream)
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != model.KindUnreadable || e.Attempts != 1 {
				t.Errorf("stream %v: %v", stream, err)
			}
		}
	})
}

// No connection at all is an error that says so, and may pass.
func TestNoServer(t *testing.T) {
	for _, a := range adapters {
		s := modeltest.Start(modeltest.Config{})
		m := a.connect(t, s)
		s.Close()
		_, err := m.Complete(context.Background(), ask("hi"))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.KindNetwork || e.Attempts != 4 {
			t.Errorf("%s: %v", a.name, err)
		}
	}
}

// The key comes from the environment, for the vendor's own address alone.
func TestKeys(t *testing.T) {
	env := func(vars map[string]string) func(string) string { return func(k string) string { return vars[k] } }
	open := map[string]func(e model.Endpoint) error{
		"ANTHROPIC_API_KEY": func(e model.Endpoint) error { _, err := anthropic.New(anthropic.Config{Endpoint: e}); return err },
		"OPENAI_API_KEY":    func(e model.Endpoint) error { _, err := openai.NewChat(openai.Config{Endpoint: e}); return err },
		"GEMINI_API_KEY":    func(e model.Endpoint) error { _, err := gemini.New(gemini.Config{Endpoint: e}); return err },
		"GOOGLE_API_KEY":    func(e model.Endpoint) error { _, err := gemini.New(gemini.Config{Endpoint: e}); return err },
	}
	for name, f := range open {
		if err := f(model.Endpoint{Model: "m", Getenv: env(nil)}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without a key: %v", err)
		}
		if err := f(model.Endpoint{Model: "m", Getenv: env(map[string]string{name: " k \n"})}); err != nil {
			t.Error(err)
		}
		if err := f(model.Endpoint{Model: "m", BaseURL: "http://localhost:1/v1", Getenv: func(string) string {
			t.Error("the environment was asked for another server's key")
			return ""
		}}); err != nil {
			t.Error(err)
		}
		if err := f(model.Endpoint{Model: "m", BaseURL: "http://localhost:1/v1", KeyEnv: "MINE", Getenv: env(nil)}); err == nil || !strings.Contains(err.Error(), "MINE") {
			t.Errorf("a named variable that is not set: %v", err)
		}
		for _, bad := range []string{"your key", "sk-1\nsk-2", "sk-…"} {
			if err := f(model.Endpoint{Model: "m", Getenv: env(map[string]string{name: bad})}); err == nil || !strings.Contains(err.Error(), "copy it again") || strings.Contains(err.Error(), bad) {
				t.Errorf("key %q: %v", bad, err)
			}
		}
	}
	for _, bad := range []model.Endpoint{
		{},
		{Model: " "},
		{Model: "m", BaseURL: "localhost:11434"},
		{Model: "m", BaseURL: "ftp://x"},
		{Model: "m", BaseURL: "https://user:pw@host/v1"},
		{Model: "m", BaseURL: "https://host/v1?key=1"},
		{Model: "m", BaseURL: "://"},
	} {
		for _, f := range open {
			if err := f(bad); err == nil {
				t.Errorf("%+v is taken", bad)
			}
		}
	}
}

// A key prints as a word however it is printed.
func TestKeyIsHidden(t *testing.T) {
	k := model.NewKey("sk-very-secret")
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", k, "e", model.Endpoint{Key: k})
	js, err := json.Marshal(map[string]any{"k": k})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprint(k), fmt.Sprintf("%v %+v %#v %s %q", k, k, k, k, k), fmt.Sprintf("%+v %#v", model.Endpoint{Key: k}, struct{ K model.Key }{k}), string(js), log.String()} {
		if strings.Contains(s, "secret") {
			t.Errorf("it stands in %q", s)
		}
	}
	if k.Reveal() != "sk-very-secret" || model.NewKey("  ").String() != "(no key)" {
		t.Error("the key is lost")
	}
}

// Keys and secret headers do not get into errors, whoever quotes them, and are
// not carried along by a redirect.
func TestSecretsStayOut(t *testing.T) {
	for _, a := range adapters {
		var away []http.Header
		elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { away = append(away, r.Header) }))
		status := http.StatusBadRequest
		quoting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if status == http.StatusTemporaryRedirect {
				http.Redirect(w, r, elsewhere.URL, status)
				return
			}
			w.WriteHeader(status)
			dump, _ := json.Marshal(r.Header)
			fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, "you sent "+string(dump))
		}))
		m, err := a.open(model.Endpoint{
			Model: "m", BaseURL: quoting.URL, Key: model.NewKey("sk-quoted-key"),
			Header: http.Header{"X-My-Token": {"header-secret"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, status = range []int{http.StatusBadRequest, http.StatusTemporaryRedirect} {
			_, err := m.Complete(context.Background(), ask("hi"))
			if err == nil || strings.Contains(err.Error(), "sk-quoted-key") || strings.Contains(err.Error(), "header-secret") {
				t.Errorf("%s, status %d: %v", a.name, status, err)
			}
			if status == http.StatusBadRequest && !strings.Contains(err.Error(), "you sent") {
				t.Errorf("the rest of the text is lost: %v", err)
			}
		}
		if len(away) > 0 {
			t.Errorf("%s followed a redirect with %v", a.name, away)
		}
		// A network error quotes the address.
		broken, err := a.open(model.Endpoint{
			Model: "m", BaseURL: "http://127.0.0.1:1/sk-quoted-key", Key: model.NewKey("sk-quoted-key"),
			Transport: model.NewTransport(model.TransportConfig{Retry: model.Retry{Attempts: 1}}),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := broken.Complete(context.Background(), ask("hi")); strings.Contains(fmt.Sprintf("%v %+v", err, errors.Unwrap(err)), "sk-quoted-key") {
			t.Errorf("%v", err)
		}
		quoting.Close()
		elsewhere.Close()
	}
}

// One transport serves several models, and its connections are shared.
func TestSharedTransport(t *testing.T) {
	s := modeltest.Start(modeltest.Config{})
	defer s.Close()
	dials := 0
	base := &http.Transport{}
	counting := roundTripper(func(r *http.Request) (*http.Response, error) {
		dials++
		return base.RoundTrip(r)
	})
	shared := model.NewTransport(model.TransportConfig{Base: counting})
	for _, a := range adapters {
		s.Add(modeltest.Text("hi"))
		if _, err := a.connect(t, s, func(e *model.Endpoint) { e.Transport = shared }).Complete(context.Background(), ask("hi")); err != nil {
			t.Fatal(err)
		}
	}
	if dials != len(adapters) {
		t.Errorf("%d calls went through the transport", dials)
	}
	base.CloseIdleConnections()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Errors of servers in front of an API come as pages; they are told in short.
func TestErrorPages(t *testing.T) {
	page := "<html><head><title>502 Bad Gateway</title><style>b{}</style><script>var x</script></head><body><center><h1>502 Bad Gateway</h1></center><hr>nginx</body></html>"
	e := model.ErrorFromBody("p", 502, nil, []byte(page))
	if e.Kind != model.KindServer || e.Message != "502 Bad Gateway 502 Bad Gateway nginx" {
		t.Errorf("%s: %q", e.Kind, e.Message)
	}
	for _, body := range []string{"", "{}", "[]", "null", "[[]]", `{"error":null}`, `{"error":[]}`, `{"error":{"message":5}}`, "\xff\xfe", strings.Repeat("x", 1<<20), `{"detail":[{"msg":"field required"}]}`} {
		e := model.ErrorFromBody("p", 400, nil, []byte(body))
		if e.Kind != model.KindInvalid || len(e.Message) > 5000 {
			t.Errorf("%.20q: %s, %d bytes", body, e.Kind, len(e.Message))
		}
	}
	if e := model.ErrorFromBody("p", 422, nil, []byte(`{"detail":[{"msg":"field required"}]}`)); e.Message != "field required" {
		t.Errorf("%q", e.Message)
	}
}
