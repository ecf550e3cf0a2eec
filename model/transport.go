package model

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// TransportConfig sets up a Transport. The zero value means the defaults.
type TransportConfig struct {
	// Base sends the requests. Default: connections of the transport's own, with
	// the proxy of the environment.
	Base http.RoundTripper
	// Retry says how passing failures are repeated.
	Retry Retry
	// Wait is how long the first byte of an answer may take. Answers that are not
	// streamed come in one piece, so it must be long. Default 10 minutes.
	Wait time.Duration
	// Idle is how long an answer may pause between two bytes. Default 3 minutes.
	Idle time.Duration
	// MaxAnswer is the greatest size of an answer in bytes. Default 128 MiB.
	MaxAnswer int64
}

// Transport makes the calls of all adapters: one set of connections, one policy
// for repeating, one way to turn what goes wrong into an Error.
type Transport struct {
	client *http.Client
	c      TransportConfig
}

// NewTransport returns a transport.
func NewTransport(c TransportConfig) *Transport {
	c.Retry = c.Retry.withDefaults()
	if c.Wait <= 0 {
		c.Wait = 10 * time.Minute
	}
	if c.Idle <= 0 {
		c.Idle = 3 * time.Minute
	}
	if c.MaxAnswer <= 0 {
		c.MaxAnswer = 128 << 20
	}
	if c.Base == nil {
		c.Base = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   16,
			IdleConnTimeout:       90 * time.Second,
			TLSHandshakeTimeout:   15 * time.Second,
			ExpectContinueTimeout: time.Second,
		}
	}
	return &Transport{c: c, client: &http.Client{
		Transport: c.Base,
		// A redirect would carry the key to a place that nobody named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Call is one request to a provider.
type Call struct {
	Op       string // for errors
	Provider string // for errors
	Model    string // for errors

	URL     string
	Header  http.Header
	Body    []byte
	Secrets []string // what must not stand in an error

	Attempts int // as Retry.Attempts, which is the default
}

// Result is what is known of a call that was answered.
type Result struct {
	Header   http.Header
	Attempts int
}

// RequestID returns the id by which the provider's support knows the call.
func (r Result) RequestID() string {
	for _, name := range []string{"request-id", "x-request-id", "x-goog-request-id"} {
		if id := r.Header.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// Send makes a call and returns the body of the answer.
func (t *Transport) Send(ctx context.Context, c Call) (body []byte, res Result, err error) {
	res, err = t.run(ctx, c, func(r io.Reader) (bool, error) {
		body, err = io.ReadAll(r)
		return false, err
	})
	return body, res, err
}

// StreamReader takes the events of an answer.
type StreamReader interface {
	// Begin is called before the first event of each attempt: what an earlier one
	// has brought is void.
	Begin()
	// Event takes an event. began says that something was passed on, so that the
	// call must not be repeated.
	Event(e ServerEvent) (began bool, err error)
	// End is called where the stream ends without an error, and says whether it
	// was whole.
	End() error
}

// Stream makes a call and gives the events of the answer to r. An error of r ends
// the call; a *StopError goes to the caller as what it wraps.
func (t *Transport) Stream(ctx context.Context, c Call, r StreamReader) (Result, error) {
	return t.run(ctx, c, func(body io.Reader) (bool, error) {
		r.Begin()
		began := false
		err := ReadEvents(body, 0, func(e ServerEvent) error {
			b, err := r.Event(e)
			began = began || b
			return err
		})
		if err == nil {
			err = r.End()
		}
		return began, err
	})
}

// StopError wraps an error of the caller's own, on its way through a Transport.
type StopError struct{ Err error }

func (e *StopError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *StopError) Unwrap() error { return e.Err }

// run makes the call until it succeeds or must not be repeated.
func (t *Transport) run(ctx context.Context, c Call, read func(io.Reader) (began bool, err error)) (Result, error) {
	retry := t.c.Retry
	retry.Attempts = cmp.Or(c.Attempts, retry.Attempts)
	for attempt := 1; ; attempt++ {
		res, began, err := t.once(ctx, c, read)
		res.Attempts = attempt
		if err == nil {
			return res, nil
		}
		var stop *StopError
		if errors.As(err, &stop) {
			return res, stop.Err
		}
		e := t.failed(ctx, c, res, err)
		e.Attempts = attempt
		e.Final = res.Header.Get("X-Should-Retry") == "false"
		d, again := retry.Wait(attempt, e)
		if began || !again {
			return res, e
		}
		if retry.Notify != nil {
			retry.Notify(attempt, retry.Attempts, e, d)
		}
		if err := retry.Sleep(ctx, d); err != nil {
			// The caller learns that it gave up, and why there was something to wait for.
			return res, t.failed(ctx, c, res, fmt.Errorf("%w while waiting to repeat after: %s", err, e.Message))
		}
	}
}

var (
	errWait = errors.New("no answer within the time that is waited")
	errIdle = errors.New("the answer paused for too long")
)

// once makes the call once.
func (t *Transport) once(ctx context.Context, c Call, read func(io.Reader) (bool, error)) (res Result, began bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(c.Body))
	if err != nil {
		return res, false, &Error{Kind: KindRequest, Message: "the base URL is unusable", Err: err}
	}
	for k, v := range c.Header {
		req.Header[k] = v
	}
	req.Header.Set("Content-Type", "application/json")
	timer := time.AfterFunc(t.c.Wait, func() { cancel(errWait) })
	defer timer.Stop()
	resp, err := t.client.Do(req)
	if err != nil {
		return res, false, cause(ctx, err)
	}
	defer resp.Body.Close()
	res.Header = resp.Header
	timer.Stop()
	idle := time.AfterFunc(t.c.Idle, func() { cancel(errIdle) })
	defer idle.Stop()
	body := &answerReader{r: resp.Body, left: t.c.MaxAnswer, touch: func() { idle.Reset(t.c.Idle) }}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		text, _ := io.ReadAll(io.LimitReader(body, 1<<20))
		return res, false, ErrorFromBody(c.Provider, resp.StatusCode, resp.Header, text)
	}
	began, err = read(body)
	return res, began, cause(ctx, err)
}

// cause returns why the context ended, where that is why err happened.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !isError(err) {
		return context.Cause(ctx)
	}
	return err
}

func isError(err error) bool {
	var e *Error
	var stop *StopError
	return errors.As(err, &e) || errors.As(err, &stop)
}

var errAnswerSize = errors.New("the answer is larger than the limit")

// answerReader bounds an answer in size and reports that it goes on.
type answerReader struct {
	r     io.Reader
	left  int64
	touch func()
}

func (a *answerReader) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	if n > 0 {
		a.touch()
	}
	if a.left -= int64(n); a.left < 0 {
		return 0, errAnswerSize
	}
	return n, err
}

// failed makes an Error of what went wrong.
func (t *Transport) failed(ctx context.Context, c Call, res Result, err error) *Error {
	e := &Error{}
	if !errors.As(err, &e) {
		e = &Error{Kind: KindNetwork, Err: err}
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			e.Kind = KindDeadline
		case ctx.Err() != nil:
			e.Kind = KindCanceled
		case errors.Is(err, errWait), errors.Is(err, errIdle):
			e.Kind = KindTimeout
		case errors.Is(err, errAnswerSize), errors.Is(err, errEventSize):
			e.Kind = KindUnreadable
		case errors.Is(err, io.ErrUnexpectedEOF):
			e.Kind = KindDropped
		}
		if cerr := ctx.Err(); cerr != nil && !errors.Is(err, cerr) {
			e.Err = fmt.Errorf("%w: %w", cerr, err) // so that errors.Is finds it whatever the cause was
		}
		e.Message = err.Error()
	}
	e.Op, e.Provider, e.Model = c.Op, c.Provider, c.Model
	if e.RequestID == "" {
		e.RequestID = res.RequestID()
	}
	e.Message = redact(e.Message, c.Secrets)
	if e.Err != nil {
		if text := e.Err.Error(); redact(text, c.Secrets) != text {
			e.Err = &redactedError{e.Err, c.Secrets}
		}
	}
	return e
}

// redactedError hides keys in the text of an error that quotes a request.
type redactedError struct {
	err     error
	secrets []string
}

func (e *redactedError) Error() string   { return redact(e.err.Error(), e.secrets) }
func (e *redactedError) Is(t error) bool { return errors.Is(e.err, t) }
