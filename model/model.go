package model

import (
	"context"
	"encoding/json"
)

// Model answers requests. All implementations may be used from several
// goroutines.
type Model interface {
	// Complete returns the whole answer.
	Complete(ctx context.Context, r *Request) (*Response, error)

	// Stream is Complete that calls on with each piece of the answer as it
	// comes, the last being EventDone with the response that is returned too. It
	// runs in the calling goroutine. An error that on returns ends the call and is
	// returned as it is.
	Stream(ctx context.Context, r *Request, on func(Event) error) (*Response, error)

	// Info says what the model is and what it takes.
	Info() Info
}

// Counter is implemented by models whose provider counts the tokens of a request
// without answering it.
type Counter interface {
	// Count returns the size of the request in tokens, the output apart.
	Count(ctx context.Context, r *Request) (int64, error)
}

// Renderer is implemented by the adapters: it shows what would be sent.
type Renderer interface {
	// Render returns the body of the request as Complete would send it.
	Render(r *Request) (json.RawMessage, error)
}
