package wire

import (
	"fmt"
	"strings"

	"github.com/clew-dev/clew/message"
)

// PendingCall is a call that waits for its result.
type PendingCall struct {
	Index int    // of the answer in the list given to Normalize
	ID    string // as stored
	Name  string
}

// PendingError says that calls wait for their results (see message.Pending), so the
// list cannot be sent. Append their results, real ones or ones that say what
// happened. To render the list without sending it, set Options.CloseOpenCalls.
type PendingError struct {
	Calls []PendingCall
}

func pendingError(calls []message.Call) error {
	e := &PendingError{}
	for _, c := range calls {
		e.Calls = append(e.Calls, PendingCall{c.Answer, c.Block.ID, c.Block.Name})
	}
	return e
}

func (e *PendingError) Error() string {
	names := make([]string, 0, 3)
	for _, c := range e.Calls[:min(3, len(e.Calls))] {
		names = append(names, fmt.Sprintf("%s (%q)", c.Name, c.ID))
	}
	if n := len(e.Calls) - len(names); n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return fmt.Sprintf("calls of the last answer have no result: %s; append their results before the next request",
		strings.Join(names, ", "))
}
