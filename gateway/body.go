package gateway

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/clew-dev/clew/wire"
)

// errReading says that the client did not send what it should.
var errReading = errors.New("the request could not be read")

// bodies are buffers that requests were read into, for the next ones. Larger ones than
// maxPooled are rare and not kept.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

const maxPooled = 8 << 20

// readBody reads a body up to a limit; whole is false when there is more.
func readBody(req *http.Request, limit int64) (p *payload, whole bool, err error) {
	buf := (*bodies.Get().(*[]byte))[:0]
	if n := min(req.ContentLength, limit, maxPooled) + bytes.MinRead; int64(cap(buf)) < n { // more, once it has come
		buf = make([]byte, 0, n)
	}
	to := bytes.NewBuffer(buf)
	n, err := to.ReadFrom(io.LimitReader(req.Body, limit+1))
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", errReading, err)
	}
	p = &payload{data: to.Bytes(), pooled: true}
	if n > limit {
		return p, false, nil
	}
	if to, ok := req.Context().Value(targetKey{}).(*target); ok {
		p.from = to.body
		p.from.kept = true
	}
	return p, true, req.Body.Close()
}

// maxWindow is the most that a zstd stream may ask to be kept in memory.
const maxWindow = 16 << 20

// decoder takes the compression off a stream.
func decoder(encoding string, r io.Reader) (io.ReadCloser, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "gzip":
		return gzip.NewReader(r)
	case "br":
		return io.NopCloser(brotli.NewReader(r)), nil
	case "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("the body is packed as %q, which is passed on unread", encoding)
}

var errUnpacked = errors.New("the body is too large when it is unpacked")

// decoded takes the compression off a body. What it returns is no larger than limit; take is
// asked for the memory, and gets back with a number below 0 what is not used.
func decoded(encoding string, body []byte, limit int64, take func(int64) error) (out []byte, err error) {
	if plain(encoding) {
		return body, nil
	}
	z, err := decoder(encoding, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	asked := &counted{z, take, 0}
	out, err = io.ReadAll(io.LimitReader(asked, limit+1))
	switch {
	case errors.Is(err, errBusy):
	case err != nil:
		err = fmt.Errorf("the body is not %s as it says: %w", encoding, err)
	case int64(len(out)) > limit:
		err = errUnpacked
	default:
		return out, nil
	}
	_ = take(-asked.n)
	return nil, err
}

// counted asks for the memory that is read into.
type counted struct {
	io.Reader
	take func(int64) error
	n    int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	if busy := c.take(int64(n)); busy != nil {
		return n, busy
	}
	return n, err
}

// unlimited is for what is small in any case.
func unlimited(int64) error { return nil }

func plain(encoding string) bool { return encoding == "" || strings.EqualFold(encoding, "identity") }

// payload is a body that is sent, maybe more than once. It is let go of once an answer has
// come, for answers can take an hour; its bytes are used again when nobody reads them any more.
type payload struct {
	mu      sync.Mutex
	data    []byte // nil after release
	held    []byte // what data was, until the last reader is closed
	readers int
	holders int // beside the one that every payload has
	pooled  bool
	plain   []byte        // data without the compression, once it was asked for
	from    *clientBody   // whose memory it is; nil where nobody counts
	in      *wire.Inbound // that reads it, released with it
}

// unpacked returns the bytes without the compression, at most limit.
func (p *payload) unpacked(encoding string, limit int64) (plain []byte, err error) {
	if p.plain == nil {
		if p.plain, err = decoded(encoding, p.data, limit, p.from.take); err != nil {
			return nil, err
		}
	}
	return p.plain, nil
}

// hold puts off the release until it was called once more.
func (p *payload) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holders++
}

func (p *payload) open() (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.data == nil {
		return nil, errors.New("the request was answered already")
	}
	p.readers++
	return &payloadReader{p: p, rest: p.data}, nil
}

func (p *payload) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holders--; p.data != nil && p.holders < 0 {
		p.in.Release()
		p.held, p.data, p.plain, p.in = p.data, nil, nil, nil
		p.free()
		p.from.release()
	}
}

// free gives the bytes back. The caller has the lock.
func (p *payload) free() {
	if p.data != nil || p.readers > 0 || p.held == nil {
		return
	}
	if p.pooled && cap(p.held) <= maxPooled {
		buf := p.held
		bodies.Put(&buf)
	}
	p.held = nil
}

// payloadReader lets go of the bytes when they were read, or when it is closed. A connection
// may close it while it reads; then the lock keeps it from bytes that are another request's.
type payloadReader struct {
	mu   sync.Mutex
	p    *payload // nil when it is closed
	rest []byte
}

func (r *payloadReader) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := copy(b, r.rest)
	if r.rest = r.rest[n:]; n == 0 && len(b) > 0 {
		r.end()
		return 0, io.EOF
	}
	return n, nil
}

func (r *payloadReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
	return nil
}

func (r *payloadReader) end() {
	if r.p == nil {
		return
	}
	r.p.mu.Lock()
	r.p.readers--
	r.p.free()
	r.p.mu.Unlock()
	r.p, r.rest = nil, nil
}
