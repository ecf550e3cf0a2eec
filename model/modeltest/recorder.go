package modeltest

import (
	"context"
	"net/http"
	"strings"
)

// frame is one event of a stream.
type frame struct{ event, data string }

// recorder writes an answer with its faults, and keeps what was written.
type recorder struct {
	w      http.ResponseWriter
	x      *Exchange
	faults Faults
	sent   int
}

func (r *recorder) head(status int, contentType string) {
	r.w.Header().Set("Content-Type", contentType)
	r.x.Status, r.x.ResponseHeader = status, r.w.Header().Clone()
	if r.faults.Drop && r.faults.DropAt < 0 {
		panic(http.ErrAbortHandler) // before the status
	}
	r.w.WriteHeader(status)
}

func (r *recorder) json(status int, body []byte) {
	r.head(status, "application/json")
	r.write(string(body))
}

// write sends a text, or as much of it as comes before the connection is cut.
func (r *recorder) write(s string) {
	for len(s) > 0 {
		n := len(s)
		if r.faults.Chunk > 0 {
			n = min(n, r.faults.Chunk)
		}
		if r.faults.Drop {
			n = min(n, r.faults.DropAt-r.sent)
		}
		r.sent += n
		r.x.Response += s[:n]
		if _, err := r.w.Write([]byte(s[:n])); err != nil {
			panic(http.ErrAbortHandler)
		}
		if f, ok := r.w.(http.Flusher); ok && (r.faults.Chunk > 0 || r.faults.Drop || r.faults.Pause > 0) {
			f.Flush()
		}
		if r.faults.Drop && r.sent >= r.faults.DropAt {
			panic(http.ErrAbortHandler)
		}
		s = s[n:]
	}
}

func (r *recorder) stream(ctx context.Context, frames []frame) {
	r.head(http.StatusOK, "text/event-stream")
	nl := "\n"
	if r.faults.CRLF {
		nl = "\r\n"
	}
	if r.faults.Drop && r.faults.DropAt == 0 {
		panic(http.ErrAbortHandler)
	}
	for i, f := range frames {
		if r.faults.Comments && i%2 == 0 {
			r.write(": keep-alive" + nl + nl)
		}
		var b strings.Builder
		if f.event != "" {
			b.WriteString("event: " + f.event + nl)
		}
		b.WriteString("data: " + f.data + nl + nl)
		r.write(b.String())
		if wait(ctx, r.faults.Pause) != nil {
			panic(http.ErrAbortHandler)
		}
	}
}
