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
