package gateway

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const busy = "clew gateway: too many requests at once; try again"

var errBusy = errors.New(busy)

// buffers are what answers are copied with. Streams keep one as long as they live, and their
// events are small.
var buffers bufferPool

type bufferPool struct{ pool sync.Pool }

func (b *bufferPool) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 8<<10)
}

func (b *bufferPool) Put(p []byte) { b.pool.Put(&p) }

// limited puts limits on what a client sends and takes: memory, and the time between two
// pieces. There is none on the whole, for answers may take an hour.
func (h *handler) limited(w http.ResponseWriter, r *http.Request) (*clientBody, *clientWriter) {
	control := http.NewResponseController(w)
	body := &clientBody{ReadCloser: r.Body, h: h, control: control}
	r.Body = body
	return body, &clientWriter{ResponseWriter: w, control: control, limit: h.cfg.ClientTimeout}
}

// clientBody is the body of a request.
type clientBody struct {
	io.ReadCloser
	h       *handler
	control *http.ResponseController
	read    atomic.Int64 // bytes that are in memory for it; below 0 once it has ended
	kept    bool         // beyond the beginning of the answer, where that may call for another request
}

func (c *clientBody) Read(p []byte) (int, error) {
	_ = c.control.SetReadDeadline(time.Now().Add(c.h.cfg.ClientTimeout)) // a server in a test may have none
	n, err := c.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) { // after an error the server would wait for the rest
		_ = c.control.SetReadDeadline(time.Time{})
	}
	if c.read.Load() > c.h.cfg.MaxBody { // it is passed on as it comes
		return n, err
	}
	if busy := c.take(int64(n)); busy != nil && err == nil {
		return n, busy
	}
	return n, err
}

// take counts memory, or with a number below 0 gives it back.
func (c *clientBody) take(n int64) error {
	if c == nil {
		return nil
	}
	if c.read.Add(n) < 0 {
		return nil // a connection may still be reading what nobody waits for
	}
	if c.h.held.Add(n) > c.h.cfg.MaxMemory && n > 0 {
		return errBusy
	}
	return nil
}

// release gives back what was held; only the first time counts.
func (c *clientBody) release() {
	if c == nil {
		return
	}
	for n := c.read.Load(); n > 0; n = c.read.Load() {
		if c.read.CompareAndSwap(n, 0) {
			c.h.held.Add(-n)
			return
		}
	}
}

// end gives back what was held, and nothing counts any more.
func (c *clientBody) end() {
	if n := c.read.Swap(math.MinInt64 / 2); n > 0 {
		c.h.held.Add(-n)
	}
}

// clientWriter is where an answer goes.
type clientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
}

func (c *clientWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *clientWriter) Write(p []byte) (int, error) {
	_ = c.control.SetWriteDeadline(time.Now().Add(c.limit))
	return c.ResponseWriter.Write(p)
}

// free takes the limit off the connection.
func (c *clientWriter) free() { _ = c.control.SetWriteDeadline(time.Time{}) }

// silence closes an answer that stops coming.
type silence struct {
	io.ReadCloser
	limit time.Duration
	timer *time.Timer
	over  atomic.Bool
}

func newSilence(body io.ReadCloser, limit time.Duration) io.ReadCloser {
	s := &silence{ReadCloser: body, limit: limit}
	s.timer = time.AfterFunc(limit, func() {
		s.over.Store(true)
		_ = body.Close()
	})
	return s
}

func (s *silence) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	switch {
	case s.over.Load():
		return n, fmt.Errorf("the upstream said nothing for %s", s.limit)
	case err != nil:
		s.timer.Stop()
	default:
		s.timer.Reset(s.limit)
	}
	return n, err
}

func (s *silence) Close() error {
	s.timer.Stop()
	return s.ReadCloser.Close()
}

// refuseFailed answers where a request could not be sent on.
func refuseFailed(w http.ResponseWriter, r *http.Request, err error) {
	to := r.Context().Value(targetKey{}).(*target)
	switch {
	case errors.Is(err, errBusy):
		refuse(w, to.api, http.StatusTooManyRequests, busy)
	case errors.Is(err, os.ErrDeadlineExceeded) && errors.Is(err, errReading):
		refuse(w, to.api, http.StatusRequestTimeout, "clew gateway: the request did not come to its end in time")
	case errors.Is(err, errReading):
		refuse(w, to.api, http.StatusBadRequest, fmt.Sprintf("clew gateway: %v", err))
	default:
		refuse(w, to.api, http.StatusBadGateway, fmt.Sprintf("clew gateway: %s can't be reached: %v", to.base.Host, err))
	}
}
