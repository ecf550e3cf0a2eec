package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/model"
)

// opening passes a stream on, event by event, and reads what comes before its content: of the
// Responses API's streams the first events have none. An overflow that is told there is
// rescued. The client then gets the second answer without the events that announce it, as it
// has seen those of the first one.
type opening struct {
	mu       sync.Mutex
	r        *request // nil once there is content
	m        *measured
	req      *http.Request
	cancel   context.CancelFunc
	original []byte
	sent     int // bytes of the body

	body io.ReadCloser // of the answer that is read
	buf  []byte        // of it, not passed on
	out  []byte        // passed on next
	err  error         // that follows
	seen int           // events of the first answer that the client has and the second one has yet to leave out
	// failure is the event for which the second answer is read, then what follows it.
	failure []byte
	rest    io.ReadCloser
	after   int64
}

// open makes a stream one that is rescued.
func (r *request) open(req *http.Request, resp *http.Response, original []byte, sent int) *opening {
	o := &opening{r: r, original: original, sent: sent, body: resp.Body, after: r.event.After}
	ctx, cancel := context.WithCancel(req.Context())
	o.req, o.cancel = req.WithContext(ctx), cancel
	r.came.hold()
	resp.Header.Del("Content-Length") // it may get another one
	resp.ContentLength = -1
	return o
}

func (o *opening) Read(p []byte) (n int, err error) {
	for len(p) > 0 {
		o.mu.Lock()
		body, open := o.body, o.r != nil
		n, o.out = copy(p, o.out), o.out[min(len(p), len(o.out)):]
		err := o.err
		o.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case err != nil:
			return 0, err
		case !open:
			return body.Read(p)
		}
		n, err = body.Read(p)
		o.mu.Lock()
		o.take(p[:n], err)
		o.mu.Unlock()
	}
	return 0, nil
}

// Close ends the answer. A second request that is under way is given up.
func (o *opening) Close() error {
	o.cancel()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over()
	return o.body.Close()
}

// over says that nothing is rescued from here on.
func (o *opening) over() {
	if o.r == nil {
		return
	}
	o.out, o.buf = append(o.out, o.buf...), nil
	if o.rest != nil {
		_ = o.rest.Close()
	}
	o.m.set(o.r)
	o.r.came.release()
	o.r, o.original, o.req, o.rest, o.failure = nil, nil, nil, nil, nil
}

// maxOpening is the most that is held back of an event. The first one of the Responses API
// repeats instructions and tools.
const maxOpening = 1 << 20

// take looks at what was read.
func (o *opening) take(b []byte, err error) {
	o.buf, o.err = append(o.buf, b...), err
	for o.r != nil {
		end := eventEnd(o.buf)
		whole := end > 0
		if !whole {
			if err == nil && len(o.buf) < maxOpening {
				return
			}
			end = len(o.buf)
		}
		failure, content, event := firstEvent(o.buf[:end])
		second := o.rest != nil
		switch {
		case failure != nil && !second && o.rescued(failure):
			return
		case second && (failure != nil || !whole && !content):
			o.giveUp()
		case failure != nil, content, !whole:
			if second {
				o.r.event.Outcome = Rescued
			}
			o.over()
		case second && event && o.seen > 0:
			o.seen--
			o.buf = o.buf[end:]
		default:
			if event && !second {
				o.seen++
			}
			o.out, o.buf = append(o.out, o.buf[:end]...), o.buf[end:]
		}
	}
}

// rescued reports whether another answer is read in place of the one that begins with a failure.
func (o *opening) rescued(failure []byte) bool {
	r := o.r
	refusal, ok := model.ErrorFromBody(r.provider, 0, nil, failure).TooLarge()
	if !ok {
		return false
	}
	r.event.Outcome = TooLong
	var again []byte
	if r.guarded(func() { again = r.rescue(o.req.Context(), &refusal, o.sent) }); again == nil {
		return false
	}
	resp, sent, err := r.upstream(o.req, o.original, again)
	sent.release()
	if err == nil && (resp.StatusCode != http.StatusOK || !streams(resp)) {
		err = errors.Join(errors.New(resp.Status), resp.Body.Close())
	}
	if err != nil {
		r.event.Outcome, r.event.After = TooLong, o.after
		return false
	}
	o.failure, o.rest, o.body, o.buf, o.err = o.buf, o.body, resp.Body, nil, nil
	return true
}

// giveUp goes on with the first answer, for the second is none either.
func (o *opening) giveUp() {
	_ = o.body.Close()
	o.body, o.buf, o.rest, o.err = o.rest, o.failure, nil, nil
	o.r.event.Outcome, o.r.event.After = TooLong, o.after
	o.over()
}

// streams reports whether an answer is a stream of events that can be read.
func streams(resp *http.Response) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") && plain(resp.Header.Get("Content-Encoding"))
}

// eventEnd returns where the first event ends with its blank line, 0 where it is not whole.
func eventEnd(buf []byte) (end int) {
	for _, blank := range []string{"\n\n", "\n\r\n", "\r\r"} {
		if at := bytes.Index(buf, []byte(blank)); at >= 0 && (end == 0 || at+len(blank) < end) {
			end = at + len(blank)
		}
	}
	return end
}

// firstEvent returns the data of an event that is an error, and whether an event has content;
// comments are no events.
func firstEvent(buf []byte) (failure []byte, content, event bool) {
	_ = model.ReadEvents(bytes.NewReader(buf), 0, func(e model.ServerEvent) error {
		typ := jsonx.StringAt(e.Data, "type")
		event = true
		switch {
		case typ == "response.created", typ == "response.in_progress", typ == "response.queued", typ == "ping":
		case typ == "response.failed":
			failure = jsonx.Get(e.Data, "response")
		case e.Name == "error", typ == "error", jsonx.IsObject(jsonx.Get(e.Data, "error")):
			failure = e.Data
		default:
			content = true
		}
		return io.EOF
	})
	return failure, content, event
}
