package model

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// Retry says how often and how soon a call that failed for a passing reason is
// repeated. The zero value means the defaults.
type Retry struct {
	// Attempts is how often a call is made at most. Default 4; 1 is never again.
	Attempts int
	// Base is the first wait; each later one is twice as long. What is waited is
	// chosen at random between half of it and all of it, so that many clients do
	// not come back together. Default 500 ms.
	Base time.Duration
	// Max is the longest wait. A provider that asks for more is not waited for: the
	// error says how long it asks. Default 60 s.
	Max time.Duration
	// Sleep waits, or returns the context's error. Default: a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Notify, where it is not nil, is told before each wait which of how many attempts
	// failed, of what, and how long it will be. It may be called from several goroutines.
	Notify func(attempt, of int, e *Error, wait time.Duration)
	// Random returns a number in [0,1). Default: math/rand/v2.
	Random func() float64
}

func (r Retry) withDefaults() Retry {
	if r.Attempts <= 0 {
		r.Attempts = 4
	}
	if r.Base <= 0 {
		r.Base = 500 * time.Millisecond
	}
	if r.Max <= 0 {
		r.Max = time.Minute
	}
	if r.Sleep == nil {
		r.Sleep = Sleep
	}
	if r.Random == nil {
		r.Random = rand.Float64
	}
	return r
}

// Wait returns how long to wait after the given attempt, counted from 1; ok is
// false when the call is not to be repeated.
func (r Retry) Wait(attempt int, e *Error) (d time.Duration, ok bool) {
	r = r.withDefaults()
	if attempt >= r.Attempts || !e.Kind.Transient() || e.Final {
		return 0, false
	}
	if e.RetryAfter > 0 {
		return e.RetryAfter, e.RetryAfter <= r.Max
	}
	full := math.Min(float64(r.Base)*math.Pow(2, float64(attempt-1)), float64(r.Max))
	return time.Duration(full * (0.5 + 0.5*r.Random())), true
}

// Sleep waits, and returns why where ctx ends before that.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
