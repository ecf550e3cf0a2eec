package clew

import "context"

// BeforeFork is asked when a new session file is about to be made of a path of
// another one.
type BeforeFork interface {
	BeforeFork(ctx context.Context, e BeforeForkEvent) (ForkDecision, error)
}

// BeforeForkFunc is a function as a BeforeFork.
type BeforeForkFunc func(ctx context.Context, e BeforeForkEvent) (ForkDecision, error)

// BeforeFork implements the interface of that name.
func (f BeforeForkFunc) BeforeFork(ctx context.Context, e BeforeForkEvent) (ForkDecision, error) {
	return f(ctx, e)
}

// BeforeForkEvent says what a fork is to be made of.
type BeforeForkEvent struct {
	// Session is the id of the session that is forked, From its file, To the new one.
	Session, From, To string
	// Entry is the place that was asked for, "" for the leaf.
	Entry string
}

// ForkDecision is what a BeforeFork answers. The zero value changes nothing.
type ForkDecision struct {
	// Cancel stops the fork; Why is for the user. Hooks after this one are not asked.
	Cancel bool
	Why    string
}

// AskFork asks hooks about a fork. Fork does it; it is for programs that copy
// sessions by themselves. The warnings are a *HookError each.
func AskFork(ctx context.Context, hooks []Hook, e BeforeForkEvent) (ForkDecision, []error) {
	var warnings []error
	var stop ForkDecision
	eachHook(hooks, func(i int, h Hook, hook BeforeFork) bool {
		var d ForkDecision
		if call("BeforeFork", i, h, &warnings, func() (err error) {
			d, err = hook.BeforeFork(ctx, e)
			return err
		}) && d.Cancel {
			stop = d
		}
		return !stop.Cancel
	})
	return stop, warnings
}
