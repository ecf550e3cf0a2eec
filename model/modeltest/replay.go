package modeltest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
)

// Replay is a server that answers what was recorded, whatever it is asked.
type Replay struct {
	URL string

	http *httptest.Server
	mu   sync.Mutex
	left []Exchange
}

// StartReplay starts a server that answers the exchanges in order. Close it.
func StartReplay(xs []Exchange) *Replay {
	r := &Replay{left: xs}
	r.http = httptest.NewServer(r)
	r.URL = r.http.URL
	return r
}

// Close stops the server.
func (r *Replay) Close() { r.http.Close() }

// ServeHTTP implements http.Handler.
func (r *Replay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.left) == 0 || r.left[0].Path != req.URL.RequestURI() {
		http.Error(w, fmt.Sprintf(`{"error":{"message":"nothing was recorded for %s"}}`, req.URL.Path), http.StatusNotFound)
		return
	}
	x := r.left[0]
	r.left = r.left[1:]
	for k, v := range x.ResponseHeader {
		if k != "Content-Length" && k != "Date" {
			w.Header()[k] = v
		}
	}
	w.WriteHeader(x.Status)
	_, _ = w.Write([]byte(x.Response))
}
