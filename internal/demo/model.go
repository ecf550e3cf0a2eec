package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/wire"
)

const (
	// Window is that of the model, in tokens: small, so that it fills soon.
	Window = 12_000
	// maxOutput is the longest answer, in tokens.
	maxOutput = 2_000
	// bytesPerToken is how the model counts.
	bytesPerToken = 4
	// firstWord is how many words' time the first one takes.
	firstWord = 15
)

// Model answers by rules: it looks for words in what it is sent, and at what its tools have
// brought. It needs no network. It may be used from several goroutines.
type Model struct {
	pace  time.Duration
	clock func() time.Time
	name  string // that its calls begin with

	calls atomic.Int64

	mu   sync.Mutex
	last string // the request before this one, as it was sent
}

// NewModel returns a model that takes so much time for each word, on a clock; nil is time.Now.
func NewModel(pace time.Duration, clock func() time.Time) *Model {
	if clock == nil {
		clock = time.Now
	}
	// Calls have ids that no other run has given in the same session.
	return &Model{pace: pace, clock: clock, name: fmt.Sprintf("demo_%x", clock().UnixNano())}
}

// Info implements model.Model.
func (m *Model) Info() model.Info {
	return model.Info{
		Provider: "demo", Model: "rules", API: "anthropic-messages", Window: Window, MaxOutput: maxOutput, NoTemperature: true,
		Thinking: model.ThinkingNever, Price: &model.Price{}, // it costs nothing
	}
}

func target() wire.Target { return wire.Target{Provider: "demo", Model: "rules"} }

// Count implements model.Counter: four bytes of a request are a token.
func (m *Model) Count(_ context.Context, r *model.Request) (int64, error) {
	req, _, err := r.Build(wire.Anthropic, target())
	if err != nil {
		return 0, m.fail("count", model.KindRequest, err)
	}
	return req.Size() / bytesPerToken, nil
}

// Complete implements model.Model.
func (m *Model) Complete(ctx context.Context, r *model.Request) (*model.Response, error) {
	return m.answer(ctx, "complete", r, nil)
}

// Stream implements model.Model.
func (m *Model) Stream(ctx context.Context, r *model.Request, on func(model.Event) error) (*model.Response, error) {
	return m.answer(ctx, "stream", r, on)
}

func (m *Model) answer(ctx context.Context, op string, r *model.Request, on func(model.Event) error) (*model.Response, error) {
	if on == nil {
		on = func(model.Event) error { return nil }
	}
	req, notes, err := r.Build(wire.Anthropic, target())
	if err != nil {
		return nil, m.fail(op, model.KindRequest, err)
	}
	size := req.Size() / bytesPerToken
	if size > Window {
		e := m.fail(op, model.KindOverflow, nil)
		e.Message = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", size, Window)
		e.Overflow = &model.Overflow{Kind: model.OverflowTokens, Asked: size, Limit: Window}
		return nil, e
	}
	s := reply(r)
	var blocks []message.Block
	if s.text != "" {
		blocks = append(blocks, message.TextBlock(s.text))
	}
	for _, c := range s.calls {
		blocks = append(blocks, message.ToolCallBlock(fmt.Sprintf("%s_%d", m.name, m.calls.Add(1)), c.tool, c.arguments()))
	}
	if said, err := m.say(ctx, blocks, on); err != nil {
		return nil, m.stopped(ctx, op, said, err)
	}
	a := model.Answer{Blocks: blocks, Finish: model.FinishEnd, FinishDetail: "end_turn", Usage: m.usage(req, size, blocks), Model: "rules"}
	resp := a.Response(m.Info(), m.clock())
	resp.Notes, resp.BytesSent = notes, req.Size()
	if err := on(model.Event{Kind: model.EventDone, Response: resp}); err != nil {
		return nil, err
	}
	return resp, nil
}

// usage counts what was said, and how much of the request is as the last one was.
func (m *Model) usage(req *wire.Request, size int64, blocks []message.Block) *message.Usage {
	now := string(req.System) + string(req.Tools)
	for _, raw := range req.Messages {
		now += string(raw)
	}
	m.mu.Lock()
	before := m.last
	m.last = now
	m.mu.Unlock()
	same := 0
	for same < min(len(now), len(before)) && now[same] == before[same] {
		same++
	}
	u := &message.Usage{CacheRead: min(int64(same)/bytesPerToken, size)}
	u.CacheWrite = size - u.CacheRead
	for i := range blocks {
		u.Output += int64(len(blocks[i].JSON()))/bytesPerToken + 1
	}
	return u
}

// say passes on an answer, word by word. It returns the text that was passed on.
func (m *Model) say(ctx context.Context, blocks []message.Block, on func(model.Event) error) (said string, err error) {
	if err := m.wait(ctx, firstWord); err != nil {
		return "", err
	}
	for i, b := range blocks {
		e, text := model.Event{Kind: model.EventText, Block: i}, b.Text
		if b.Type == message.BlockToolCall {
			if err := on(model.Event{Kind: model.EventCall, Block: i, ID: b.ID, Name: b.Name}); err != nil {
				return said, err
			}
			e.Kind, text = model.EventArguments, string(b.Arguments)
		}
		for _, e.Text = range strings.SplitAfter(text, " ") {
			if err := m.wait(ctx, 1); err != nil {
				return said, err
			}
			if e.Kind == model.EventText {
				said += e.Text
			}
			if err := on(e); err != nil {
				return said, err
			}
		}
	}
	return said, nil
}

// wait takes the time of some words.
func (m *Model) wait(ctx context.Context, words int) error {
	if m.pace <= 0 {
		return ctx.Err()
	}
	return model.Sleep(ctx, m.pace*time.Duration(words))
}

// stopped is the error of an answer that did not come to its end.
func (m *Model) stopped(ctx context.Context, op, said string, err error) error {
	if ctx.Err() == nil {
		return err // of the one who listens
	}
	e := m.fail(op, model.KindCanceled, fmt.Errorf("the answer was stopped: %w", context.Cause(ctx)))
	if said != "" {
		a := model.Answer{Blocks: []message.Block{message.TextBlock(said)}, Model: "rules"}
		e.Partial = a.Response(m.Info(), m.clock())
		e.Partial.Message.StopReason = message.StopAborted
	}
	return e
}

func (m *Model) fail(op string, k model.Kind, err error) *model.Error {
	return &model.Error{Op: op, Provider: "demo", Model: "rules", Kind: k, Err: err, Attempts: 1}
}

// do is a call that the model makes.
type do struct {
	tool string
	args map[string]any
}

func (d do) arguments() json.RawMessage {
	data, err := json.Marshal(d.args)
	if err != nil {
		return json.RawMessage("{}") // never: they are texts, flags and lists of them
	}
	return data
}
