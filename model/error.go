package model

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind says what kind of failure an Error is, by what can be done about it.
type Kind string

// The kinds.
const (
	KindOverflow   Kind = "overflow"   // the request is too large: send less
	KindRateLimit  Kind = "rate limit" // too many requests or tokens: wait
	KindOverloaded Kind = "overloaded" // the provider has no capacity: wait
	KindServer     Kind = "server"     // the provider failed: try again
	KindNetwork    Kind = "network"    // no connection, or it broke before the answer: try again
	KindTimeout    Kind = "timeout"    // nothing came for too long: try again
	KindDropped    Kind = "dropped"    // the stream ended in the middle of the answer: try again
	KindQuota      Kind = "quota"      // the account has no credit left: waiting does not help
	KindAuth       Kind = "key"        // the key is missing, wrong or not allowed to
	KindNotFound   Kind = "not found"  // no such model or address
	KindRefused    Kind = "refused"    // a filter refused the request
	KindInvalid    Kind = "invalid"    // the provider does not take the request as it is
	KindRequest    Kind = "request"    // the request can't be made
	KindUnreadable Kind = "unreadable" // the answer is not what the API should give
	KindCanceled   Kind = "canceled"   // the caller gave up
	KindDeadline   Kind = "deadline"   // the caller's time was over
	KindUnknown    Kind = "unknown"    // none of these
)

// Transient reports whether the same request may pass in a while.
func (k Kind) Transient() bool {
	switch k {
	case KindRateLimit, KindOverloaded, KindServer, KindNetwork, KindTimeout, KindDropped:
		return true
	default:
		return false
	}
}

// hint says what to do, as the end of a sentence; "" for nothing.
func (k Kind) hint() string {
	switch k {
	case KindOverflow:
		return "compact the conversation, or send less"
	case KindRateLimit, KindOverloaded, KindServer:
		return "try again later"
	case KindNetwork, KindTimeout, KindDropped:
		return "check the connection and try again"
	case KindQuota:
		return "check the account's plan and credit"
	case KindAuth:
		return "check the key"
	case KindNotFound:
		return "check the model's name and the base URL"
	case KindUnreadable:
		return "check that the base URL is that of the API"
	default:
		return ""
	}
}

// ErrOverflow is what an Error of KindOverflow is, for errors.Is.
var ErrOverflow = errors.New("the request is too large for the model")

// ErrTransient is what an Error of a passing kind is, for errors.Is.
var ErrTransient = errors.New("the failure may pass")

// Error is the error of every call: what was tried with which model, what the
// provider said, what to do.
type Error struct {
	Op       string // "complete", "stream", "count"
	Provider string
	Model    string

	Kind    Kind
	Status  int    // of HTTP; 0 when there was none
	Type    string // as the provider names it
	Code    string
	Message string // what the provider said, shortened, without keys

	// Overflow has the numbers; nil but for KindOverflow.
	Overflow *Overflow
	// RetryAfter is how long the provider asks to wait; 0 when it did not say.
	RetryAfter time.Duration
	// Final says that the provider wants no other attempt, whatever the kind.
	Final bool
	// RequestID is for the provider's support.
	RequestID string
	// Attempts counts how often it was tried.
	Attempts int
	// Partial is what had arrived of the answer; nil for nothing.
	Partial *Response
	// Err is what lies below: of the network, of the context, a
	// wire.ValidationError.
	Err error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s with %s/%s: %s", e.Op, e.Provider, e.Model, e.Kind)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	switch {
	case e.Message != "":
		b.WriteString(": " + e.Message)
	case e.Err != nil:
		b.WriteString(": " + e.Err.Error())
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, "; tried %d times", e.Attempts)
	}
	if h := e.Kind.hint(); h != "" {
		b.WriteString("; " + h)
	}
	return b.String()
}

// TooLarge reports whether the request was too large, and with which numbers.
func (e *Error) TooLarge() (o Overflow, ok bool) {
	if e.Overflow != nil {
		o = *e.Overflow
	}
	return o, e.Kind == KindOverflow
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether the error is ErrOverflow or ErrTransient.
func (e *Error) Is(target error) bool {
	return target == ErrOverflow && e.Kind == KindOverflow || target == ErrTransient && e.Kind.Transient()
}
