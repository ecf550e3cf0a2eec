package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

// loop is a turn: what was sent is delivered, the model is asked, its calls are run, and round again.
type loop struct {
	journal *journal
	ops     *operations
	mail    *mailbox
	runner  *runner
	prompts *prompts
	passes  *compactor
	ask     *requester
	most    int // requests for one prompt
}

// turn lets the agent work until it has no more to do.
func (l *loop) turn(ctx context.Context) {
	l.journal.events.send(Event{Kind: KindTurnStart})
	outcome, err := l.work(ctx)
	if ctx.Err() != nil {
		if err != nil && !IsCancelled(err) {
			l.journal.warn(err)
		}
		outcome, err = OutcomeCancelled, nil
	}
	// Whatever has ended the turn before its time: no call stays without a result.
	if outcome == OutcomeCancelled || err != nil {
		err = errors.Join(err, l.journal.closeCalls(ctx))
	}
	e := Event{Kind: KindTurnEnd, Outcome: outcome}
	if err != nil {
		e.Outcome, e.Error = OutcomeFailed, err.Error()
		l.ops.mu.Lock()
		l.ops.hold(true) // what waits would fail too
		l.ops.mu.Unlock()
	}
	l.journal.events.send(e)
	if outcome == OutcomeDone && err == nil {
		l.passes.afterTurn(ctx)
	}
}

// work makes requests and runs calls.
func (l *loop) work(ctx context.Context) (Outcome, error) {
	if err := l.journal.closeLost(ctx); err != nil {
		return OutcomeFailed, err
	}
	if err := l.prompts.remind(ctx); err != nil {
		return OutcomeFailed, err
	}
	if _, err := l.mail.deliver(ctx, false); err != nil {
		return OutcomeFailed, err
	}
	if ok, err := l.unanswered(ctx); !ok || err != nil {
		return OutcomeDone, err
	}
	var tried recovery
	for requests := 0; ; requests++ {
		if requests == l.most {
			return OutcomeLimit, nil
		}
		l.ops.runJobs(ctx)
		resp, err := l.ask.ask(ctx, &tried)
		if err != nil {
			return OutcomeFailed, err
		}
		goOn, err := l.take(ctx, resp, &tried)
		if err != nil {
			return OutcomeFailed, err
		}
		n, err := l.mail.deliver(ctx, true)
		if err == nil && n == 0 && !goOn {
			l.ops.runJobs(ctx)
			n, err = l.mail.deliver(ctx, false)
		}
		if err != nil {
			return OutcomeFailed, err
		}
		if n > 0 {
			tried = recovery{}
			if !goOn {
				requests = -1 // a prompt of its own
				if err := l.prompts.remind(ctx); err != nil {
					return OutcomeFailed, err
				}
			}
		} else if !goOn {
			return OutcomeDone, nil
		}
	}
}

// unanswered reports whether the context ends with something that a model is to answer.
func (l *loop) unanswered(ctx context.Context) (bool, error) {
	items, err := l.journal.s.Context(ctx)
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
func (l *loop) take(ctx context.Context, resp *model.Response, tried *recovery) (bool, error) {
	m := resp.Message
	id, err := l.journal.append(ctx, m)
	if err != nil {
		l.journal.events.send(Event{Kind: KindDiscard, Why: "it could not be written down"})
		return false, fmt.Errorf("the answer could not be written down: %w", err)
	}
	calls := m.ToolCalls()
	if len(calls) > 0 { // what was about to be done is known whatever happens meanwhile
		if err := l.mail.sync(ctx); err != nil {
			return false, fmt.Errorf("the answer could not be written down: %w", err)
		}
	}
	cut := resp.Finish == model.FinishLength || resp.Finish == model.FinishWindow
	switch {
	case cut && len(calls) > 0:
		// The arguments may be cut too, although they can be read.
		if err := l.runner.refuseAll(ctx, calls, "The answer was cut off at its limit, so this call was not run: its arguments may not be whole. Call again, with less in one call."); err != nil {
			return false, err
		}
	case len(calls) > 0:
		if err := l.runner.run(ctx, calls); err != nil {
			return false, err
		}
	}
	if len(resp.BadCalls) > 0 {
		if err := l.badCall(tried, "has called tools with arguments that are no JSON object"); err != nil {
			return false, err
		}
		return true, l.tellBadCalls(ctx, resp.BadCalls)
	}
	switch {
	case cut && len(calls) > 0:
		return true, l.badCall(tried, "was cut off in the middle of its calls")
	case len(calls) > 0:
		*tried = recovery{}
		return true, nil
	case cut:
		return l.ask.cutShort(ctx, id, resp, tried)
	}
	return l.ended(ctx, resp, tried)
}

// badCall counts answers in a row that have failed to call a tool. The error is one of too many.
func (l *loop) badCall(tried *recovery, how string) error {
	if tried.badCalls++; tried.badCalls > maxBadCalls {
		return fmt.Errorf("%s %s %d times in a row: ask for less at once, or take another model", l.ask.models.name(), how, tried.badCalls)
	}
	return nil
}

// ended looks at an answer without calls.
func (l *loop) ended(ctx context.Context, resp *model.Response, tried *recovery) (bool, error) {
	switch resp.Finish {
	case model.FinishPaused:
		return true, nil // the provider wants it back
	case model.FinishRefusal:
		return false, fmt.Errorf("%s refused to answer: %s", l.ask.models.name(), cmp.Or(resp.Refusal, resp.Text(), resp.FinishDetail, "it did not say why"))
	case model.FinishBadCall:
		if err := l.badCall(tried, "has tried to call a tool and failed"); err != nil {
			return false, fmt.Errorf("%w: %s", err, resp.FinishDetail)
		}
		return true, l.journal.note(ctx, "Your last answer was meant to call a tool, and could not be read as a call. Call it again.")
	default:
	}
	*tried = recovery{}
	l.ask.overWindow(ctx, resp)
	return false, nil
}

// maxBadCalls is how many answers in a row may fail to call a tool.
const maxBadCalls = 3

// tellBadCalls tells the model of calls that could not be read.
func (l *loop) tellBadCalls(ctx context.Context, bad []model.BadCall) error {
	text := "These calls could not be run, because their arguments were not a whole JSON object, most likely because the answer was cut off:"
	for _, b := range bad {
		text += fmt.Sprintf("\n- %s, with %d bytes of arguments", b.Name, len(b.Text))
	}
	return l.journal.note(ctx, text+"\nCall again, with less in one call.")
}
