package catalogue

import (
	"cmp"

	"github.com/clew-dev/clew/message"
)

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
	Price         *Price         // nil when it is not known; not to be changed

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

// Price is what a model costs, in US dollars for a million tokens. A zero is
// free, or not known.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead,omitempty"`
	CacheWrite float64 `json:"cacheWrite,omitempty"` // for minutes; an hour costs more where that can be had

	// Above has the prices of requests with more input than OverInput tokens; nil
	// where the size makes no difference.
	Above     *Price `json:"above,omitempty"`
	OverInput int64  `json:"overInput,omitempty"`
}

// Cost returns what a call cost in US dollars; 0 for an unknown price. Where a
// provider has no price for writing to its cache, that is input.
func (p *Price) Cost(u *message.Usage) float64 {
	if p == nil || u == nil {
		return 0
	}
	if p.Above != nil && p.OverInput > 0 && u.Prompt() > p.OverInput {
		return p.Above.Cost(u)
	}
	read, write := cmp.Or(p.CacheRead, p.Input), cmp.Or(p.CacheWrite, p.Input)
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*read + float64(u.CacheWrite)*write) / 1e6
}

// OverflowKind says which limit a request went over.
type OverflowKind string

// The kinds.
const (
	OverflowTokens OverflowKind = "tokens" // the context window
	OverflowBytes  OverflowKind = "bytes"  // the size of a request
	// OverflowRate: the request alone is larger than what may be sent in a
	// minute. Waiting never helps; a smaller request does. It says nothing about
	// the model's window.
	OverflowRate OverflowKind = "rate"
)

// Overflow says that a request was too large, with the numbers that the provider
// gave. 0 means that it did not say.
type Overflow struct {
	Kind OverflowKind
	// Asked is what the request would have taken: its input, and where the
	// provider counts it, the room for the answer too.
	Asked int64
	// Output is the room for the answer within Asked, where the provider says it.
	Output int64
	// Limit is what there is.
	Limit int64
	// Rule names what it was recognized by.
	Rule string
}
