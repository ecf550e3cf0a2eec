package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"time"
)

// web makes the calls to an address.
type web struct {
	base   *http.Transport
	header http.Header
	tap    *tap
	life   context.Context // ends every request
}

// newWeb returns a client for one address, whose requests end with life. Close its idle
// connections.
func newWeb(life context.Context, address string, header http.Header, t *tap) (*http.Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("url must be like https://example.com/mcp, and is %q", address)
	}
	base := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 15 * time.Second,
		IdleConnTimeout:     90 * time.Second,
	}
	return &http.Client{
		Transport: &web{base, header, t, life},
		CheckRedirect: func(next *http.Request, before []*http.Request) error {
			// The headers may hold a secret, which belongs to the address that was named.
			if next.URL.Host != u.Host || next.URL.Scheme != u.Scheme || len(before) > 3 {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}, nil
}

// RoundTrip implements http.RoundTripper.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(w.life, cancel)
	end := func() { stop(); cancel() }
	r = r.Clone(ctx)
	for name, values := range w.header {
		r.Header[name] = values
	}
	resp, err := w.base.RoundTrip(r)
	if err != nil {
		end()
		return nil, err
	}
	resp.Body = &ending{resp.Body, end}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	events := kind == "text/event-stream"
	if !events { // of which the SDK bounds each event, and no other answer
		resp.Body = &bounded{resp.Body, maxMessage}
	}
	resp.Body = w.tap.on(resp.Body, events)
	return resp, nil
}

// CloseIdleConnections is what http.Client asks for.
func (w *web) CloseIdleConnections() { w.base.CloseIdleConnections() }

// ending is a body with something to do when it is closed.
type ending struct {
	io.ReadCloser
	end func()
}

// Close implements io.Closer.
func (e *ending) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}

var errTooLarge = errors.New("the server's answer is larger than 16 MiB")

// bounded is an answer of at most left bytes.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
