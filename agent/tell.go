package agent

import (
	"context"

	"github.com/clew-dev/clew/agent/tool"
)

// TellRetry tells of a call of a model that was made for the agent and is made again: for
// a transport that tries again by itself, in model.Retry.Notify.
func (a *Agent) TellRetry(r Retry) { a.pump.send(Event{Kind: KindRetry, Retry: &r}) }

// TellWarning tells the user of something that went wrong around the agent.
func (a *Agent) TellWarning(err error) { a.warn(err) }

// SetTools changes which tools there are, from the next request on; Config.Guard decides
// about them too. The prompt changes with that, so what a provider has cached of the
// conversation is lost: best is before the first request, or after a pass. It waits
// for the request or the calls that are under way.
func (a *Agent) SetTools(ctx context.Context, tools []tool.Tool) error {
	const op = "change the tools"
	if a.cfg.Guard == nil && len(tools) > 0 {
		return &Error{Op: op, Err: errNoGuard, Hint: "make the agent with one, by permission.New"}
	}
	return a.do(ctx, op, DoingMove, func(context.Context) error {
		a.cfg.Tools = tools
		return nil
	})
}

// OfferTools is SetTools from the next pass on: the context begins anew then, so what a
// provider has cached of the conversation stays until there.
func (a *Agent) OfferTools(tools []tool.Tool) error {
	if a.cfg.Guard == nil && len(tools) > 0 {
		return &Error{Op: "offer tools", Err: errNoGuard, Hint: "make the agent with one, by permission.New"}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.offered = &tools
	return nil
}

// takeOffered makes the tools that were offered those of the agent.
func (a *Agent) takeOffered() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.offered != nil {
		a.cfg.Tools, a.offered = *a.offered, nil
	}
}

// Seq is the number of the last event that Config.Events was told of, or will be: when it
// was told of that one, it knows of all that has happened.
func (a *Agent) Seq() int64 {
	a.pump.mu.Lock()
	defer a.pump.mu.Unlock()
	return a.pump.seq
}
