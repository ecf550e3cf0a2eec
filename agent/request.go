package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

// maxTokenBytes is more bytes than a token of any text has on average.
const maxTokenBytes = 8

// requester puts requests together and sends them. It is the only place that sends one again.
type requester struct {
	journal *journal
	models  *models
	passes  *compactor
	retry   model.Retry
	asked   atomic.Bool // a request was made
}

// request makes what is sent next: the only place where that is put together. A pass
// is made first where one is due.
func (r *requester) request(ctx context.Context) (*model.Request, *clew.Prepared, error) {
	p, err := r.passes.prepare(ctx)
	if err != nil {
		return nil, nil, err
	}
	r.journal.status.change(func(s *State) { s.setReading(p.Reading.Tokens, p.Reading.Estimated == 0) })
	req := &model.Request{
		Messages: p.Messages, MaxOutput: p.MaxOutput, Reasoning: r.models.now.reasoning,
		Cache: model.CacheShort, CacheKey: r.journal.s.Log().Store().Header().ID,
		Attempts: 1, // ask makes the others: the transport can't take back what was streamed
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
func (r *requester) ask(ctx context.Context, tried *recovery) (*model.Response, error) {
	for {
		if err := r.models.change(ctx); err != nil {
			return nil, err
		}
		req, p, err := r.request(ctx)
		if err != nil {
			return nil, err
		}
		r.asked.Store(true)
		r.journal.events.send(Event{Kind: KindRequest})
		resp, err := r.models.now.model.Stream(ctx, req, r.streamed)
		if err == nil {
			err = r.accepted(ctx, resp, p)
		}
		if err == nil {
			tried.failures = 0
			return resp, nil
		}
		if err := r.failed(ctx, err, p, tried); err != nil {
			return nil, err
		}
	}
}

// streamed passes on a piece of an answer.
func (r *requester) streamed(e model.Event) error {
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
	r.journal.events.send(out)
	return nil
}

// accepted learns from an answer. The error is one of a request that was too large and
// got an answer all the same.
func (r *requester) accepted(ctx context.Context, resp *model.Response, p *clew.Prepared) error {
	u := resp.Message.Usage
	window := r.journal.status.get().Window
	if model.NoRoom(resp.Finish, u, window) {
		return r.modelError(model.KindOverflow, "the answer is empty, because the input fills the window", resp)
	}
	if u == nil || u.Prompt() == 0 {
		if len(resp.Message.Content) == 0 && resp.Finish != model.FinishRefusal {
			return r.modelError(model.KindDropped, "the answer is empty", resp)
		}
		return nil
	}
	// The bytes must say so too: what was reported for an earlier request can be wrong.
	if model.CutInput(p.Reading.Tokens, u) && u.Prompt() < p.Reading.Bytes/maxTokenBytes {
		r.journal.warn(fmt.Errorf("%s has read %d tokens of about %d: its server cuts the input. From now on its window counts as that large", r.models.name(), u.Prompt(), p.Reading.Tokens))
		if err := r.models.learn(ctx, model.Overflow{Kind: model.OverflowTokens, Limit: u.Prompt()}); err != nil {
			r.journal.warn(err) // the answer is there, and counts
		}
		return nil
	}
	if len(resp.Message.Content) == 0 && len(resp.BadCalls) == 0 && resp.Finish != model.FinishRefusal && resp.Finish != model.FinishPaused {
		return r.modelError(model.KindDropped, "the answer is empty", resp)
	}
	r.journal.status.change(func(s *State) { s.CacheHit = float64(u.CacheRead) / float64(u.Prompt()) })
	return nil
}

func (r *requester) modelError(k model.Kind, text string, resp *model.Response) error {
	i := r.models.info()
	e := &model.Error{Op: "stream", Provider: i.Provider, Model: i.Model, Kind: k, Message: text, Partial: resp, Attempts: 1}
	if k == model.KindOverflow {
		e.Overflow = &model.Overflow{Kind: model.OverflowTokens}
	}
	return e
}

// recovery is what was tried since the last thing that went well.
type recovery struct {
	compacted bool // after an overflow or an answer that was cut short
	failures  int  // in a row, for passing reasons
	badCalls  int  // in a row
}

// failed does what can be done about a call that failed. Without an error it is to be
// made again.
func (r *requester) failed(ctx context.Context, err error, p *clew.Prepared, tried *recovery) error {
	if ctx.Err() != nil {
		r.keepPartial(ctx, err, message.StopAborted)
		return context.Cause(ctx)
	}
	var e *model.Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case e.Kind == model.KindOverflow:
		r.keepPartial(ctx, err, message.StopError)
		return r.overflowed(ctx, e, p, tried)
	case e.Kind.Transient():
		tried.failures++
		if wait, ok := r.retry.Wait(tried.failures, e); ok {
			if e.Partial != nil && e.Partial.Message != nil {
				r.journal.spent(ctx, "retry", r.models.id(), e.Partial.Message.Usage)
			}
			r.journal.events.send(Event{Kind: KindDiscard, Why: e.Message})
			r.journal.events.send(Event{Kind: KindRetry, Retry: &Retry{Attempt: tried.failures, Of: r.retry.Attempts - 1, Wait: wait, Error: e.Error()}})
			return r.retry.Sleep(ctx, wait)
		}
	}
	r.keepPartial(ctx, err, message.StopError)
	return err
}

// keepPartial keeps what had arrived of an answer, for the user to read. It is not sent
// to a model again, and its calls are not kept: nothing answers them.
func (r *requester) keepPartial(ctx context.Context, err error, stop message.StopReason) {
	m := message.Assistant(r.journal.clock())
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
	i := r.models.info()
	m.StopReason, m.ErrorMessage, m.API, m.Provider, m.Model = stop, err.Error(), i.API, i.Provider, i.Model
	if _, err := r.journal.append(ctx, m); err != nil {
		r.journal.warn(fmt.Errorf("the part of the answer that had arrived could not be kept: %w", err))
	}
}

// overflowed makes room after a request that was too large: once, and only if that
// makes it smaller.
func (r *requester) overflowed(ctx context.Context, e *model.Error, p *clew.Prepared, tried *recovery) error {
	const hint = "take a model with a larger window, or begin a new session"
	failed := func(format string, args ...any) error {
		return &Error{Op: "answer", Err: fmt.Errorf(format, args...), Hint: hint}
	}
	r.journal.events.send(Event{Kind: KindDiscard, Why: e.Message})
	if tried.compacted {
		return failed("the request is still too large after a pass: %w", e)
	}
	tried.compacted = true
	if e.Overflow != nil {
		if err := r.models.learn(ctx, *e.Overflow); err != nil {
			return err
		}
	}
	res, err := r.passes.makeRoom(ctx, clew.CompactOptions{Reason: compact.Overflow, WillRetry: true})
	if err != nil {
		return &Error{Op: "answer", Err: fmt.Errorf("%w; and no room could be made: %w", e, err)}
	}
	if !res.Plan.Act {
		return failed("%w; and no room could be made: %s", e, res.Plan.Why)
	}
	now, err := r.journal.s.Check(ctx)
	if err != nil || now.Before.Guarded() < p.Reading.Guarded() || now.Before.Bytes < p.Reading.Bytes {
		return err
	}
	return failed("%w; the pass after it left %d tokens of %d, so sending it again would be no use", e, now.Before.Tokens, p.Reading.Tokens)
}

// cutShort looks at an answer without calls that stopped at a limit. One that stopped
// before the model's own is asked for again after a pass, once.
func (r *requester) cutShort(ctx context.Context, id string, resp *model.Response, tried *recovery) (bool, error) {
	out := int64(0)
	if resp.Message.Usage != nil {
		out = resp.Message.Usage.Output
	}
	most := cmp.Or(r.models.info().MaxOutput, model.DefaultMaxOutput)
	if resp.Finish == model.FinishLength && out >= most {
		r.journal.warn(fmt.Errorf("the answer was cut off after %d tokens: that is the most %s can say at once. Say that it shall go on", out, r.models.name()))
		*tried = recovery{}
		return false, nil
	}
	if clamp := r.models.clamps[r.models.id()]; clamp > 0 && out*10 >= clamp*9 {
		r.journal.warn(fmt.Errorf("the answer was cut off after %d tokens, as before. Say that it shall go on", out))
		return false, nil
	}
	if tried.compacted {
		r.models.clamps[r.models.id()] = out // it is the server's own limit: less input does not help
		return false, &Error{
			Op: "answer", Err: fmt.Errorf("%s has cut off the answer after %d tokens, and did so again after a pass; it can say %d", r.models.name(), out, most),
			Hint: "ask for less at once, or take another model",
		}
	}
	tried.compacted = true
	before, err := r.journal.s.Check(ctx)
	if err != nil {
		return false, err
	}
	res, err := r.passes.makeRoom(ctx, clew.CompactOptions{Reason: compact.Length, WillRetry: true})
	if err == nil && res.Plan.Act {
		var after *compact.Plan
		if after, err = r.journal.s.Check(ctx); err == nil && after.Before.Guarded() < before.Before.Guarded() {
			r.journal.events.send(Event{Kind: KindDiscard, Why: "the answer was cut off early"})
			return true, r.journal.s.Omit(ctx, id)
		}
	}
	why := fmt.Sprintf("the answer was cut off after %d tokens, although %s can say %d", out, r.models.name(), most)
	if err != nil {
		return false, fmt.Errorf("%s; and no room could be made: %w", why, err)
	}
	r.journal.warn(fmt.Errorf("%s, and no room could be made: %s. Say that it shall go on", why, res.Plan.Why))
	return false, nil
}

// overWindow makes a pass after an answer to more than the window holds. The answer
// stands: it is not asked for again.
func (r *requester) overWindow(ctx context.Context, resp *model.Response) {
	if !model.OverWindow(resp.Message.Usage, r.journal.status.get().Window) {
		return
	}
	if _, err := r.passes.compact(ctx, clew.CompactOptions{Reason: compact.Overflow}); err != nil && ctx.Err() == nil {
		r.journal.warn(err)
	}
}
