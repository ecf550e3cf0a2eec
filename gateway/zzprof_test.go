package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/clew-dev/clew/gateway"
)

func BenchmarkZZHit(b *testing.B)  { zz(b, 5) }
func BenchmarkZZPass(b *testing.B) { zz(b, 0) }
func zz(b *testing.B, div int64) {
	n := 1
	for len(long(n, "x")) < 9<<10 {
		n++
	}
	body := long(n, "x")
	w := int64(100_000_000)
	if div > 0 {
		w = int64(len(body)) / div
	}
	rt := gateway.Transport(inMemory{}, gateway.Config{Window: window(w), OnEvent: func(gateway.Event) {}})
	b.ReportAllocs()
	for b.Loop() {
		req, _ := http.NewRequest(http.MethodPost, "http://up/v1/messages", bytes.NewReader(body))
		resp, err := rt.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}
