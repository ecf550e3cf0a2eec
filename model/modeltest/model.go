package modeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/wire"
)

// Model is a model in the process that answers by a script. Requests are built
// and checked for its profile, as an adapter would.
type Model struct {
	// ModelInfo is what Info returns. Set it before the first call.
	ModelInfo model.Info
	// Profile is what requests are built for. Default wire.Anthropic.
	Profile wire.Profile
	// Now is the clock of the answers. Default: the zero time.
	Now func() time.Time

	mu       sync.Mutex
	script   []Reply
	requests []*model.Request
}

var (
	_ model.Model   = (*Model)(nil)
	_ model.Counter = (*Model)(nil)
)

// New returns a model with a script.
func New(replies ...Reply) *Model {
	return &Model{
		script:    replies,
		ModelInfo: model.Info{Provider: "scripted", Model: "script", API: "anthropic-messages", Window: 200_000, MaxOutput: 32_000},
		Profile:   wire.Anthropic,
		Now:       func() time.Time { return time.Time{} },
	}
}

// Add adds replies to the script.
func (m *Model) Add(replies ...Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script = append(m.script, replies...)
}

// Requests returns the requests so far, in order.
func (m *Model) Requests() []*model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Info implements model.Model.
func (m *Model) Info() model.Info { return m.ModelInfo }

// Complete implements model.Model.
func (m *Model) Complete(ctx context.Context, r *model.Request) (*model.Response, error) {
	return m.answer(ctx, "complete", r, nil)
}

// Stream implements model.Model.
func (m *Model) Stream(ctx context.Context, r *model.Request, on func(model.Event) error) (*model.Response, error) {
	return m.answer(ctx, "stream", r, on)
}

// Count implements model.Counter: four bytes of the request are a token.
func (m *Model) Count(_ context.Context, r *model.Request) (int64, error) {
	req, _, err := r.Build(m.Profile, m.target())
	if err != nil {
		return 0, m.fail("count", model.KindRequest, err)
	}
	return req.Size() / bytesPerToken, nil
}

func (m *Model) target() wire.Target {
	return wire.Target{Provider: m.ModelInfo.Provider, Model: m.ModelInfo.Model, TakesImages: m.ModelInfo.Images}
}

func (m *Model) fail(op string, k model.Kind, err error) *model.Error {
	return &model.Error{Op: op, Provider: m.ModelInfo.Provider, Model: m.ModelInfo.Model, Kind: k, Err: err, Attempts: 1}
}

func (m *Model) answer(ctx context.Context, op string, r *model.Request, on func(model.Event) error) (*model.Response, error) {
	req, notes, err := r.Build(m.Profile, m.target())
	if err != nil {
		return nil, m.fail(op, model.KindRequest, err)
	}
	rep, err := m.next(r)
	if err != nil {
		return nil, m.fail(op, model.KindInvalid, err)
	}
	if err := wait(ctx, rep.Faults.Delay); err != nil {
		return nil, m.fail(op, model.KindCanceled, err)
	}
	if f := rep.Failure; f != nil && !f.InStream {
		return nil, m.failure(op, f)
	}
	size := req.Size() / bytesPerToken
	if w := m.ModelInfo.Window; w > 0 && size > w {
		return nil, m.failure(op, &Failure{Kind: model.KindOverflow, Asked: size, Limit: w})
	}
	a := &model.Answer{
		Blocks: rep.Blocks, Finish: rep.finish(), FinishDetail: string(rep.finish()), Refusal: rep.Refusal, Usage: rep.Usage,
		Model: m.ModelInfo.Model,
	}
	if a.Usage == nil {
		a.Usage = &message.Usage{Input: size, Output: outputTokens(rep.Blocks)}
	}
	resp := a.Response(m.ModelInfo, m.Now())
	resp.Notes, resp.BytesSent = notes, req.Size()
	return m.stream(ctx, op, resp, &rep, on)
}

func (m *Model) next(r *model.Request) (Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, r)
	if len(m.script) == 0 {
		return Reply{}, errors.New("the script has no more replies")
	}
	rep := m.script[0]
	m.script = m.script[1:]
	return rep, nil
}

// stream gives the blocks in pieces, then the end the reply has.
func (m *Model) stream(ctx context.Context, op string, resp *model.Response, rep *Reply, on func(model.Event) error) (*model.Response, error) {
	emit := func(e model.Event) error {
		if on == nil {
			return nil
		}
		return on(e)
	}
	said := 0
	for i, b := range resp.Message.Content {
		for _, e := range events(i, b) {
			if rep.Faults.Drop && said >= rep.Faults.DropAt {
				e := m.fail(op, model.KindDropped, errors.New("the stream was cut"))
				e.Partial = resp
				resp.Finish = model.FinishNotKnown
				resp.Message.StopReason = message.StopError
				return nil, e
			}
			said += len(e.Text)
			if err := wait(ctx, rep.Faults.Pause); err != nil {
				return nil, m.fail(op, model.KindCanceled, err)
			}
			if err := emit(e); err != nil {
				return nil, err
			}
		}
	}
	if rep.Failure != nil {
		return nil, m.failure(op, rep.Failure)
	}
	if err := emit(model.Event{Kind: model.EventDone, Response: resp}); err != nil {
		return nil, err
	}
	return resp, nil
}

func events(n int, b message.Block) (out []model.Event) {
	kind, text := model.EventText, b.Text
	switch b.Type {
	case message.BlockThinking:
		kind = model.EventThinking
	case message.BlockToolCall:
		out = append(out, model.Event{Kind: model.EventCall, Block: n, ID: b.ID, Name: b.Name})
		kind, text = model.EventArguments, string(b.Arguments)
	case message.BlockText:
	default:
		return nil
	}
	for _, piece := range pieces(text) {
		out = append(out, model.Event{Kind: kind, Block: n, Text: piece})
	}
	return out
}

func (m *Model) failure(op string, f *Failure) *model.Error {
	status, body := f.Status, []byte(f.Body)
	if status == 0 {
		e := anthropicError(f)
		status, body = e.status, e.anthropicBody()
	}
	e := model.ErrorFromBody(m.ModelInfo.Provider, status, nil, body)
	e.Op, e.Model, e.Attempts = op, m.ModelInfo.Model, 1
	if f.RetryAfter > 0 {
		e.RetryAfter = f.RetryAfter
	}
	return e
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("waiting for the answer: %w", ctx.Err())
	case <-t.C:
		return nil
	}
}
