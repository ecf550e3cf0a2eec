package catalogue

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew/message"
)

// Route names one way to a model: the same model may be served with another
// window elsewhere.
type Route struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	BaseURL  string `json:"baseURL,omitempty"` // empty for the vendor's own
}

// Windows learns the true limits of models from what their providers refuse and
// accept. A catalogue says what is advertised; a server may hold less, by its
// configuration or by the account's plan. It may be used from several
// goroutines.
type Windows struct {
	mu    sync.Mutex
	known map[Route]learned
	now   func() time.Time
}

// learned is what is known of one route.
type learned struct {
	// Limit is the greatest input with its room for the answer.
	Limit int64 `json:"limit"`
	// Exact says that the provider named the number. Else it is a guess below what
	// was refused.
	Exact bool `json:"exact,omitempty"`
	// Accepted is the largest input that was answered since.
	Accepted int64     `json:"accepted,omitempty"`
	At       time.Time `json:"at"`
}

// guessed is how long a guess holds. After it the advertised window is tried
// again, which costs one refusal if nothing has changed.
const guessed = 7 * 24 * time.Hour

// NewWindows returns a Windows that knows nothing. now is the clock; nil means
// time.Now.
func NewWindows(now func() time.Time) *Windows {
	if now == nil {
		now = time.Now
	}
	return &Windows{known: map[Route]learned{}, now: now}
}

// Refused learns from an overflow. sent is an estimate of what was sent, in
// tokens, for overflows that come without numbers. It returns the limit that
// holds from now on; ok is false when nothing was learnt: limits in bytes and by
// the minute say nothing about the window.
func (w *Windows) Refused(r Route, o Overflow, sent int64) (limit int64, ok bool) {
	if o.Kind != OverflowTokens {
		return 0, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	old, known := w.current(r)
	n := learned{At: w.now().UTC()}
	switch {
	case o.Limit > 0:
		n.Limit, n.Exact = o.Limit, true
	case o.Asked > 0:
		n.Limit = o.Asked - 1 // this much was too much
	case sent > 0:
		n.Limit = sent * 9 / 10 // an estimate errs
	default:
		return 0, false
	}
	if !n.Exact && known {
		if old.Exact || old.Limit < n.Limit {
			return old.Limit, true
		}
		// A guess never goes below what was answered.
		n.Limit = max(n.Limit, old.Accepted)
		n.Accepted = old.Accepted
	}
	w.known[r] = n
	return n.Limit, true
}

// Accepted learns from an answer: a limit below what was just answered is wrong.
func (w *Windows) Accepted(r Route, u *message.Usage) {
	if u.Prompt() <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n, known := w.current(r)
	if !known {
		return
	}
	n.Accepted = max(n.Accepted, u.Prompt())
	if n.Accepted > n.Limit {
		n.Limit, n.Exact = n.Accepted, false
	}
	w.known[r] = n
}

// Limit returns the limit that was learnt for a route; ok is false when there is
// none.
func (w *Windows) Limit(r Route) (limit int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, ok := w.current(r)
	return n.Limit, ok
}

// Apply returns the info with what was learnt: a window is never raised.
func (w *Windows) Apply(r Route, i Info) Info {
	if n, ok := w.Limit(r); ok && (i.Window == 0 || n < i.Window) {
		i.Window = n
		i.MaxInput = min(i.MaxInput, n)
		i.Source = "learnt from the provider's error"
	}
	return i
}

// current drops a guess that is too old.
func (w *Windows) current(r Route) (learned, bool) {
	n, ok := w.known[r]
	if ok && !n.Exact && w.now().Sub(n.At) > guessed {
		delete(w.known, r)
		return learned{}, false
	}
	return n, ok
}

type learnedRoute struct {
	Route
	learned
}

// MarshalJSON writes what was learnt, in a fixed order, to be read by
// UnmarshalJSON in a later run.
func (w *Windows) MarshalJSON() ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]learnedRoute, 0, len(w.known))
	for r, n := range w.known {
		out = append(out, learnedRoute{r, n})
	}
	slices.SortFunc(out, func(a, b learnedRoute) int {
		return strings.Compare(a.Provider+"\x00"+a.Model+"\x00"+a.BaseURL, b.Provider+"\x00"+b.Model+"\x00"+b.BaseURL)
	})
	return json.Marshal(out)
}

// UnmarshalJSON adds what was learnt before. On an error nothing is added.
func (w *Windows) UnmarshalJSON(data []byte) error {
	var in []learnedRoute
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("reading learnt windows: %w", err)
	}
	for _, l := range in {
		if l.Limit <= 0 || l.Accepted < 0 || l.Provider == "" || l.Model == "" {
			return errors.New("reading learnt windows: an entry has no provider, no model or no limit")
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		w.known = map[Route]learned{}
	}
	if w.now == nil {
		w.now = time.Now
	}
	for _, l := range in {
		w.known[l.Route] = l.learned
	}
	return nil
}
