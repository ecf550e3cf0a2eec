package model

import "github.com/clew-dev/clew/message"

// Emitter passes the pieces of a stream on and keeps the two things an adapter
// has to know: whether anything was passed on, and what the caller answered.
type Emitter struct {
	on    func(Event) error
	began bool
}

// NewEmitter returns an emitter to on, which may be nil.
func NewEmitter(on func(Event) error) *Emitter { return &Emitter{on: on} }

// Began reports whether anything was passed on. From then on a call must not be
// repeated.
func (e *Emitter) Began() bool { return e.began }

// Emit passes on an event. Empty pieces are left out. What the caller returns
// ends the call and comes back as a StopError.
func (e *Emitter) Emit(ev Event) error {
	switch ev.Kind {
	case EventText, EventThinking, EventArguments:
		if ev.Text == "" {
			return nil
		}
	case EventUsage:
		if ev.Usage == nil {
			return nil
		}
	case EventCall, EventDone:
	}
	if ev.Kind != EventUsage {
		e.began = true
	}
	if e.on == nil {
		return nil
	}
	if err := e.on(ev); err != nil {
		return &StopError{err}
	}
	return nil
}

// Finished completes a response after its call and reports it as done.
func (e *Emitter) Finished(r *Response, res Result, sent *Rendered) (*Response, error) {
	r.complete(res, sent)
	if err := e.Emit(Event{Kind: EventDone, Response: r}); err != nil {
		return nil, err.(*StopError).Err //nolint:errorlint // Emit returns nothing else
	}
	return r, nil
}

// Rendered is a request ready to be sent.
type Rendered struct {
	Body     []byte
	Notes    []Note
	Attempts int // of the request
}

func (r *Response) complete(res Result, sent *Rendered) {
	r.RequestID, r.Attempts = res.RequestID(), res.Attempts
	r.Notes, r.BytesSent = sent.Notes, int64(len(sent.Body))
}

// Complete makes the response of a call that was not streamed.
func (a *Answer) Complete(e *Endpoint, res Result, sent *Rendered) *Response {
	r := a.Response(*e.Info, e.Now())
	r.complete(res, sent)
	return r
}

// Broken adds to the error of a stream what had arrived. An error of the caller's
// own is returned as it is.
func (a *Answer) Broken(e *Endpoint, err error, res Result, sent *Rendered) error {
	fail, ok := err.(*Error) //nolint:errorlint // one inside the caller's own error is not ours
	if !ok {
		return err
	}
	if len(a.Blocks) == 0 && a.Usage == nil && len(a.BadCalls) == 0 {
		return err
	}
	r := a.Response(*e.Info, e.Now())
	r.complete(res, sent)
	r.Finish = FinishNotKnown
	r.Message.StopReason = message.StopError
	if fail.Kind == KindCanceled || fail.Kind == KindDeadline {
		r.Message.StopReason = message.StopAborted
	}
	r.Message.ErrorMessage = fail.Error()
	fail.Partial = r
	return fail
}
