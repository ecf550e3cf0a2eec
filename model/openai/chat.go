package openai

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/wire"
)

// Chat is a model behind the Chat Completions API.
type Chat struct {
	common
	maxTokens string
}

var (
	_ model.Model    = (*Chat)(nil)
	_ model.Renderer = (*Chat)(nil)
)

// NewChat returns a model. It makes no call.
func NewChat(c Config) (*Chat, error) {
	base, err := newCommon(c, "openai-completions", wire.OpenAIChat)
	if err != nil {
		return nil, err
	}
	m := &Chat{base, c.MaxTokensField}
	if m.maxTokens == "" {
		m.maxTokens = "max_tokens"
		if m.ownHome {
			m.maxTokens = "max_completion_tokens"
		}
	}
	return m, nil
}

// Complete implements model.Model.
func (c *Chat) Complete(ctx context.Context, r *model.Request) (*model.Response, error) {
	const op = "complete"
	sent, err := c.render(op, r, false)
	if err != nil {
		return nil, err
	}
	return c.e.Complete(ctx, c.call(op, "/chat/completions", sent.Body), sent, c.read)
}

// Stream implements model.Model.
func (c *Chat) Stream(ctx context.Context, r *model.Request, on func(model.Event) error) (*model.Response, error) {
	const op = "stream"
	sent, err := c.render(op, r, true)
	if err != nil {
		return nil, err
	}
	out := model.NewEmitter(on)
	return c.e.Stream(ctx, c.call(op, "/chat/completions", sent.Body), sent, &chatStream{c: c, out: out}, out, c.read)
}

// Render implements model.Renderer.
func (c *Chat) Render(r *model.Request) (json.RawMessage, error) {
	sent, err := c.render("render", r, false)
	if err != nil {
		return nil, err
	}
	return sent.Body, nil
}

func (c *Chat) render(op string, r *model.Request, stream bool) (*model.Rendered, error) {
	sent, err := c.body(r, stream)
	if err != nil {
		return nil, c.e.Fail(op, model.KindRequest, err)
	}
	return sent, nil
}

// chatMembers are the members of the body that Extra must not set.
var chatMembers = []string{
	"model", "stream", "stream_options", "temperature", "stop", "tool_choice", "reasoning_effort", "prompt_cache_key", "tools", "messages",
}

// body writes the request; what grows stands last.
func (c *Chat) body(r *model.Request, stream bool) (*model.Rendered, error) {
	req, notes, err := c.e.Build(r, c.profile)
	if err != nil {
		return nil, err
	}
	var o jsonx.Object
	o.Str("model", c.e.Model)
	if n := r.OutputLimit(*c.e.Info); n > 0 {
		o.Int(c.maxTokens, n)
	}
	if stream {
		o.Bool("stream", true)
		o.Raw("stream_options", []byte(`{"include_usage":true}`))
	}
	if effort := c.effort(r); effort != "" {
		o.Str("reasoning_effort", effort)
	}
	if r.Temperature != nil && !c.e.Info.NoTemperature {
		o.Raw("temperature", strconv.AppendFloat(nil, *r.Temperature, 'f', -1, 64))
	}
	if len(r.Stop) > 0 {
		stop, err := json.Marshal(r.Stop)
		if err != nil {
			return nil, err
		}
		o.Raw("stop", stop)
	}
	if len(req.Tools) > 0 && r.ToolChoice != model.ToolsAuto {
		o.Str("tool_choice", string(r.ToolChoice))
	}
	c.cacheMembers(&o, r)
	if err := r.EachExtra(append(chatMembers[:len(chatMembers):len(chatMembers)], c.maxTokens),
		func(key string, val json.RawMessage) { o.Raw(key, val) }); err != nil {
		return nil, err
	}
	return &model.Rendered{Body: req.Body(c.profile, o.Bytes()), Notes: notes, Attempts: r.Attempts}, nil
}

// cacheMembers writes what OpenAI takes about its cache; other servers may
// refuse members they do not know.
func (c *common) cacheMembers(o *jsonx.Object, r *model.Request) {
	if !c.ownHome {
		return
	}
	o.OptStr("prompt_cache_key", r.CacheKey)
	if r.Cache == model.CacheLong {
		o.Str("prompt_cache_retention", "24h")
	}
}
