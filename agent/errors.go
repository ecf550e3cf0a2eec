package agent

import (
	"errors"

	"github.com/clew-dev/clew"
)

// Error is what every operation returns that failed: what was tried, on what, what
// went wrong, and what to do.
type Error = clew.Error

// Errors of operations.
var (
	// ErrBusy: the agent is at work, and the operation can't be done meanwhile.
	ErrBusy = errors.New("the agent is at work")
	// ErrClosed: the agent was closed.
	ErrClosed = clew.ErrClosed
	// ErrNotAsked: no question has the id, or it was answered already.
	ErrNotAsked = errors.New("there is no such question")
	// ErrNotQueued: nothing with the id waits to be delivered.
	ErrNotQueued = errors.New("it does not wait any more")
)
