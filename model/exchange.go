package model

import "context"

// StreamedAnswer is the answer of a stream, as an adapter puts it together from the
// pieces.
type StreamedAnswer interface {
	StreamReader
	// Whole returns the answer as the API gives it when it is not streamed.
	Whole() []byte
	// Partial returns what there is of an answer that broke off; nil for nothing.
	Partial() *Answer
}

// Complete makes a call and reads its answer; read does that for the adapter's API.
func (e *Endpoint) Complete(ctx context.Context, c Call, sent *Rendered, read func(op string, body []byte) (*Answer, error)) (*Response, error) {
	c.Attempts = sent.Attempts
	body, res, err := e.Transport.Send(ctx, c)
	if err != nil {
		return nil, err
	}
	a, err := read(c.Op, body)
	if err != nil {
		return nil, err
	}
	return a.Complete(e, res, sent), nil
}

// Stream is Complete for an answer that comes in pieces, which s puts together and
// passes on to out.
func (e *Endpoint) Stream(ctx context.Context, c Call, sent *Rendered, s StreamedAnswer, out *Emitter, read func(op string, body []byte) (*Answer, error)) (*Response, error) {
	c.Attempts = sent.Attempts
	res, err := e.Transport.Stream(ctx, c, s)
	if err != nil {
		return nil, s.Partial().Broken(e, err, res, sent)
	}
	a, err := read(c.Op, s.Whole())
	if err != nil {
		return nil, err
	}
	return out.Finished(a.Response(*e.Info, e.Now()), res, sent)
}
