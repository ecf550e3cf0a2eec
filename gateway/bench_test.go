package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/gateway"
)

// BenchmarkAdded sends bodies of three sizes straight to an upstream on this machine, through
// httputil.ReverseProxy, through the gateway, through the gateway with an epoch in use, and
// through a proxy that reads and writes the body with encoding/json, in turns. It reports
// what each adds to the median of the direct request, in milliseconds.
func BenchmarkAdded(b *testing.B) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"m","content":[{"type":"text","text":"ok"}]}`)
	}))
	defer up.Close()
	to, err := url.Parse(up.URL)
	if err != nil {
		b.Fatal(err)
	}
	proxy := httptest.NewServer(httputil.NewSingleHostReverseProxy(to))
	defer proxy.Close()
	again := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v map[string]any
		if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
			b.Error(err)
		}
		body, _ := json.Marshal(v)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		httputil.NewSingleHostReverseProxy(to).ServeHTTP(w, r)
	}))
	defer again.Close()
	with := func(tokens int64) *httptest.Server {
		h, err := gateway.NewHandler(gateway.HandlerConfig{
			Upstreams: map[string]string{"anthropic": up.URL}, Config: gateway.Config{Window: window(tokens)},
		})
		if err != nil {
			b.Fatal(err)
		}
		return httptest.NewServer(h)
	}
	for _, kb := range []int{9, 88, 665} {
		body := long(1, "x")
		for n := 2; len(body) < kb<<10; n += 1 + n/50 {
			body = long(n, "x")
		}
		wide, tight := with(10_000_000), with(int64(len(body)/5))
		b.Run(fmt.Sprintf("%dKB", kb), func(b *testing.B) {
			servers := map[string]string{"direct": up.URL, "proxy": proxy.URL, "json": again.URL, "gateway": wide.URL, "epoch": tight.URL}
			took := map[string][]time.Duration{}
			for b.Loop() {
				for name, addr := range servers {
					begin := time.Now()
					resp, err := http.Post(addr+"/v1/messages", "application/json", bytes.NewReader(body))
					if err != nil {
						b.Fatal(err)
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					took[name] = append(took[name], time.Since(begin))
				}
			}
			median := func(name string) float64 {
				slices.Sort(took[name])
				return took[name][len(took[name])/2].Seconds() * 1000
			}
			for _, name := range []string{"proxy", "gateway", "epoch", "json"} {
				b.ReportMetric(median(name)-median("direct"), name+"-ms")
			}
		})
		wide.Close()
		tight.Close()
	}
}

// inMemory is an upstream without a network: it reads a request and reports its size.
type inMemory struct{}

func (inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	n, err := io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	answer := fmt.Sprintf(`{"id":"m","content":[{"type":"text","text":"ok"}],"usage":{"input_tokens":%d,"output_tokens":2}}`, n/4)
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, err
}

// BenchmarkHit compares what a request costs that is sent under an epoch with what the same one
// costs where it passes as it came: in time of the processor, without a network, in turns, for 1, 10
// and 100 conversations that the gateway knows. The least of many rounds counts, so that a busy
// machine does not decide. "ratio" is hit to pass.
func BenchmarkHit(b *testing.B) {
	for _, kb := range []int{9, 88, 665} {
		for _, talks := range []int{1, 10, 100} {
			bodies := make([][]byte, talks)
			for i := range bodies {
				n := 1
				for len(long(n, "x")) < kb<<10 {
					n += 1 + n/50
				}
				bodies[i] = bytes.Replace(long(n, "x"), []byte("Request 0"), fmt.Appendf(nil, "Request %d.0", i), 1)
			}
			rounds := max(1, 2000/kb)
			transport := func(window int64, hit bool) func() time.Duration {
				shortened := 0
				rt := gateway.Transport(inMemory{}, gateway.Config{
					Window: func(string, string) int64 { return window },
					OnEvent: func(e gateway.Event) {
						if e.Outcome == gateway.Shortened {
							shortened++
						}
					},
				})
				n := 0
				one := func() {
					req, err := http.NewRequest(http.MethodPost, "http://up/v1/messages", bytes.NewReader(bodies[n%talks]))
					if err != nil {
						b.Fatal(err)
					}
					n++
					resp, err := rt.RoundTrip(req)
					if err != nil {
						b.Fatal(err)
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
				for range 2 * talks {
					one()
				}
				return func() time.Duration {
					was, begin := shortened, processor()
					for range rounds {
						one()
					}
					took := processor() - begin
					if got := shortened - was; got != 0 && !hit || got != rounds && hit {
						b.Fatalf("%d of %d requests were shortened", got, rounds)
					}
					return took
				}
			}
			pass, hit := transport(100_000_000, false), transport(int64(len(bodies[0])/5), true)
			b.Run(fmt.Sprintf("%dKB/%d", kb, talks), func(b *testing.B) {
				passes, hits := time.Hour, time.Hour
				for b.Loop() {
					passes, hits = min(passes, pass()), min(hits, hit())
				}
				each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(rounds) }
				b.ReportMetric(each(passes), "pass-µs")
				b.ReportMetric(each(hits), "hit-µs")
				b.ReportMetric(float64(hits)/float64(passes), "ratio")
			})
		}
	}
}

// BenchmarkIdleStreams holds 2,000 streams open, each after a request of 88 KB, and reports the
// memory that the gateway takes for them: what it takes with the gateway between client and
// upstream, less what it takes without. With -short there are 200.
func BenchmarkIdleStreams(b *testing.B) {
	n := 2_000
	if testing.Short() {
		n = 200
	}
	end := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {}\n\n")
		w.(http.Flusher).Flush()
		<-end
	}))
	defer up.Close()
	defer close(end)
	h, err := gateway.NewHandler(gateway.HandlerConfig{Upstreams: map[string]string{"anthropic": up.URL}, MaxRequests: n})
	if err != nil {
		b.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	body := long(36, "x")
	hold := func(addr string) float64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range n {
			resp, err := http.Post(addr+"/v1/messages", "application/json", bytes.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			if _, err := io.ReadFull(resp.Body, make([]byte, 10)); err != nil {
				b.Fatal(err)
			}
		}
		runtime.GC()
		runtime.GC() // what pools held
		runtime.ReadMemStats(&after)
		return float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse) / (1 << 20)
	}
	for b.Loop() {
		direct := hold(up.URL)
		b.ReportMetric(hold(s.URL)-direct, "MB")
	}
}
