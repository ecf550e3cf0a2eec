package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
)

// maxTokenBytes is more bytes than a token of any text has on average.
const maxTokenBytes = 8

// request makes what is sent next: the only place where that is put together. A pass
// is made first where one is due.
func (a *Agent) request(ctx context.Context) (*model.Request, *clew.Prepared, error) {
	p, err := a.prepare(ctx)
	if err != nil {
		return nil, nil, err
	}
	a.reading(p)
	req := &model.Request{
		Messages: p.Messages, MaxOutput: p.MaxOutput, Reasoning: a.reasoning,
		Cache: model.CacheShort, CacheKey: a.s.Log().Store().Header().ID,
	}
	limitOutput(req, p)
	return req, p, nil
}

// limitOutput lets answer and reasoning together fit the window: providers count both. The room for reasoning has one of
// two sizes, for each change of it loses what the provider has cached.
func limitOutput(req *model.Request, p *clew.Prepared) {
	budget := req.Budget()
	if budget == 0 {
		return
	}
	if p.Room < budget+min(p.MaxOutput, model.DefaultMaxOutput/2) {
		budget = min(budget, p.Plan.Budget.Reserve/2)
	}
	req.ReasoningBudget, req.MaxOutput = budget, max(min(p.MaxOutput, p.Room-budget), 1)
}

// ask sends the context and returns the answer. What fails for a passing reason is
// tried again, what is too large once after a pass.
func (a *Agent) ask(ctx context.Context, r *recovery) (*model.Response, error) {
	for {
		if err := a.switchModel(ctx); err != nil {
			return nil, err
		}
		req, p, err := a.request(ctx)
		if err != nil {
			return nil, err
		}
		a.events.send(Event{Kind: KindRequest})
		resp, err := a.model.Stream(ctx, req, a.streamed)
		if err == nil {
			err = a.accepted(ctx, resp, p)
		}
		if err == nil {
			r.failures = 0
			return resp, nil
		}
		if err := a.failed(ctx, err, p, r); err != nil {
			return nil, err
		}
	}
}

// streamed passes on a piece of an answer.
func (a *Agent) streamed(e model.Event) error {
	out := Event{Kind: KindDelta, Block: e.Block, Text: e.Text}
	switch e.Kind {
	case model.EventText:
		out.Part = PartText
	case model.EventThinking:
		out.Part = PartThinking
	case model.EventCall:
		out.Part, out.Tool = PartArguments, &ToolCall{ID: e.ID, Name: e.Name}
	case model.EventArguments:
		out.Part = PartArguments
	default:
		return nil
	}
	a.events.send(out)
	return nil
}

// accepted learns from an answer. The error is one of a request that was too large and
// got an answer all the same.
func (a *Agent) accepted(ctx context.Context, resp *model.Response, p *clew.Prepared) error {
	u := resp.Message.Usage
	window := a.State().Window
	if model.NoRoom(resp.Finish, u, window) {
		return a.modelError(model.KindOverflow, "the answer is empty, because the input fills the window", resp)
	}
	if u == nil || u.Prompt() == 0 {
		if len(resp.Message.Content) == 0 && resp.Finish != model.FinishRefusal {
			return a.modelError(model.KindDropped, "the answer is empty", resp)
		}
		return nil
	}
	// The bytes must say so too: what was reported for an earlier request can be wrong.
	if model.CutInput(p.Reading.Tokens, u) && u.Prompt() < p.Reading.Bytes/maxTokenBytes {
		a.journal.warn(fmt.Errorf("%s has read %d tokens of about %d: its server cuts the input. From now on its window counts as that large", a.modelName(), u.Prompt(), p.Reading.Tokens))
		if err := a.learn(ctx, model.Overflow{Kind: model.OverflowTokens, Limit: u.Prompt()}); err != nil {
			a.journal.warn(err) // the answer is there, and counts
		}
		return nil
	}
	if len(resp.Message.Content) == 0 && len(resp.BadCalls) == 0 && resp.Finish != model.FinishRefusal && resp.Finish != model.FinishPaused {
		return a.modelError(model.KindDropped, "the answer is empty", resp)
	}
	a.status.change(func(s *State) { s.CacheHit = share(u.CacheRead, u.Prompt()) })
	return nil
}

func (a *Agent) modelError(k model.Kind, text string, resp *model.Response) error {
	i := a.info()
	e := &model.Error{Op: "stream", Provider: i.Provider, Model: i.Model, Kind: k, Message: text, Partial: resp, Attempts: 1}
	if k == model.KindOverflow {
		e.Overflow = &model.Overflow{Kind: model.OverflowTokens}
	}
	return e
}

func share(part, of int64) float64 {
	if of <= 0 {
		return 0
	}
	return float64(part) / float64(of)
}

// recovery is what was tried since the last thing that went well.
type recovery struct {
	compacted bool // after an overflow or an answer that was cut short
	failures  int  // in a row, for passing reasons
	badCalls  int  // in a row
}

// failed does what can be done about a call that failed. Without an error it is to be
// made again.
func (a *Agent) failed(ctx context.Context, err error, p *clew.Prepared, r *recovery) error {
	if ctx.Err() != nil {
		a.keepPartial(ctx, err, message.StopAborted)
		return context.Cause(ctx)
	}
	var e *model.Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case e.Kind == model.KindOverflow:
		a.keepPartial(ctx, err, message.StopError)
		return a.overflowed(ctx, e, p, r)
	case e.Kind.Transient():
		if wait, ok := a.again(e, r); ok {
			if e.Partial != nil && e.Partial.Message != nil {
				i := a.info()
				a.journal.spent(ctx, "retry", session.Model{Provider: i.Provider, ID: i.Model}, e.Partial.Message.Usage)
			}
			a.events.send(Event{Kind: KindDiscard, Why: e.Message})
			a.events.send(Event{Kind: KindRetry, Retry: &Retry{Attempt: r.failures, Of: a.cfg.Retries, Wait: wait, Error: e.Error()}})
			if err := a.cfg.Sleep(ctx, wait); err != nil {
				return err
			}
			return nil
		}
	}
	a.keepPartial(ctx, err, message.StopError)
	return err
}

// again says how long to wait before a call is made again; ok is false where it is not.
func (a *Agent) again(e *model.Error, r *recovery) (wait time.Duration, ok bool) {
	r.failures += max(1, e.Attempts) // the transport has waited between its own
	if r.failures > a.cfg.Retries || e.RetryAfter > a.cfg.RetryMax {
		return 0, false
	}
	if e.RetryAfter > 0 {
		return e.RetryAfter, true
	}
	wait = a.cfg.RetryBase
	for i := 1; i < r.failures && wait < a.cfg.RetryMax; i++ {
		wait *= 2
	}
	return min(wait, a.cfg.RetryMax), true
}

// keepPartial keeps what had arrived of an answer, for the user to read. It is not sent
// to a model again, and its calls are not kept: nothing answers them.
func (a *Agent) keepPartial(ctx context.Context, err error, stop message.StopReason) {
	m := message.Assistant(a.cfg.Clock())
	var e *model.Error
	if errors.As(err, &e) && e.Partial != nil && e.Partial.Message != nil {
		for _, b := range e.Partial.Message.Content {
			if b.Type == message.BlockText {
				m.Content = append(m.Content, b)
			}
		}
		m.Usage = e.Partial.Message.Usage
	}
	if stop == message.StopAborted && len(m.Content) == 0 {
		return
	}
	i := a.info()
	m.StopReason, m.ErrorMessage, m.API, m.Provider, m.Model = stop, err.Error(), i.API, i.Provider, i.Model
	if _, err := a.journal.append(ctx, m); err != nil {
		a.journal.warn(fmt.Errorf("the part of the answer that had arrived could not be kept: %w", err))
	}
}

// overflowed makes room after a request that was too large: once, and only if that
// makes it smaller.
func (a *Agent) overflowed(ctx context.Context, e *model.Error, p *clew.Prepared, r *recovery) error {
	const op = "answer"
	a.events.send(Event{Kind: KindDiscard, Why: e.Message})
	if r.compacted {
		return &Error{Op: op, Err: fmt.Errorf("the request is still too large after a pass: %w", e), Hint: "take a model with a larger window, or begin a new session"}
	}
	r.compacted = true
	if e.Overflow != nil {
		if err := a.learn(ctx, *e.Overflow); err != nil {
			return err
		}
	}
	res, err := a.makeRoom(ctx, clew.CompactOptions{Reason: compact.Overflow, WillRetry: true})
	if err != nil {
		return &Error{Op: op, Err: fmt.Errorf("%w; and no room could be made: %w", e, err)}
	}
	if !res.Plan.Act {
		return &Error{Op: op, Err: fmt.Errorf("%w; and no room could be made: %s", e, res.Plan.Why), Hint: "take a model with a larger window, or begin a new session"}
	}
	return a.progressed(ctx, p, e)
}

// makeRoom makes a pass to the target; and where the context is within that, to less than
// half of what it is: somebody has asked for room.
func (a *Agent) makeRoom(ctx context.Context, opt clew.CompactOptions) (*clew.Result, error) {
	res, err := a.compactNow(ctx, opt)
	if err == nil && !res.Plan.Act {
		opt.Keep = compact.Tokens(max(res.Plan.Before.Tokens*2/5, 1))
		res, err = a.compactNow(ctx, opt)
	}
	return res, err
}

// progressed reports a context that is no smaller than the one that was refused.
func (a *Agent) progressed(ctx context.Context, before *clew.Prepared, cause error) error {
	now, err := a.s.Check(ctx)
	if err != nil {
		return err
	}
	if now.Before.Guarded() < before.Reading.Guarded() || now.Before.Bytes < before.Reading.Bytes {
		return nil
	}
	return &Error{
		Op: "answer", Err: fmt.Errorf("%w; the pass after it left %d tokens of %d, so sending it again would be no use", cause, now.Before.Tokens, before.Reading.Tokens),
		Hint: "take a model with a larger window, or begin a new session",
	}
}

// cutShort looks at an answer without calls that stopped at a limit. One that stopped
// before the model's own is asked for again after a pass, once.
func (a *Agent) cutShort(ctx context.Context, id string, resp *model.Response, r *recovery) (bool, error) {
	out := int64(0)
	if resp.Message.Usage != nil {
		out = resp.Message.Usage.Output
	}
	most := a.info().MaxOutput
	if most == 0 {
		most = model.DefaultMaxOutput
	}
	if resp.Finish == model.FinishLength && out >= most {
		a.journal.warn(fmt.Errorf("the answer was cut off after %d tokens: that is the most %s can say at once. Say that it shall go on", out, a.modelName()))
		*r = recovery{}
		return false, nil
	}
	known := a.learnt[a.route()]
	if known.clamp > 0 && out*10 >= known.clamp*9 {
		a.journal.warn(fmt.Errorf("the answer was cut off after %d tokens, as before. Say that it shall go on", out))
		return false, nil
	}
	if r.compacted {
		known.clamp = out // it is the server's own limit: less input does not help
		a.learnt[a.route()] = known
		return false, &Error{
			Op: "answer", Err: fmt.Errorf("%s has cut off the answer after %d tokens, and did so again after a pass; it can say %d", a.modelName(), out, most),
			Hint: "ask for less at once, or take another model",
		}
	}
	r.compacted = true
	before, err := a.s.Check(ctx)
	if err != nil {
		return false, err
	}
	res, err := a.makeRoom(ctx, clew.CompactOptions{Reason: compact.Length, WillRetry: true})
	if err == nil && res.Plan.Act {
		var after *compact.Plan
		if after, err = a.s.Check(ctx); err == nil && after.Before.Guarded() < before.Before.Guarded() {
			a.events.send(Event{Kind: KindDiscard, Why: "the answer was cut off early"})
			return true, a.s.Omit(ctx, id)
		}
	}
	why := fmt.Sprintf("the answer was cut off after %d tokens, although %s can say %d", out, a.modelName(), most)
	if err != nil {
		return false, fmt.Errorf("%s; and no room could be made: %w", why, err)
	}
	a.journal.warn(fmt.Errorf("%s, and no room could be made: %s. Say that it shall go on", why, res.Plan.Why))
	return false, nil
}

// overWindow makes a pass after an answer to more than the window holds. The answer
// stands: it is not asked for again.
func (a *Agent) overWindow(ctx context.Context, resp *model.Response) {
	if !model.OverWindow(resp.Message.Usage, a.State().Window) {
		return
	}
	if _, err := a.compactNow(ctx, clew.CompactOptions{Reason: compact.Overflow}); err != nil && ctx.Err() == nil {
		a.journal.warn(err)
	}
}
