package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/catalogue"
	"github.com/clew-dev/clew/token"
)

// send sends the body on, once more where it is refused as too long, or where the upstream
// does not take what was made of it.
func (r *request) send(req *http.Request, original, body []byte) (*http.Response, error) {
	r.event.Took = r.cfg.Now().Sub(r.begin)
	resp, sent, err := r.upstream(req, original, body)
	defer func() { sent.release() }()
	if err != nil || r.in == nil {
		return r.done(resp), err
	}
	refusal := r.overflowOf(resp)
	if what, ok := r.cannot(resp.StatusCode); ok && refusal == nil {
		if what == contextManagement { // once more, without
			_ = resp.Body.Close()
			retry := r.route
			retry.retried = true
			return r.handle(req, retry, r.came, original)
		}
		var own *http.Response
		r.guarded(func() { own, _ = r.answer(req) })
		if own != nil {
			_ = resp.Body.Close()
			return own, nil
		}
	}
	invalid := resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusUnprocessableEntity
	switch {
	case refusal == nil && invalid && r.epoch != nil:
		return r.asItCame(req, resp, original), nil
	case refusal == nil && resp.StatusCode == http.StatusOK && !r.count && streams(resp):
		o := r.open(req, resp, original, len(body))
		resp.Body = o
		resp = r.observe(resp)
		return resp, nil
	case refusal == nil:
		return r.observe(resp), nil
	}
	var again []byte
	after := r.event.After
	r.guarded(func() { again = r.rescue(req.Context(), refusal, len(body)) })
	if again == nil {
		r.event.Outcome = TooLong
		return r.done(resp), nil
	}
	second, sentAgain, err := r.upstream(req, original, again)
	defer sentAgain.release()
	if err != nil || second.StatusCode >= 400 || r.overflowOf(second) != nil { // the client gets to see its own error
		if err == nil {
			_ = second.Body.Close()
		}
		r.event.Outcome, r.event.After = TooLong, after
		return r.done(resp), nil
	}
	_ = resp.Body.Close()
	r.event.Outcome = Rescued
	return r.observe(second), nil
}

// asItCame sends the client's own body after an upstream has refused what an epoch made of
// it. Where that is taken the epoch is not used again. Later requests are shortened where they have to be.
func (r *request) asItCame(req *http.Request, refused *http.Response, original []byte) *http.Response {
	head := r.epoch.Head
	r.cfg.Logger.Warn("the upstream did not take a shortened request; it gets the client's own", "conversation", r.event.Conversation, "status", refused.StatusCode)
	r.event.Outcome, r.event.Why, r.event.After, r.epoch = Refused, "the upstream did not take it shortened", r.event.Before, nil
	resp, sent, err := r.upstream(req, original, original)
	defer sent.release()
	if err != nil {
		return r.done(refused)
	}
	switch {
	case r.overflowOf(resp) != nil:
		r.event.Outcome, r.event.Why = TooLong, "the upstream did not take it shortened, and as it came it was too long"
	case resp.StatusCode < 400: // so it was not the client's own mistake
		r.spoiled.put(head, true, false)
		r.spoiled.put(r.root, true, false)
	}
	_ = refused.Body.Close()
	return r.observe(resp)
}

// upstream sends a body upstream; the client's headers go along untouched where its own body does.
func (r *request) upstream(req *http.Request, original, body []byte) (*http.Response, *payload, error) {
	sent := r.came
	if same(body, sent.data) {
		sent.hold()
	} else {
		sent = &payload{data: body, pooled: same(body, r.spliced)}
	}
	reader, err := sent.open()
	if err != nil {
		return nil, sent, err
	}
	out := req.Clone(req.Context())
	out.Body = reader
	out.ContentLength, out.GetBody = int64(len(body)), sent.open
	if !same(original, body) {
		delete(out.Header, "Content-Encoding")
		delete(out.Header, "Content-Length")
		out.Header[hopHeader] = shortened
	}
	if r.in != nil && !r.watched && out.Header.Get("Accept-Encoding") != "" {
		out.Header.Set("Accept-Encoding", "identity") // errors and usage are read
	}
	resp, err := r.base.RoundTrip(out)
	return resp, sent, err
}

// maxRefusal is how much of an error's body is read.
const maxRefusal = 64 << 10

// overflowOf returns how an upstream refused a request as too long, by its status or in the
// body of an answer that is no stream; nil where it did not. The body can be read again in any case.
func (r *request) overflowOf(resp *http.Response) *model.Overflow {
	var said []byte
	status := resp.StatusCode
	switch encoding := resp.Header.Get("Content-Encoding"); {
	case status == http.StatusUnauthorized:
		return nil
	case status >= 400:
		head, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		resp.Body = replay(head, err, resp.Body)
		if said = head; err == nil && len(head) < maxRefusal {
			said, err = decoded(encoding, head, maxRefusal, unlimited)
		}
		if err != nil {
			return nil
		}
	case status == http.StatusOK && plain(encoding) && !streams(resp):
		said, status = wholeError(resp), 0
	}
	if r.said = said; said == nil {
		return nil
	}
	if o, ok := model.ErrorFromBody(r.provider, status, resp.Header, said).TooLarge(); ok {
		return &o
	}
	return nil
}

// wholeError reads an answer until it is clear whether it is an error, which it returns then.
func wholeError(resp *http.Response) (failure []byte) {
	buf, err := make([]byte, 0, 512), error(nil)
	for err == nil && maybeError(buf) && len(buf) < maxRefusal {
		buf = slices.Grow(buf, 512)
		var n int
		n, err = resp.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
	}
	if errors.Is(err, io.EOF) && maybeError(buf) {
		failure = buf
	}
	resp.Body = replay(buf, err, resp.Body)
	return failure
}

// replay returns a body whose beginning was read already, up to an error.
func replay(head []byte, err error, rest io.ReadCloser) io.ReadCloser {
	return &replayed{bytes.NewReader(head), err, rest}
}

type replayed struct {
	head *bytes.Reader
	err  error
	io.ReadCloser
}

func (r *replayed) Read(p []byte) (int, error) {
	switch {
	case r.head != nil && r.head.Len() > 0:
		return r.head.Read(p)
	case r.err != nil:
		return 0, r.err
	}
	r.head = nil
	return r.ReadCloser.Read(p)
}

// maybeError reports whether an answer that is no stream begins like an error.
func maybeError(buf []byte) bool {
	text := strings.Map(func(c rune) rune {
		if c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '[' {
			return -1
		}
		return c
	}, string(buf[:min(len(buf), 64)]))
	for _, begin := range []string{`{"error":{`, `{"type":"error"`} {
		if n := min(len(begin), len(text)); text[:n] == begin[:n] {
			return true
		}
	}
	return false
}

// rescue returns a shorter body for a request that was refused, nil where there is none.
func (r *request) rescue(ctx context.Context, refusal *model.Overflow, sent int) []byte {
	counter := token.HeuristicFor(r.provider, r.model)
	est, window := r.size(counter, r.epoch), r.window()
	limits := room{}
	if r.epoch == nil {
		sent = len(r.in.Body) // it may have been packed
	}
	switch limit, learnt := r.windows.Refused(r.served(), *refusal, est); {
	case learnt:
		window = limit
	case refusal.Kind == catalogue.OverflowRate:
		window = refusal.Limit
	case refusal.Limit > 0 && refusal.Limit < int64(sent):
		limits.bytes = refusal.Limit
	default:
		limits.bytes = int64(sent) / 2
	}
	r.event.Window = window
	if refusal.Kind != catalogue.OverflowBytes && refusal.Asked > refusal.Limit && refusal.Limit > 0 && est > 0 && refusal.Asked > est {
		// The upstream's own count of the same list shows how far the estimate is off.
		window = window * est / refusal.Asked
	}
	limits.tokens = max(window-r.envTokens(counter), window/8)
	if limits.bytes > 0 {
		limits.bytes = max(limits.bytes-int64(len(r.in.Body)-r.in.List.Len()), 1) // what surrounds the list stays
	}
	if r.watched {
		return nil
	}
	next, err := r.make(ctx, limits, compact.Overflow)
	if err != nil || next == nil {
		if err != nil {
			r.cfg.Logger.Warn("the upstream refused a request as too long, and no epoch could be made", "conversation", r.event.Conversation, "error", err)
		}
		return nil
	}
	was := r.epoch
	size := r.size(counter, next)
	if was != nil && next.Head == was.Head && size >= r.size(counter, was) {
		return nil
	}
	return r.use(next, size)
}
