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

// Info says what a model is and what it takes. A zero number means that it is
// not known.
type Info struct {
	Provider string // as messages name it: "anthropic", "openai", "google"
	Model    string
	API      string // as messages name it: "anthropic-messages"

	Window    int64 // tokens of input and output together
	MaxInput  int64 // tokens of input alone, where that is less than Window
	MaxOutput int64 // tokens of output

	Images        bool           // takes images
	NoTemperature bool           // refuses a temperature
	Thinking      ThinkingMethod // how reasoning is asked for; empty: as the adapter thinks best
	Price         *Price         // nil when it is not known

	// Source says where the numbers come from, as a link and a date.
	Source string
}

// ThinkingMethod says how a model is asked to reason.
type ThinkingMethod string

// The methods.
const (
	ThinkingNever    ThinkingMethod = "never"    // it does not, and refuses to be asked
	ThinkingBudget   ThinkingMethod = "budget"   // with a number of tokens
	ThinkingAdaptive ThinkingMethod = "adaptive" // Anthropic: it decides, an effort guides it
	ThinkingEffort   ThinkingMethod = "effort"   // with a word for how much
)

// Usable returns the greatest number of input tokens that leave room for
// reserve tokens of output; 0 when the window is not known.
func (i Info) Usable(reserve int64) int64 {
	if i.Window <= 0 {
		return 0
	}
	n := max(i.Window-max(reserve, 0), 0)
	if i.MaxInput > 0 {
		n = min(n, i.MaxInput)
	}
	return n
}
