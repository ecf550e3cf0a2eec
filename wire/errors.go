package wire

import (
	"fmt"
	"strings"
)

// PendingCall is a call that waits for its result.
type PendingCall struct {
	Index int    // of the answer in the list given to Normalize
	ID    string // as stored
	Name  string
}

// PendingError says that the last answer has calls without results, so the list
// is not one to send. Append results, real ones or such that say what happened;
// or, to look at the list, set Options.SettleMissing.
type PendingError struct {
	Calls []PendingCall
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
