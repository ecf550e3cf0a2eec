package summary

import (
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/session"
)

// Checkpoint is a place where a task seems to have ended: a good time to look
// ahead with Cache.Warm, for nothing is waited for there.
type Checkpoint struct {
	After int // messages that stand before it
	Why   ledger.Boundary
}

// Checkpoints returns the places in a conversation where a task ended: a commit, a
// test run that passed, a todo list that is done, a word of the user. cwd is the
// working directory, where it is known.
func Checkpoints(items []session.Item, cwd string) []Checkpoint {
	r := ledger.NewReader(ledger.Options{Cwd: cwd})
	var out []Checkpoint
	for i := range items {
		r.Add(items[i : i+1])
		if why := r.Boundary(); why != "" {
			out = append(out, Checkpoint{After: i + 1, Why: why})
		}
	}
	return out
}
