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
	"sync/atomic"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// errReading says that the client did not send what it should.
var errReading = errors.New("the request could not be read")

// readBody reads a body up to a limit; whole is false when there is more.
func readBody(req *http.Request, limit int64) (body []byte, whole bool, err error) {
	var buf bytes.Buffer
	if n := req.ContentLength; n > 0 && n <= limit {
		buf.Grow(int(n) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(req.Body, limit+1))
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", errReading, err)
	}
	if n > limit {
		return buf.Bytes(), false, nil
	}
	return buf.Bytes(), true, req.Body.Close()
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

// decoded takes the compression off a body. What it returns is no larger than limit.
func decoded(encoding string, body []byte, limit int64) ([]byte, error) {
	if plain(encoding) {
		return body, nil
	}
	z, err := decoder(encoding, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	out, err := io.ReadAll(io.LimitReader(z, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the body is not %s as it says: %w", encoding, err)
	case int64(len(out)) > limit:
		return nil, errUnpacked
	}
	return out, nil
}

func plain(encoding string) bool { return encoding == "" || strings.EqualFold(encoding, "identity") }

// payload is a body that is sent, maybe more than once. It is let go of once an answer has
// come, for answers can take an hour.
type payload struct {
	mu   sync.Mutex
	data []byte
}

func (p *payload) open() (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.data == nil {
		return nil, errors.New("the request was answered already")
	}
	r := &payloadReader{}
	r.r.Store(bytes.NewReader(p.data))
	return r, nil
}

func (p *payload) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.data = nil
}

// payloadReader lets go of the bytes when they were read, or when it is closed, which may
// be while they are read.
type payloadReader struct{ r atomic.Pointer[bytes.Reader] }

func (p *payloadReader) Read(b []byte) (int, error) {
	r := p.r.Load()
	if r == nil {
		return 0, io.EOF
	}
	n, err := r.Read(b)
	if err == io.EOF {
		p.r.Store(nil)
	}
	return n, err
}

func (p *payloadReader) Close() error {
	p.r.Store(nil)
	return nil
}
