package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
)

// turn lets the agent work until it has no more to do.
func (a *Agent) turn(ctx context.Context) {
	a.events.send(Event{Kind: KindTurnStart})
	outcome, err := a.work(ctx)
	if ctx.Err() != nil {
		if err != nil && !IsCancelled(err) {
			a.journal.warn(err)
		}
		outcome, err = OutcomeCancelled, nil
	}
	// Whatever has ended the turn before its time: no call stays without a result.
	if outcome == OutcomeCancelled || err != nil {
		err = errors.Join(err, a.journal.closeCalls(ctx))
	}
	e := Event{Kind: KindTurnEnd, Outcome: outcome}
	if err != nil {
		e.Outcome, e.Error = OutcomeFailed, err.Error()
		a.mu.Lock()
		a.hold(true) // what waits would fail too
		a.mu.Unlock()
	}
	a.events.send(e)
	if outcome == OutcomeDone && err == nil {
		a.afterTurn(ctx)
	}
}

// work makes requests and runs calls.
func (a *Agent) work(ctx context.Context) (Outcome, error) {
	if err := a.journal.closeLost(ctx); err != nil {
		return OutcomeFailed, err
	}
	if err := a.remind(ctx); err != nil {
		return OutcomeFailed, err
	}
	if _, err := a.deliver(ctx, false); err != nil {
		return OutcomeFailed, err
	}
	if ok, err := a.unanswered(ctx); !ok || err != nil {
		return OutcomeDone, err
	}
	var r recovery
	for requests := 0; ; requests++ {
		if requests == a.cfg.MaxRequests {
			return OutcomeLimit, nil
		}
		a.runJobs(ctx)
		resp, err := a.ask(ctx, &r)
		if err != nil {
			return OutcomeFailed, err
		}
		goOn, err := a.take(ctx, resp, &r)
		if err != nil {
			return OutcomeFailed, err
		}
		n, err := a.deliver(ctx, true)
		if err == nil && n == 0 && !goOn {
			a.runJobs(ctx)
			n, err = a.deliver(ctx, false)
		}
		if err != nil {
			return OutcomeFailed, err
		}
		if n > 0 {
			r = recovery{}
			if !goOn {
				requests = -1 // a prompt of its own
				if err := a.remind(ctx); err != nil {
					return OutcomeFailed, err
				}
			}
		} else if !goOn {
			return OutcomeDone, nil
		}
	}
}

// deliver appends the queued messages whose turn has come, and returns how many there were.
func (a *Agent) deliver(ctx context.Context, inTurn bool) (int, error) {
	n := 0
	for {
		did := false
		err := a.withQueue(func(q *queue) error {
			now := q.deliverable(inTurn)
			if len(now) == 0 || ctx.Err() != nil {
				return nil
			}
			it, m := now[0], now[0].message()
			// From here on it is not given up: it would be in the log and in the queue.
			if err := a.s.AppendAs(context.WithoutCancel(ctx), it.ID, m); err != nil && !errors.Is(err, session.ErrDuplicateID) {
				return err
			}
			did = true
			a.journal.tell(it.ID, m)
			if err := q.delivered(it.ID); err != nil {
				a.journal.warn(err)
			}
			return nil
		})
		if err != nil || !did {
			return n, err
		}
		n++
	}
}

// unanswered reports whether the context ends with something that a model is to answer.
func (a *Agent) unanswered(ctx context.Context) (bool, error) {
	items, err := a.s.Context(ctx)
	if err != nil {
		return false, err
	}
	for i := len(items) - 1; i >= 0; i-- {
		switch m := items[i].Message; {
		case m.Role == message.RoleAssistant && (m.StopReason == message.StopAborted || m.StopReason == message.StopError):
			continue // it is not sent
		case m.Role == message.RoleCustom && !m.UserWords() && i > 0:
			continue
		default:
			return m.Role == message.RoleUser || m.Role == message.RoleToolResult, nil
		}
	}
	return false, nil
}

// take appends an answer and runs its calls. It reports whether the model is to go on.
func (a *Agent) take(ctx context.Context, resp *model.Response, r *recovery) (bool, error) {
	m := resp.Message
	id, err := a.journal.append(ctx, m)
	if err != nil {
		a.events.send(Event{Kind: KindDiscard, Why: "it could not be written down"})
		return false, fmt.Errorf("the answer could not be written down: %w", err)
	}
	cut := resp.Finish == model.FinishLength || resp.Finish == model.FinishWindow
	calls := m.ToolCalls()
	switch {
	case cut && len(calls) > 0:
		// The arguments may be cut too, although they can be read.
		if err := a.runner.refuseAll(ctx, calls, "The answer was cut off at its limit, so this call was not run: its arguments may not be whole. Call again, with less in one call."); err != nil {
			return false, err
		}
	case len(calls) > 0:
		if err := a.runner.run(ctx, calls); err != nil {
			return false, err
		}
	}
	if len(resp.BadCalls) > 0 {
		if r.badCalls++; r.badCalls > maxBadCalls {
			return false, fmt.Errorf("%s has called tools with arguments that are no JSON object %d times in a row: ask for less at once, or take another model", a.modelName(), r.badCalls)
		}
		return true, a.tellBadCalls(ctx, resp.BadCalls)
	}
	if len(calls) > 0 {
		if !cut {
			*r = recovery{}
			return true, nil
		}
		if r.badCalls++; r.badCalls > maxBadCalls {
			return false, fmt.Errorf("%s was cut off in the middle of its calls %d times in a row: ask for less at once, or take another model", a.modelName(), r.badCalls)
		}
		return true, nil
	}
	if cut {
		return a.cutShort(ctx, id, resp, r)
	}
	return a.ended(ctx, resp, r)
}

// ended looks at an answer without calls.
func (a *Agent) ended(ctx context.Context, resp *model.Response, r *recovery) (bool, error) {
	switch resp.Finish {
	case model.FinishPaused:
		return true, nil // the provider wants it back
	case model.FinishRefusal:
		return false, fmt.Errorf("%s refused to answer: %s", a.modelName(), firstNonEmpty(resp.Refusal, resp.Text(), resp.FinishDetail))
	case model.FinishBadCall:
		if r.badCalls++; r.badCalls > maxBadCalls {
			return false, fmt.Errorf("%s has tried to call a tool and failed %d times in a row: %s", a.modelName(), r.badCalls, resp.FinishDetail)
		}
		return true, a.journal.note(ctx, "Your last answer was meant to call a tool, and could not be read as a call. Call it again.")
	default:
	}
	*r = recovery{}
	a.overWindow(ctx, resp)
	return false, nil
}

// maxBadCalls is how many answers in a row may fail to call a tool.
const maxBadCalls = 3

// tellBadCalls tells the model of calls that could not be read.
func (a *Agent) tellBadCalls(ctx context.Context, bad []model.BadCall) error {
	text := "These calls could not be run, because their arguments were not a whole JSON object, most likely because the answer was cut off:"
	for _, b := range bad {
		text += fmt.Sprintf("\n- %s, with %d bytes of arguments", b.Name, len(b.Text))
	}
	return a.journal.note(ctx, text+"\nCall again, with less in one call.")
}

func firstNonEmpty(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return "it did not say why"
}
