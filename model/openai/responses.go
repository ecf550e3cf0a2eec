package openai

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/wire"
)

// Responses is a model behind the Responses API. The whole conversation is sent
// each time and nothing is stored at the provider.
type Responses struct{ common }

var (
	_ model.Model    = (*Responses)(nil)
	_ model.Counter  = (*Responses)(nil)
	_ model.Renderer = (*Responses)(nil)
)

// NewResponses returns a model. It makes no call.
func NewResponses(c Config) (*Responses, error) {
	base, err := newCommon(c, "openai-responses", wire.OpenAIResponses)
	if err != nil {
		return nil, err
	}
	return &Responses{base}, nil
}

// Complete implements model.Model.
func (c *Responses) Complete(ctx context.Context, r *model.Request) (*model.Response, error) {
	const op = "complete"
	sent, err := c.render(op, r, purposeComplete)
	if err != nil {
		return nil, err
	}
	return c.e.Complete(ctx, c.call(op, "/responses", sent.Body), sent, c.read)
}

// Stream implements model.Model.
func (c *Responses) Stream(ctx context.Context, r *model.Request, on func(model.Event) error) (*model.Response, error) {
	const op = "stream"
	sent, err := c.render(op, r, purposeStream)
	if err != nil {
		return nil, err
	}
	out := model.NewEmitter(on)
	return c.e.Stream(ctx, c.call(op, "/responses", sent.Body), sent, &itemStream{c: c, out: out}, out, c.read)
}

// Count implements model.Counter. OpenAI has it, few others do.
func (c *Responses) Count(ctx context.Context, r *model.Request) (int64, error) {
	const op = "count"
	sent, err := c.render(op, r, purposeCount)
	if err != nil {
		return 0, err
	}
	body, _, err := c.e.Transport.Send(ctx, c.call(op, "/responses/input_tokens", sent.Body))
	if err != nil {
		return 0, err
	}
	n, ok := jsonx.Int(jsonx.Get(jsonx.One(body), "input_tokens"))
	if !ok {
		return 0, c.e.Unreadable(op, body)
	}
	return n, nil
}

// Render implements model.Renderer.
func (c *Responses) Render(r *model.Request) (json.RawMessage, error) {
	sent, err := c.render("render", r, purposeComplete)
	if err != nil {
		return nil, err
	}
	return sent.Body, nil
}

type purpose int

const (
	purposeComplete purpose = iota
	purposeStream
	purposeCount
)

func (c *Responses) render(op string, r *model.Request, p purpose) (*model.Rendered, error) {
	sent, err := c.body(r, p)
	if err != nil {
		return nil, c.e.Fail(op, model.KindRequest, err)
	}
	return sent, nil
}

// responsesMembers are the members of the body that Extra must not set.
var responsesMembers = []string{
	"model", "max_output_tokens", "stream", "store", "include", "reasoning", "temperature", "tool_choice",
	"prompt_cache_key", "instructions", "tools", "input",
}

// body writes the request; what grows stands last.
func (c *Responses) body(r *model.Request, p purpose) (*model.Rendered, error) {
	req, notes, err := c.e.Build(r, c.profile)
	if err != nil {
		return nil, err
	}
	var o jsonx.Object
	o.Str("model", c.e.Model)
	effort := c.effort(r)
	if p != purposeCount {
		if n := r.OutputLimit(*c.e.Info); n > 0 {
			o.Int("max_output_tokens", n)
		}
		if p == purposeStream {
			o.Bool("stream", true)
		}
		o.Bool("store", false)
		// Without what is stored, reasoning can come back only encrypted.
		if c.e.Info.Thinking == model.ThinkingEffort || effort != "" {
			o.Raw("include", []byte(`["reasoning.encrypted_content"]`))
		}
	}
	if effort != "" {
		var reason jsonx.Object
		reason.Str("effort", effort)
		if r.Thinks() {
			reason.Str("summary", "auto")
		}
		o.Raw("reasoning", reason.Bytes())
	}
	if p != purposeCount {
		if r.Temperature != nil && !c.e.Info.NoTemperature {
			o.Raw("temperature", strconv.AppendFloat(nil, *r.Temperature, 'f', -1, 64))
		}
		c.cacheMembers(&o, r)
	}
	if len(req.Tools) > 0 && r.ToolChoice != model.ToolsAuto {
		o.Str("tool_choice", string(r.ToolChoice))
	}
	if err := r.EachExtra(responsesMembers, func(key string, val json.RawMessage) { o.Raw(key, val) }); err != nil {
		return nil, err
	}
	return &model.Rendered{Body: req.Body(c.profile, o.Bytes()), Notes: notes, Attempts: r.Attempts}, nil
}
